//! Blocks that become parts only when they are complete: redacted thinking, calls of hosted tools,
//! their outcomes, and images.

use toolwright_core::Arguments;
use toolwright_json::{Json, Object, object};

use super::super::wire;

/// A block that is being collected.
#[derive(Debug)]
pub(super) enum Held {
    /// `reasoningContent.redactedContent`, blob by blob
    Redacted(Vec<String>),
    /// `toolUse` of a hosted tool, and the text of its input
    Call(Object, String),
    /// `toolResult`, and its content
    Outcome(Object, Vec<Json>),
    /// `image`, blob by blob
    Image(Object, Vec<String>),
}

impl Held {
    /// Creates redacted thinking, which has no start event.
    pub(super) fn redacted(blob: String) -> Held {
        Held::Redacted(vec![blob])
    }

    /// Creates a block from its start event; `None` for an unknown kind.
    pub(super) fn start(kind: &str, own: Json) -> Option<Held> {
        let Json::Object(own) = own else { return None };
        match kind {
            "toolUse" => Some(Held::Call(own, String::new())),
            "toolResult" => Some(Held::Outcome(own, Vec::new())),
            "image" => Some(Held::Image(own, Vec::new())),
            _ => None,
        }
    }

    /// Adds a delta; `false` if it is not of this block's kind.
    pub(super) fn grow(&mut self, kind: &str, delta: &Json) -> bool {
        match (self, kind) {
            (Held::Redacted(blobs), "reasoningContent") => {
                let blob = delta.get("redactedContent").and_then(Json::as_str);
                blobs.extend(blob.map(str::to_owned));
                blob.is_some()
            }
            (Held::Call(_, text), "toolUse") => {
                text.push_str(delta.get("input").and_then(Json::as_str).unwrap_or_default());
                true
            }
            (Held::Outcome(_, content), "toolResult") => {
                content.extend_from_slice(delta.as_array().unwrap_or_default());
                true
            }
            (Held::Image(own, blobs), "image") => {
                match delta.pointer("/source/bytes").and_then(Json::as_str) {
                    Some(blob) => blobs.push(blob.to_owned()),
                    None => own.merge(delta.as_object().unwrap_or(&Object::new())),
                }
                true
            }
            _ => false,
        }
    }

    /// Returns the block as in a complete reply.
    pub(super) fn finish(self) -> Json {
        match self {
            Held::Redacted(blobs) => {
                wire::union("reasoningContent", object! {"redactedContent": joined(&blobs)})
            }
            Held::Call(mut own, text) => {
                let input = match Arguments::from_text(text) {
                    Arguments::Json(json) => json.to_json(),
                    Arguments::Malformed(text) | Arguments::Free(text) => Json::from(text),
                };
                own.insert("input", input);
                wire::union("toolUse", own)
            }
            Held::Outcome(mut own, content) => {
                own.insert("content", content);
                wire::union("toolResult", own)
            }
            Held::Image(mut own, blobs) => {
                if !blobs.is_empty() {
                    own.insert("source", object! {"bytes": joined(&blobs)});
                }
                wire::union("image", own)
            }
        }
    }
}

/// The events of a block in a stream.
pub(super) struct Pieces {
    pub(super) start: Option<Json>,
    pub(super) deltas: Vec<Json>,
}

/// Splits a block; `None` for one that a stream cannot express.
pub(super) fn pieces(block: Json) -> Option<Pieces> {
    let (kind, own) = wire::member(block, toolwright_json::Path::ROOT).ok()?;
    let Json::Object(mut own) = own else { return None };
    let (start, delta) = match kind.as_ref() {
        "reasoningContent" => {
            return Some(Pieces {
                start: None,
                deltas: vec![wire::union("reasoningContent", own)],
            });
        }
        "toolUse" => {
            let input = own.remove("input").unwrap_or_default();
            (
                wire::union("toolUse", own),
                wire::union("toolUse", object! {"input": input.compact()}),
            )
        }
        "toolResult" => {
            let content = own.remove("content").unwrap_or_default();
            (wire::union("toolResult", own), wire::union("toolResult", content))
        }
        "image" => {
            let format = own.remove("format");
            (wire::union("image", object! {"format": format}), wire::union("image", own))
        }
        _ => return None,
    };
    Some(Pieces { start: Some(start), deltas: vec![delta] })
}

/// Joins blobs. Base64 is joined as text unless there is padding in the middle; then the bytes are
/// joined.
fn joined(blobs: &[String]) -> String {
    let whole = |blob: &String| blob.len().is_multiple_of(4) && !blob.ends_with('=');
    let Some((_, before)) = blobs.split_last() else { return String::new() };
    if before.iter().all(whole) {
        return blobs.concat();
    }
    let bytes: Vec<u8> = blobs.iter().flat_map(|blob| bytes_of(blob)).collect();
    text_of(&bytes)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn bytes_of(blob: &str) -> Vec<u8> {
    let digits = blob.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let mut bytes = Vec::with_capacity(blob.len());
    let (mut bits, mut held) = (0_usize, 0);
    for digit in digits {
        bits = (bits << 6 | digit) & 0xFFFF;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.extend(u8::try_from(bits >> held & 0xFF));
        }
    }
    bytes
}

fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| usize::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for index in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * index) & 63];
            text.push(if index > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}
