//! The content that the model sees: within the budget of the tool, with the rest behind handles, and in
//! the envelope of the tool.

use toolwright_core::part::{Body, Part};
use toolwright_core::{Json, object};

use crate::error::CallError;
use crate::handle::{HandleStore, Owner, budget};
use crate::handler::Handler;
use crate::output::Content;
use crate::settings::Envelope;

/// The content of a call that succeeded.
pub(crate) async fn success(
    handler: &Handler,
    content: Vec<Content>,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> Vec<Part> {
    let settings = handler.settings();
    let parts = budget(content, settings.budget, owner, store).await;
    let Some(envelope) = settings.envelope else { return parts };
    let mut values = Vec::new();
    let mut media = Vec::new();
    for part in parts {
        match part.body {
            Body::Text(text) => values.push(Json::String(text)),
            Body::Json(value) => values.push(value),
            _ => media.push(part),
        }
    }
    let value =
        if values.len() > 1 { Json::Array(values) } else { values.pop().unwrap_or_default() };
    let mut fields = object! {"success": true};
    match envelope {
        Envelope::Data => fields.insert("data", value),
        Envelope::Result => fields.insert("result", value),
    }
    media.insert(0, Part::new(Body::Json(fields.into())));
    media
}

/// The content of a call that failed.
pub(crate) fn failure(handler: &Handler, error: &CallError) -> Vec<Part> {
    let settings = handler.settings();
    let text = truncate(&error.text, settings.budget);
    if settings.envelope.is_none() {
        return vec![Part::text(text)];
    }
    let fields = object! {
        "success": false,
        "error": text,
        "error_type": truncate(error.error_type(), settings.budget),
        "tool_name": handler.tool().name.as_str(),
    };
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
