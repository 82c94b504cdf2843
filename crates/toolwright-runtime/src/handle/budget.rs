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

use toolwright_core::part::{Media, MediaSource};
use toolwright_core::{Body, Json, Part};

use super::preview::{PREVIEW_MAX, preview, size, usage};
use super::{CompleteOutput, HandleStore, HandleStoreError, Owner, Piece, Root, StoredValue};
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
    budget_complete(content, bytes, owner, store).await.0
}

/// Returns the parts of an outcome, and where the complete output is.
pub(crate) async fn budget_complete(
    content: Vec<Content>,
    bytes: usize,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> (Vec<Part>, CompleteOutput) {
    let keeper = Keeper { owner, store };
    let mut media_room = MEDIA_MAX;
    let mut pieces = Vec::with_capacity(content.len());
    for piece in content {
        pieces.push(keeper.single(piece, bytes, &mut media_room).await);
    }
    let (shown, complete) = keeper.together(pieces, bytes).await;
    (shown.into_iter().map(|piece| piece.shown.into_part()).collect(), complete)
}

/// A piece of content, limited to the budget.
struct Limited {
    shown: Shown,
    /// The value that a preview stands for, and its handle
    value: Option<Root>,
}

impl From<Shown> for Limited {
    fn from(shown: Shown) -> Limited {
        Limited { shown, value: None }
    }
}

/// A piece of content for the model.
enum Shown {
    Text(String),
    /// A value, and the length of its JSON text
    Json(Json, usize),
    Media(Media),
}

impl Shown {
    fn json(value: Json) -> Shown {
        let length = value.compact().len();
        Shown::Json(value, length)
    }

    /// Returns its number of text bytes.
    fn len(&self) -> usize {
        match self {
            Shown::Text(text) => text.len(),
            Shown::Json(_, length) => *length,
            Shown::Media(_) => 0,
        }
    }

    fn into_part(self) -> Part {
        Part::new(match self {
            Shown::Text(text) => Body::Text(text.into()),
            Shown::Json(value, _) => Body::Json(value),
            Shown::Media(media) => Body::Media(media),
        })
    }
}

struct Keeper<'k> {
    owner: &'k Owner,
    store: Option<&'k dyn HandleStore>,
}

