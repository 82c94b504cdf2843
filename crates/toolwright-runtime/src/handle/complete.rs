//! The complete output of a call, beside the content that the model receives.
//!
//! Nothing is copied: a piece is a part of the content, or the value that a preview stands for. A journal
//! records where the pieces are, and a repeated call finds them while the handle store has the values.

use std::collections::HashMap;
use std::sync::Arc;

use toolwright_core::part::{Body, Part};
use toolwright_core::{Json, object};

use super::{Handle, HandleId, HandleStore, Owner, StoredValue};
use crate::output::OutputPiece;

/// Where the complete output of a call is.
#[derive(Debug, Clone, Default)]
pub enum CompleteOutput {
    /// Nowhere
    #[default]
    Unavailable,
    /// In the first parts of the content, this many
    Content(usize),
    /// Each piece in its own place
    Pieces(Arc<[Piece]>),
}

/// Where a piece of the output is.
#[derive(Debug, Clone)]
pub struct Piece {
    pub(crate) root: Root,
    /// JSON Pointer from the root to the piece
    pub(crate) pointer: String,
}

/// The value that contains a piece.
#[derive(Debug, Clone)]
pub enum Root {
    /// A part of the content, by its index
    Part(usize),
    /// A value that is not in the content, and its handle if it was stored
    Value(StoredValue, Option<HandleId>),
    /// The same for a value that the model must not see
    Hidden(StoredValue, Option<HandleId>),
}

impl Piece {
    /// A part of the content.
    pub(crate) fn part(index: usize) -> Piece {
        Piece { root: Root::Part(index), pointer: String::new() }
    }

    fn get<'r>(&'r self, content: &'r [Part]) -> Option<OutputPiece<'r>> {
        match &self.root {
            Root::Part(index) => within(content.get(*index)?, &self.pointer),
            Root::Value(StoredValue::Json(value), _)
            | Root::Hidden(StoredValue::Json(value), _) => {
                value.pointer(&self.pointer).map(OutputPiece::json)
            }
            Root::Value(StoredValue::Bytes(blob), _)
            | Root::Hidden(StoredValue::Bytes(blob), _) => Some(OutputPiece::Bytes(blob)),
        }
    }

    fn to_json(&self) -> Option<Json> {
        let pointer = self.pointer.clone();
        match &self.root {
            Root::Part(index) => Some(object! {"part": *index, "pointer": pointer}.into()),
            Root::Value(_, id) => {
                let handle = Handle { id: (*id)?, pointer };
                Some(object! {"handle": handle.to_string()}.into())
            }
            Root::Hidden(_, id) => {
                let handle = Handle { id: (*id)?, pointer };
                Some(object! {"handle": handle.to_string(), "hidden": true}.into())
            }
        }
    }

    /// Reads a record. Pieces of one value share it.
    async fn read(
        record: &Json,
        owner: &Owner,
        store: Option<&dyn HandleStore>,
        values: &mut HashMap<HandleId, StoredValue>,
    ) -> Option<Piece> {
        if let Some(handle) = record.get("handle") {
            let Handle { id, pointer } = handle.as_str()?.parse().ok()?;
            let value = match values.get(&id) {
                Some(value) => value.clone(),
                None => store?.find(owner, id).await.ok()?,
            };
            values.insert(id, value.clone());
            let is_hidden = record.get("hidden").and_then(Json::as_bool) == Some(true);
            let root = if is_hidden { Root::Hidden } else { Root::Value };
            return Some(Piece { root: root(value, Some(id)), pointer });
        }
        let index = usize::try_from(record.get("part")?.as_u64()?).ok()?;
        Some(Piece { root: Root::Part(index), pointer: record.get("pointer")?.as_str()?.into() })
    }
}

/// A piece in a part of the content.
fn within<'r>(part: &'r Part, pointer: &str) -> Option<OutputPiece<'r>> {
    match &part.body {
        Body::Text(text) => Some(OutputPiece::Text(text)),
        Body::Json(value) => value.pointer(pointer).map(OutputPiece::json),
        Body::Media(media) => Some(OutputPiece::Media(media)),
        _ => None,
    }
}

impl CompleteOutput {
    /// The pieces of the output, in order.
    pub fn pieces<'r>(&'r self, content: &'r [Part]) -> Option<Vec<OutputPiece<'r>>> {
        match self {
            CompleteOutput::Unavailable => None,
            CompleteOutput::Content(count) => {
                content.get(..*count)?.iter().map(|part| within(part, "")).collect()
            }
            CompleteOutput::Pieces(pieces) => {
                pieces.iter().map(|piece| piece.get(content)).collect()
            }
        }
    }

    /// Whether a piece must not be shown to the model.
    pub(crate) fn is_hidden(&self) -> bool {
        let CompleteOutput::Pieces(pieces) = self else { return false };
        pieces.iter().any(|piece| matches!(piece.root, Root::Hidden(..)))
    }

    /// The record for a journal. A value that was not stored is lost.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            CompleteOutput::Unavailable => Json::Null,
            CompleteOutput::Content(count) => Json::from(*count),
            CompleteOutput::Pieces(pieces) => {
                let pieces: Option<Vec<Json>> = pieces.iter().map(Piece::to_json).collect();
                pieces.into()
            }
        }
    }

    /// Reads a record, and the values that it refers to from the store.
    pub async fn read(
        record: &Json,
        owner: &Owner,
        store: Option<&dyn HandleStore>,
    ) -> CompleteOutput {
        if let Some(count) = record.as_u64().and_then(|count| usize::try_from(count).ok()) {
            return CompleteOutput::Content(count);
        }
        let (mut pieces, mut values) = (Vec::new(), HashMap::new());
        for record in record.as_array().unwrap_or_default() {
            match Piece::read(record, owner, store, &mut values).await {
                Some(piece) => pieces.push(piece),
                None => return CompleteOutput::Unavailable,
            }
        }
        if pieces.is_empty() {
            return CompleteOutput::Unavailable;
        }
        CompleteOutput::Pieces(pieces.into())
    }
}
