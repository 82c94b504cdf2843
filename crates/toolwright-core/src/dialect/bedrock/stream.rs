//! Streams: blocks by index, told apart by their deltas; counts come after the stop.
//!
//! Only blocks that need an id or a format have a start event. A text or a reasoning block is opened
//! by its first delta, so the encoder must not start one (`docs/dialects/bedrock.md#known-quirks`).

mod decode;
mod encode;
mod held;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;

/// The blocks that grow with their deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Call,
}