impl Keeper<'_> {
    /// Limits one piece.
    async fn single(&self, piece: Content, bytes: usize, media_room: &mut usize) -> Limited {
        match piece {
            Content::Text(text) if text.len() > bytes => {
                self.reference(Json::from(text), bytes).await
            }
            Content::Text(text) => Shown::Text(text).into(),
            Content::Json(value) => match Shown::json(value) {
                Shown::Json(value, length) if length > bytes => self.reference(value, bytes).await,
                shown => shown.into(),
            },
            Content::Data { value, about } => self.data(value, about, bytes).await,
            Content::Bytes(blob) => self.bytes(blob).await,
            Content::Media(media) => self.media(media, bytes, media_room).await,
        }
    }

    /// Stores a JSON value and returns its preview, or the beginning of its text if it cannot be
    /// stored.
    async fn reference(&self, value: Json, bytes: usize) -> Limited {
        let value = Arc::new(value);
        let kept = StoredValue::Json(value.clone());
        let (text, id) = match (self.store(&kept).await, &*value) {
            (Ok(id), _) => (preview(id, &kept), Some(id)),
            (Err(why), Json::String(text)) => (shorten(text, bytes, &why), None),
            (Err(why), other) => (shorten(&other.compact(), bytes, &why), None),
        };
        Limited { shown: Shown::Text(text), value: Some(Root::Value(kept, id)) }
    }

    /// Stores data for tools and returns its description with the handle.
    async fn data(&self, value: Json, about: String, bytes: usize) -> Limited {
        let about = if about.len() > bytes { shorten(&about, bytes, "") } else { about };
        let kept = StoredValue::json(value);
        let (text, id) = match self.store(&kept).await {
            Ok(id) => (format!("{about}\n{}", usage(id, "")), Some(id)),
            Err(why) => (format!("{about}\n[The data itself was not kept{why}.]"), None),
        };
        Limited { shown: Shown::Text(text), value: Some(Root::Hidden(kept, id)) }
    }

    async fn bytes(&self, blob: Blob) -> Limited {
        let about = format!("{} of {}", size(blob.bytes.len()), blob.mime);
        let kept = StoredValue::Bytes(blob);
        let (text, id) = match self.store(&kept).await {
            Ok(id) => (preview(id, &kept), Some(id)),
            Err(why) => (format!("[{about}, not shown and not kept{why}.]"), None),
        };
        Limited { shown: Shown::Text(text), value: Some(Root::Value(kept, id)) }
    }

    /// Passes media on if they are not too large. The text of a document counts as text.
    async fn media(&self, media: Media, bytes: usize, room: &mut usize) -> Limited {
        match media.source {
            MediaSource::Text(text) if text.len() > bytes => {
                self.reference(Json::from(text), bytes).await
            }
            MediaSource::Base64(data) if data.len() > *room => {
                let mime = media.mime.unwrap_or_else(|| "application/octet-stream".to_owned());
                if let Some(blob) = Blob::from_base64(Some(mime.clone()), &data) {
                    return self.bytes(blob).await;
                }
                let text = format!("[{} of {mime}, not shown]", size(data.len()));
                let value = Root::Value(StoredValue::json(data), None);
                Limited { shown: Shown::Text(text), value: Some(value) }
            }
            source => {
                if let MediaSource::Base64(data) = &source {
                    *room -= data.len();
                }
                Shown::Media(Media { source, ..media }).into()
            }
        }
    }

    /// Combines the pieces; the last ones become one handle if they exceed the budget.
    async fn together(
        &self,
        mut pieces: Vec<Limited>,
        bytes: usize,
    ) -> (Vec<Limited>, CompleteOutput) {
        let length = pieces.iter().map(|piece| piece.shown.len()).sum::<usize>();
        if length <= bytes.saturating_add(PREVIEW_MAX) {
            if pieces.iter().all(|piece| piece.value.is_none()) {
                let complete = CompleteOutput::Content(pieces.len());
                return (pieces, complete);
            }
            let place = |(index, piece): (usize, &mut Limited)| match piece.value.take() {
                Some(root) => Piece { root, pointer: String::new() },
                None => Piece::part(index),
            };
            let complete = pieces.iter_mut().enumerate().map(place).collect();
            return (pieces, CompleteOutput::Pieces(complete));
        }
        let (mut out, mut rest, mut room) = (Vec::new(), Vec::new(), bytes);
        // Where each piece is; none for one in the rest, with its index there.
        let mut places: Vec<(Option<Root>, usize)> = Vec::with_capacity(pieces.len());
        for Limited { shown, value } in pieces {
            let is_media = matches!(shown, Shown::Media(_));
            if is_media || (rest.is_empty() && shown.len() <= room) {
                room -= shown.len();
                places.push((value.or(Some(Root::Part(out.len()))), 0));
                out.push(Limited::from(shown));
                continue;
            }
            places.push((value, rest.len()));
            match shown {
                Shown::Text(text) => rest.push(Json::from(text)),
                Shown::Json(value, _) => rest.push(value),
                Shown::Media(_) => {}
            }
        }
        let Limited { shown, value } = self.reference(Json::Array(rest), room).await;
        if let Shown::Text(text) = shown {
            out.push(Shown::Text(format!("The rest of the result: {text}")).into());
        }
        let place = |(found, index): (Option<Root>, usize)| match (found, &value) {
            (None, Some(rest)) => Piece { root: rest.clone(), pointer: format!("/{index}") },
            (found, _) => Piece { root: found.unwrap_or(Root::Part(0)), pointer: String::new() },
        };
        let complete = places.into_iter().map(place).collect();
        (out, CompleteOutput::Pieces(complete))
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
