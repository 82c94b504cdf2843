//! Limits the content of a result to the budget; the remainder is stored behind a handle.
//!
//! 1. Bytes and data for tools are always stored, and so is each piece that exceeds the budget by
//!    itself. The model receives the handle and a preview.
//! 2. If the pieces together still exceed the budget, the first are sent and the others are stored
//!    as one array behind one handle.
//!
//! The text for the model is therefore at most the budget and one preview. Media are typed parts
//! with a separate limit. Content that cannot be stored is truncated, and the text says so.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::part::{Media, MediaSource};
use toolwright_core::{Body, Json, Part};

use super::preview::{PREVIEW_MAX, preview, size, usage};
use super::{HandleStore, HandleStoreError, Owner, StoredValue};
use crate::output::{Blob, Content};

/// Maximum number of encoded bytes of inline media in a result.
const MEDIA_MAX: usize = 20 << 20;

/// Returns the parts of an outcome, with at most `bytes` of text and JSON, plus a preview.
///
/// The handles in the parts belong to the owner, so a cache may share the content between
/// conversations, but not these parts.
pub async fn budget(
    content: Vec<Content>,
    bytes: usize,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> Vec<Part> {
    let keeper = Keeper { owner, store };
    let mut media_room = MEDIA_MAX;
    let mut pieces = Vec::with_capacity(content.len());
    for piece in content {
        pieces.push(keeper.single(piece, bytes, &mut media_room).await);
    }
    let parts = keeper.together(pieces, bytes).await;
    parts.into_iter().map(Piece::into_part).collect()
}

/// A piece of content for the model.
enum Piece {
    Text(String),
    /// A value, and the length of its JSON text
    Json(Json, usize),
    Media(Media),
}

impl Piece {
    fn json(value: Json) -> Piece {
        let length = value.compact().len();
        Piece::Json(value, length)
    }

    /// Returns its number of text bytes.
    fn len(&self) -> usize {
        match self {
            Piece::Text(text) => text.len(),
            Piece::Json(_, length) => *length,
            Piece::Media(_) => 0,
        }
    }

    fn into_part(self) -> Part {
        Part::new(match self {
            Piece::Text(text) => Body::Text(text),
            Piece::Json(value, _) => Body::Json(value),
            Piece::Media(media) => Body::Media(media),
        })
    }
}

struct Keeper<'k> {
    owner: &'k Owner,
    store: Option<&'k dyn HandleStore>,
}

impl Keeper<'_> {
    /// Limits one piece.
    async fn single(&self, piece: Content, bytes: usize, media_room: &mut usize) -> Piece {
        match piece {
            Content::Text(text) if text.len() > bytes => {
                self.reference(Json::String(text), bytes).await
            }
            Content::Text(text) => Piece::Text(text),
            Content::Json(value) => match Piece::json(value) {
                Piece::Json(value, length) if length > bytes => self.reference(value, bytes).await,
                piece => piece,
            },
            Content::Data { value, about } => self.data(value, about, bytes).await,
            Content::Bytes(blob) => self.bytes(blob).await,
            Content::Media(media) => self.media(media, bytes, media_room).await,
        }
    }

    /// Stores a JSON value and returns its preview, or the beginning of its text if it cannot be
    /// stored.
    async fn reference(&self, value: Json, bytes: usize) -> Piece {
        let value = Arc::new(value);
        let kept = StoredValue::Json(value.clone());
        let text = match self.store(&kept).await {
            Ok(id) => preview(id, &kept),
            Err(why) => match &*value {
                Json::String(text) => shorten(text, bytes, &why),
                other => shorten(&other.compact(), bytes, &why),
            },
        };
        Piece::Text(text)
    }

    /// Stores data for tools and returns its description with the handle.
    async fn data(&self, value: Json, about: String, bytes: usize) -> Piece {
        let about = if about.len() > bytes { shorten(&about, bytes, "") } else { about };
        Piece::Text(match self.store(&StoredValue::json(value)).await {
            Ok(id) => format!("{about}\n{}", usage(id, "")),
            Err(why) => format!("{about}\n[The data itself was not kept{why}.]"),
        })
    }

    async fn bytes(&self, blob: Blob) -> Piece {
        let about = format!("{} of {}", size(blob.bytes.len()), blob.mime);
        let kept = StoredValue::Bytes(blob);
        Piece::Text(match self.store(&kept).await {
            Ok(id) => preview(id, &kept),
            Err(why) => format!("[{about}, not shown and not kept{why}.]"),
        })
    }

    /// Passes media on if they are not too large. The text of a document counts as text.
    async fn media(&self, media: Media, bytes: usize, room: &mut usize) -> Piece {
        match media.source {
            MediaSource::Text(text) if text.len() > bytes => {
                self.reference(Json::String(text), bytes).await
            }
            MediaSource::Base64(data) if data.len() > *room => {
                let mime = media.mime.unwrap_or_else(|| "application/octet-stream".to_owned());
                match STANDARD.decode(&data) {
                    Ok(bytes) => self.bytes(Blob { mime, bytes: bytes.into() }).await,
                    Err(_) => Piece::Text(format!("[{} of {mime}, not shown]", size(data.len()))),
                }
            }
            source => {
                if let MediaSource::Base64(data) = &source {
                    *room -= data.len();
                }
                Piece::Media(Media { source, ..media })
            }
        }
    }

    /// Combines the pieces; the last ones become one handle if they exceed the budget.
    async fn together(&self, pieces: Vec<Piece>, bytes: usize) -> Vec<Piece> {
        if pieces.iter().map(Piece::len).sum::<usize>() <= bytes.saturating_add(PREVIEW_MAX) {
            return pieces;
        }
        let (mut out, mut rest, mut room) = (Vec::new(), Vec::new(), bytes);
        for piece in pieces {
            match (piece, room) {
                (Piece::Media(media), _) => out.push(Piece::Media(media)),
                (piece, left) if rest.is_empty() && piece.len() <= left => {
                    room -= piece.len();
                    out.push(piece);
                }
                (Piece::Text(text), _) => rest.push(Json::String(text)),
                (Piece::Json(value, _), _) => rest.push(value),
            }
        }
        out.push(match self.reference(Json::Array(rest), room).await {
            Piece::Text(text) => Piece::Text(format!("The rest of the result: {text}")),
            other => other,
        });
        out
    }

    /// Stores a value; the error says why it cannot.
    async fn store(&self, value: &StoredValue) -> Result<super::HandleId, String> {
        let Some(store) = self.store else { return Err(String::new()) };
        store.put(self.owner, value.clone()).await.map_err(|error| match error {
            HandleStoreError::Full => format!(": {error}"),
            // The cause may name files of the host.
            HandleStoreError::Failed(_) => ": the handle store failed".to_owned(),
        })
    }
}

/// Truncates a text, with a note about the missing part.
fn shorten(text: &str, bytes: usize, why: &str) -> String {
    let end = text.floor_char_boundary(bytes);
    let left = size(text.len() - end);
    format!("{}\n[Cut here: {left} more, not kept{why}. Ask for less.]", &text[..end])
}
