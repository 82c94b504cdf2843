//! Streams: the plan, then content blocks and calls, each by its own index, then citations, stop
//! reason and usage.

mod decode;
mod encode;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
