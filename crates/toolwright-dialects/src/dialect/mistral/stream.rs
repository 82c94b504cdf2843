//! Streams: content in strings or chunks, complete calls, usage in the last chunk.

mod decode;
mod encode;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
