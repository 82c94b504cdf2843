//! Streams: blocks by index, distinguished by their deltas; usage follows the stop.
//!
//! Only blocks that need an id or a format have a start event. A text or a reasoning block is opened
//! by its first delta, so the encoder must not start one (`docs/dialects/bedrock.md#known-quirks`).

mod decode;
mod encode;
mod held;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;

/// The kinds of blocks that grow with their deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Call,
}
