//! Streams: blocks by index, never interleaved, counts at both ends.

mod decode;
mod encode;
mod held;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
