//! Slots: named values of a conversation, which one tool stores and another one receives. The model passes nothing.
//!
//! A slot is a value of the handle store under an id that its owner and its name determine, so that it has the limits,
//! the lifetime and the durability of handles.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::Json;
use toolwright_core::part::{Media, MediaSource};
use toolwright_json::Object;

use super::form::{self, Piece};
use super::preview::{cut, shape};
use super::{
    HandleError, HandleId, HandleStore, HandleStoreError, Owner, RESOLVED_MAX, StoredValue,
};
use crate::output::{Blob, Content};
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
    content: Vec<Content>,
    owner: &Owner,
    store: &dyn HandleStore,
) -> Result<StoredValue, HandleStoreError> {
    let value = value(content);
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
    let value = store.find(owner, id(owner, &fill.slot)).await?;
    let piece = Piece::of(&value, "")?;
    let form = match (fill.form, piece) {
        (ValueForm::Json, Piece::Bytes(_)) => ValueForm::Base64,
        (form, _) => form,
    };
    if form::weight(piece, form) > RESOLVED_MAX {
        return Err(HandleError::TooLarge);
    }
    form::convert(piece, form)
}

/// Returns what the model reads in place of an output. `arguments` are those that it wrote.
pub fn reply(template: Option<&str>, value: &StoredValue, arguments: &Object) -> String {
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

/// Returns an output as one value: its only piece, or an array of all pieces, in which bytes are base64.
fn value(mut content: Vec<Content>) -> StoredValue {
    match content.pop() {
        Some(only) if content.is_empty() => single(only),
        last => {
            let pieces = content.into_iter().chain(last).map(content_json);
            StoredValue::json(Json::Array(pieces.collect()))
        }
    }
}

/// Returns a piece of content as JSON, bytes as base64.
pub fn content_json(piece: Content) -> Json {
    match single(piece) {
        StoredValue::Json(value) => Arc::unwrap_or_clone(value),
        StoredValue::Bytes(blob) => Json::from(STANDARD.encode(&blob.bytes)),
    }
}

fn single(piece: Content) -> StoredValue {
    match piece {
        Content::Text(text) => StoredValue::json(text),
        Content::Json(value) | Content::Data { value, .. } => StoredValue::json(value),
        Content::Bytes(blob) => StoredValue::Bytes(blob),
        Content::Media(media) => stored_media(media),
    }
}

/// Returns media as a value: bytes, or a string if they are text, a reference or invalid base64.
pub fn stored_media(media: Media) -> StoredValue {
    match media.source {
        MediaSource::Base64(data) => match Blob::from_base64(media.mime, &data) {
            Some(blob) => StoredValue::Bytes(blob),
            None => StoredValue::json(data),
        },
        MediaSource::Text(text) | MediaSource::Url(text) => StoredValue::json(text),
        MediaSource::File(_, id) => StoredValue::json(id),
    }
}
