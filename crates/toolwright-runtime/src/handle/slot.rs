//! Slots: named values of a conversation, which one tool stores and another one receives. The model passes nothing.
//!
//! A slot is a value of the handle store under an id that its owner and its name determine, so that it has the limits,
//! the lifetime and the durability of handles.

use toolwright_core::Json;
use toolwright_json::Object;

use super::form::convert;
use super::preview::{cut, shape};
use super::{HandleError, HandleId, HandleStore, HandleStoreError, Owner, RESOLVED_MAX};
use crate::output::{Content, Piece};
use crate::settings::{SlotFill, ValueForm};

/// Maximum number of bytes of an argument in a reply.
const ARGUMENT_MAX: usize = 500;

/// Returns the id of a slot.
fn id(owner: &Owner, slot: &str) -> HandleId {
    HandleId::derive("toolwright slot 1", owner, &[slot])
}

/// Stores the output of a tool in a slot, in place of an earlier one, and returns the stored value.
pub async fn put_in_slot(
    slot: &str,
    pieces: Vec<Piece>,
    owner: &Owner,
    store: &dyn HandleStore,
) -> Result<Content, HandleStoreError> {
    let value = single(pieces);
    store.put_as(owner, id(owner, slot), value.clone()).await?;
    Ok(value)
}

/// Whether a slot has a value.
pub async fn has_slot(slot: &str, owner: &Owner, store: &dyn HandleStore) -> bool {
    store.find(owner, id(owner, slot)).await.is_ok()
}

/// Returns the value of a slot for a hidden parameter.
pub async fn find_slot(
    fill: &SlotFill,
    owner: &Owner,
    store: &dyn HandleStore,
) -> Result<Json, HandleError> {
    let content = store.find(owner, id(owner, &fill.slot)).await?;
    let form = match (fill.form, &content) {
        (ValueForm::Json, Content::Bytes(_)) => ValueForm::Base64,
        (form, _) => form,
    };
    convert(&content, "", form, |bytes| bytes <= RESOLVED_MAX)
}

/// Returns what the model reads in place of an output. `arguments` are those that it wrote.
pub fn reply(template: Option<&str>, value: &Content, arguments: &Object) -> String {
    let Some(mut rest) = template else {
        let shape = shape(value);
        return format!("Done. The result is kept for other tools, which receive it: {shape}.");
    };
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        rest = after;
        let argument =
            after.split_once('}').and_then(|(name, after)| Some((arguments.get(name)?, after)));
        if let Some((value, after)) = argument {
            let text = match value {
                Json::String(text) => cut(text, ARGUMENT_MAX),
                value => cut(&value.compact(), ARGUMENT_MAX),
            };
            out.push_str(&text);
            rest = after;
        } else {
            out.push('{');
        }
    }
    out + rest
}

/// Returns an output as one content: its only piece, or an array of all pieces, in which bytes are base64.
fn single(mut pieces: Vec<Piece>) -> Content {
    if pieces.len() == 1
        && let Some(piece) = pieces.pop()
    {
        return piece.content.without_media();
    }
    let values = pieces.into_iter().map(|piece| piece.content.into_json());
    Content::json(Json::Array(values.collect()))
}
