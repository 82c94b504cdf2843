//! The content that the model sees: within the budget of the tool, with the rest behind handles, and in
//! the envelope of the tool.

use toolwright_core::{Body, Json, Part, object};
use toolwright_json::Object;

use crate::error::{CallError, CallErrorKind};
use crate::handle::{self, HandleStore, Owner, budget};
use crate::handler::Handler;
use crate::output::{Piece, Place};
use crate::settings::Envelope;

/// The content of a call that succeeded, and the pieces of the output with their places. `written` are the arguments
/// for the reply of a tool that stores its output in a slot.
pub(crate) async fn success(
    handler: &Handler,
    pieces: Vec<Piece>,
    written: &Object,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> Result<(Vec<Part>, Vec<Piece>), CallError> {
    let settings = handler.settings();
    let (parts, pieces) = match (&settings.slot, store) {
        (Some(slot), Some(store)) => {
            let stored = handle::put_in_slot(&slot.slot, pieces, owner, store).await;
            let stored = stored.map_err(|_| not_stored(&handler.tool().name))?;
            let reply = handle::reply(slot.reply.as_deref(), &stored, written);
            (vec![Part::text(reply)], vec![Piece::hidden(stored, "")])
        }
        _ => budget(pieces, settings.budget, owner, store).await,
    };
    Ok(match settings.envelope {
        Some(envelope) => enclose(envelope, &handler.tool().name, parts, pieces),
        None => (parts, pieces),
    })
}

/// The error of a tool whose output does not fit into the store.
fn not_stored(tool: &str) -> CallError {
    let text = format!(
        "{tool} ran, but its result is too large to be kept for other tools, or the store failed. Ask for less."
    );
    CallError::new(CallErrorKind::Failed, text)
}

/// Puts text and JSON into an envelope, before the media.
fn enclose(
    envelope: Envelope,
    tool: &str,
    parts: Vec<Part>,
    mut pieces: Vec<Piece>,
) -> (Vec<Part>, Vec<Piece>) {
    let key = match envelope {
        Envelope::Data => "data",
        Envelope::Result | Envelope::NamedResult => "result",
    };
    let is_media = |part: &Part| !matches!(part.body, Body::Text(_) | Body::Json(_));
    let is_single = parts.iter().filter(|part| !is_media(part)).count() <= 1;
    let (mut values, mut media, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let value = match part.body {
            Body::Text(text) => Json::String(text),
            Body::Json(value) => value,
            _ => {
                places.push(Place::Part(media.len() + 1, String::new()));
                media.push(part);
                continue;
            }
        };
        let index = if is_single { String::new() } else { format!("/{}", values.len()) };
        places.push(Place::Part(0, format!("/{key}{index}")));
        values.push(value);
    }
    for piece in &mut pieces {
        if let Place::Part(index, _) = &piece.place
            && let Some(place) = places.get(*index)
        {
            piece.place = place.clone();
        }
    }
    let value = if is_single { values.pop().unwrap_or_default() } else { Json::Array(values) };
    let mut fields = object! {"success": true};
    fields.insert(key, value);
    if envelope == Envelope::NamedResult {
        fields.insert("tool_name", tool);
    }
    media.insert(0, Part::new(Body::Json(fields.into())));
    (media, pieces)
}

/// The content of a call that failed.
pub(crate) fn failure(handler: &Handler, error: &CallError) -> Vec<Part> {
    let settings = handler.settings();
    let text = truncate(&error.text, settings.budget);
    let Some(envelope) = settings.envelope else { return vec![Part::text(text)] };
    let mut fields = object! {"success": false, "error": text};
    if envelope != Envelope::NamedResult {
        fields.insert("error_type", truncate(error.error_type(), settings.budget));
    }
    fields.insert("tool_name", handler.tool().name.as_str());
    vec![Part::new(Body::Json(fields.into()))]
}

/// An error text within the budget.
fn truncate(text: &str, budget: usize) -> String {
    if text.len() <= budget {
        return text.to_owned();
    }
    let shown = &text[..text.floor_char_boundary(budget)];
    format!("{shown}\n[Cut here: {} more bytes.]", text.len() - shown.len())
}
