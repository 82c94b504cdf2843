//! Blocks that only Anthropic has: calls of hosted tools, their results, compactions. Each becomes
//! an opaque part once it is complete.

use toolwright_json::{Json, Object, object};

use crate::codec::Fields;

/// A block that is being collected.
#[derive(Debug)]
pub(super) struct Held {
    block: Json,
    /// Fragments of its `input`
    input: String,
}

impl Held {
    /// Creates a block from its start event.
    pub(super) fn start(block: Json) -> Held {
        Held { block, input: String::new() }
    }

    /// Adds a delta: fragments of `input` as JSON text, of any other field as text.
    pub(super) fn grow(&mut self, delta: Fields<'_>) {
        let Some(block) = self.block.as_object_mut() else { return };
        for (key, value) in delta.into_object() {
            match (key.as_ref(), block.get_mut(&key), value) {
                ("partial_json", _, Json::String(text)) => self.input.push_str(&text),
                (_, Some(Json::String(own)), Json::String(text)) => {
                    own.edit(|own| own.push_str(&text));
                }
                (_, _, Json::Null) => {}
                // The only delta whose field has another name than that of the block.
                ("citation", _, value) => match block.get_mut("citations") {
                    Some(Json::Array(own)) => own.push(value),
                    _ => block.insert("citations", vec![value]),
                },
                (_, _, value) => block.insert(key, value),
            }
        }
    }

    /// Returns the block as in a complete reply.
    pub(super) fn finish(mut self) -> Json {
        if let (Some(block), false) = (self.block.as_object_mut(), self.input.trim().is_empty()) {
            let input = Json::parse(&self.input).unwrap_or(Json::from(self.input));
            block.insert("input", input);
        }
        self.block
    }
}

/// Splits a block into its start event and its delta, as Anthropic streams it.
pub(super) fn pieces(block: &mut Object) -> Option<Object> {
    let kind = block.get("type").and_then(Json::as_str)?;
    if kind == "compaction" {
        let content = block.get_mut("content").map(std::mem::take)?;
        return Some(object! {"type": "compaction_delta", "content": content});
    }
    if !kind.ends_with("_tool_use") {
        return None;
    }
    let input = std::mem::replace(block.get_mut("input")?, Json::Object(Object::new()));
    Some(object! {"type": "input_json_delta", "partial_json": input.compact()})
}
