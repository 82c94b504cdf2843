//! Where the output of a call is, as journals and saved runs record it: in the content that the model received, or
//! behind handles. What is recorded is found again while the handle store has the contents.

use std::collections::HashMap;

use toolwright_core::{Body, Json, Part, object};

use super::{Handle, HandleId, HandleStore, Owner};
use crate::output::{Content, Piece, Place};

/// Writes where the pieces of an output are; null if there is no output, or if a piece is nowhere. An output that is
/// the whole content is a number of parts.
pub fn write_output(output: Option<&[Piece]>) -> Json {
    let Some(pieces) = output else { return Json::Null };
    if pieces.iter().enumerate().all(|(index, piece)| piece.place.is_part(index)) {
        return Json::from(pieces.len());
    }
    let place = |piece: &Piece| match &piece.place {
        Place::Part(index, pointer) => {
            Some(object! {"part": *index, "pointer": pointer.as_str()}.into())
        }
        Place::Handle(id, pointer) => {
            let handle = Handle { id: (*id)?, pointer: pointer.clone() };
            let mut out = object! {"handle": handle.to_string()};
            out.insert_some("hidden", piece.about.is_some().then_some(true));
            Some(Json::Object(out))
        }
        Place::Nowhere => None,
    };
    pieces.iter().map(place).collect::<Option<Vec<Json>>>().into()
}

/// Returns the output of a call whose content is all of it.
pub fn parts_output(parts: &[Part]) -> Option<Vec<Piece>> {
    (0..parts.len()).map(|index| in_part(parts, index, "")).collect()
}

/// Returns the piece in a part, at a JSON Pointer.
fn in_part(parts: &[Part], index: usize, pointer: &str) -> Option<Piece> {
    let content = match &parts.get(index)?.body {
        Body::Text(text) => Content::text(text.clone()),
        Body::Json(value) => Content::json(value.pointer(pointer)?.clone()),
        Body::Media(media) => Content::from(media.clone()),
        _ => return None,
    };
    Some(Piece { place: Place::Part(index, pointer.to_owned()), ..Piece::from(content) })
}

/// Reads what [`write_output`] wrote, with the contents from the parts that the model received, and from the store.
pub async fn read_output(
    record: &Json,
    parts: &[Part],
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> Option<Vec<Piece>> {
    if let Some(count) = record.as_u64() {
        return parts_output(parts.get(..usize::try_from(count).ok()?)?);
    }
    let (mut pieces, mut known) = (Vec::new(), HashMap::<HandleId, Content>::new());
    for record in record.as_array()? {
        let Some(handle) = record.get("handle") else {
            let index = usize::try_from(record.get("part")?.as_u64()?).ok()?;
            pieces.push(in_part(parts, index, record.get("pointer")?.as_str()?)?);
            continue;
        };
        let Handle { id, pointer } = handle.as_str()?.parse().ok()?;
        // Pieces of one value share it.
        let whole = match known.get(&id) {
            Some(content) => content.clone(),
            None => store?.find(owner, id).await.ok()?,
        };
        known.insert(id, whole.clone());
        let content = match (whole, pointer.as_str()) {
            (whole, "") => whole,
            (Content::Json(value), pointer) => Content::json(value.pointer(pointer)?.clone()),
            _ => return None,
        };
        let is_hidden = record.get("hidden").and_then(Json::as_bool) == Some(true);
        let (about, place) = (is_hidden.then(String::new), Place::Handle(Some(id), pointer));
        pieces.push(Piece { content, about, place });
    }
    (!pieces.is_empty()).then_some(pieces)
}
