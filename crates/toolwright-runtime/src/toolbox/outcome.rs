//! The content that the model sees: within the budget of the tool, with the rest behind handles, and in
//! the envelope of the tool.

use toolwright_core::part::{Body, Part};
use toolwright_core::{Json, object};
use toolwright_json::Object;

use crate::error::{CallError, CallErrorKind};
use crate::handle::{self, CompleteOutput, HandleStore, Owner, Piece, Root, budget_complete};
use crate::handler::Handler;
use crate::output::Content;
use crate::settings::Envelope;

/// The content of a call that succeeded, and where the complete output is. `written` are the arguments for the reply of
/// a tool that stores its output in a slot.
pub(crate) async fn success(
    handler: &Handler,
    content: Vec<Content>,
    written: &Object,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> Result<(Vec<Part>, CompleteOutput), CallError> {
    let settings = handler.settings();
    let (parts, complete) = match (&settings.slot, store) {
        (Some(slot), Some(store)) => {
            let value = handle::put_in_slot(&slot.slot, content, owner, store).await;
            let value = value.map_err(|_| not_stored(&handler.tool().name))?;
            let reply = handle::reply(slot.reply.as_deref(), &value, written);
            let piece = Piece { root: Root::Hidden(value, None), pointer: String::new() };
            (vec![Part::text(reply)], CompleteOutput::Pieces([piece].into()))
        }
        _ => budget_complete(content, settings.budget, owner, store).await,
    };
    Ok(match settings.envelope {
        Some(envelope) => enclose(envelope, &handler.tool().name, parts, &complete),
        None => (parts, complete),
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
    complete: &CompleteOutput,
) -> (Vec<Part>, CompleteOutput) {
    let key = match envelope {
        Envelope::Data => "data",
        Envelope::Result | Envelope::NamedResult => "result",
    };
    let is_media = |part: &Part| !matches!(part.body, Body::Text(_) | Body::Json(_));
    let media_count = parts.iter().filter(|part| is_media(part)).count();
    let is_single = parts.len() - media_count <= 1;
    let (mut values, mut media) = (Vec::new(), Vec::with_capacity(media_count + 1));
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let value = match part.body {
            Body::Text(text) => Json::String(text),
            Body::Json(value) => value,
            _ => {
                places.push(Piece::part(media.len() + 1));
                media.push(part);
                continue;
            }
        };
        let index = if is_single { String::new() } else { format!("/{}", values.len()) };
        places.push(Piece { root: Root::Part(0), pointer: format!("/{key}{index}") });
        values.push(value);
    }
    let value = if is_single { values.pop().unwrap_or_default() } else { Json::Array(values) };
    let mut fields = object! {"success": true};
    fields.insert(key, value);
    if envelope == Envelope::NamedResult {
        fields.insert("tool_name", tool);
    }
    media.insert(0, Part::new(Body::Json(fields.into())));
    let complete = match complete {
        CompleteOutput::Unavailable => CompleteOutput::Unavailable,
        CompleteOutput::Content(_) => CompleteOutput::Pieces(places.into()),
        CompleteOutput::Pieces(pieces) => {
            let place = |piece: &Piece| match &piece.root {
                Root::Part(index) => places.get(*index).unwrap_or(piece).clone(),
                Root::Value(..) | Root::Hidden(..) => piece.clone(),
            };
            CompleteOutput::Pieces(pieces.iter().map(place).collect())
        }
    };
    (media, complete)
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
