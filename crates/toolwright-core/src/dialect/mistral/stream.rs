//! Streams: content in strings or chunks, each call whole and once, counts with the last chunk.

mod decode;
mod encode;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
