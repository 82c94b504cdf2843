//! Limits the content of a result to the budget; the remainder is stored behind a handle.
//!
//! 1. Bytes and data for tools are always stored, and so is each piece that exceeds the budget by
//!    itself. The model receives the handle and a preview.
//! 2. If the pieces together still exceed the budget, the first are sent and the others are stored
//!    as one array behind one handle.
//!
//! The text for the model is therefore at most the budget and one preview. Media are typed parts
//! with a separate limit. Content that cannot be stored is truncated, and the text says so.

use toolwright_core::part::{Media, MediaSource};
use toolwright_core::{Body, Json, Part};

use super::preview::{PREVIEW_MAX, preview, size, usage};
use super::{HandleId, HandleStore, HandleStoreError, Owner};
use crate::output::{Blob, Content, Piece, Place};

/// Maximum number of encoded bytes of inline media in a result.
const MEDIA_MAX: usize = 20 << 20;

/// Returns the parts of an outcome, with at most `bytes` of text and JSON, plus a preview, and the pieces with their
/// places.
///
/// The handles in the parts belong to the owner, so a cache may share the pieces between
/// conversations, but not these parts.
pub async fn budget(
    pieces: Vec<Piece>,
    bytes: usize,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> (Vec<Part>, Vec<Piece>) {
    let keeper = Keeper { owner, store };
    let mut media_room = MEDIA_MAX;
    let (mut shown, mut placed) = (Vec::with_capacity(pieces.len()), Vec::new());
    for mut piece in pieces {
        let (part, place) = keeper.single(&piece, bytes, &mut media_room).await;
        shown.push(part);
        piece.place = place;
        placed.push(piece);
    }
    let shown = keeper.together(shown, &mut placed, bytes).await;
    (shown.into_iter().map(|shown| Part::new(shown.body)).collect(), placed)
}

/// What a model sees of a piece.
struct Shown {
    body: Body,
    /// Number of bytes of text or JSON
    length: usize,
}

impl Shown {
    fn text(text: String) -> Shown {
        Shown { length: text.len(), body: Body::Text(text.into()) }
    }
}

struct Keeper<'k> {
    owner: &'k Owner,
    store: Option<&'k dyn HandleStore>,
}

impl Keeper<'_> {
    /// Limits one piece. A place that is not known yet is in the content.
    async fn single(&self, piece: &Piece, bytes: usize, media_room: &mut usize) -> (Shown, Place) {
        let Piece { content, about, .. } = piece;
        if let Some(about) = about {
            return self.hidden(content, about, bytes).await;
        }
        match content {
            Content::Bytes(blob) => self.bytes(blob.clone()).await,
            Content::Media(media) => self.media(media, bytes, media_room).await,
            Content::Json(value) => {
                let length = value.as_str().map_or_else(|| value.compact().len(), str::len);
                if length > bytes {
                    return self.reference(content, bytes).await;
                }
                let body = match &**value {
                    Json::String(text) => Body::Text(text.clone()),
                    value => Body::Json(value.clone()),
                };
                (Shown { body, length }, Place::Nowhere)
            }
        }
    }

    /// Stores a JSON value and returns its preview, or the beginning of its text if it cannot be
    /// stored.
    async fn reference(&self, content: &Content, bytes: usize) -> (Shown, Place) {
        let (text, id) = match self.store(content).await {
            Ok(id) => (preview(id, content), Some(id)),
            Err(why) => {
                let json = content.as_json().filter(|value| value.as_str().is_none());
                let json = json.map(Json::compact).unwrap_or_default();
                (shorten(content.as_text().unwrap_or(&json), bytes, &why), None)
            }
        };
        (Shown::text(text), Place::Handle(id, String::new()))
    }

    /// Stores data for tools and returns its description with the handle.
    async fn hidden(&self, content: &Content, about: &str, bytes: usize) -> (Shown, Place) {
        let about = if about.len() > bytes { shorten(about, bytes, "") } else { about.to_owned() };
        let (text, id) = match self.store(content).await {
            Ok(id) => (format!("{about}\n{}", usage(id, "")), Some(id)),
            Err(why) => (format!("{about}\n[The data itself was not kept{why}.]"), None),
        };
        (Shown::text(text), Place::Handle(id, String::new()))
    }

    async fn bytes(&self, blob: Blob) -> (Shown, Place) {
        let about = format!("{} of {}", size(blob.bytes.len()), blob.mime);
        let content = Content::Bytes(blob);
        let (text, id) = match self.store(&content).await {
            Ok(id) => (preview(id, &content), Some(id)),
            Err(why) => (format!("[{about}, not shown and not kept{why}.]"), None),
        };
        (Shown::text(text), Place::Handle(id, String::new()))
    }

    /// Passes media on if they are not too large. The text of a document counts as text.
    async fn media(&self, media: &Media, bytes: usize, room: &mut usize) -> (Shown, Place) {
        match &media.source {
            MediaSource::Text(text) if text.len() > bytes => {
                return self.reference(&Content::text(text), bytes).await;
            }
            MediaSource::Base64(data) if data.len() > *room => {
                let mime = media.mime.clone();
                let mime = mime.unwrap_or_else(|| "application/octet-stream".to_owned());
                if let Some(blob) = Blob::from_base64(Some(mime.clone()), data) {
                    return self.bytes(blob).await;
                }
                let text = format!("[{} of {mime}, not shown]", size(data.len()));
                return (Shown::text(text), Place::Handle(None, String::new()));
            }
            MediaSource::Base64(data) => *room -= data.len(),
            _ => {}
        }
        (Shown { body: Body::Media(media.clone()), length: 0 }, Place::Nowhere)
    }

    /// Combines the pieces; the last ones become one handle if they exceed the budget.
    async fn together(&self, all: Vec<Shown>, pieces: &mut [Piece], bytes: usize) -> Vec<Shown> {
        let length = all.iter().map(|shown| shown.length).sum::<usize>();
        let fits = length <= bytes.saturating_add(PREVIEW_MAX);
        let (mut out, mut rest, mut room) = (Vec::with_capacity(all.len()), Vec::new(), bytes);
        let mut in_rest = Vec::new();
        for (shown, piece) in all.into_iter().zip(pieces) {
            let is_media = matches!(shown.body, Body::Media(_));
            if fits || is_media || (rest.is_empty() && shown.length <= room) {
                room = room.saturating_sub(shown.length);
                if piece.place == Place::Nowhere {
                    piece.place = Place::Part(out.len(), String::new());
                }
                out.push(shown);
                continue;
            }
            if piece.place == Place::Nowhere {
                in_rest.push((rest.len(), piece));
            }
            match shown.body {
                Body::Text(text) => rest.push(Json::String(text)),
                Body::Json(value) => rest.push(value),
                _ => {}
            }
        }
        if rest.is_empty() {
            return out;
        }
        let (shown, place) = self.reference(&Content::json(Json::Array(rest)), room).await;
        if let Body::Text(text) = shown.body {
            out.push(Shown::text(format!("The rest of the result: {text}")));
        }
        if let Place::Handle(id, _) = place {
            for (index, piece) in in_rest {
                piece.place = Place::Handle(id, format!("/{index}"));
            }
        }
        out
    }

    /// Stores a content; the error says why it cannot.
    async fn store(&self, content: &Content) -> Result<HandleId, String> {
        let Some(store) = self.store else { return Err(String::new()) };
        store.put(self.owner, content.clone().without_media()).await.map_err(|error| match error {
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
