//! Streams: chunks of one choice, fragments of calls by index (cases 4, 5).

mod calls;
mod decode;
mod encode;
mod piece;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
