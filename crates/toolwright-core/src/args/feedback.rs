//! The message to a model whose arguments were rejected: the problems with their paths, the
//! accepted values, and the request to send only these again. It is bounded and deterministic.

use std::fmt::Write as _;

use toolwright_json::Json;

use super::ResolvedArguments;
use crate::schema::Violation;
use crate::schema::describe::{quote, shorten};

/// Maximum number of problems listed one by one.
const MAX_PROBLEMS: usize = 20;

/// Maximum number of accepted values or names listed.
const MAX_LISTED: usize = 30;

/// Maximum bytes of accepted values shown for one problem.
const MAX_SHOWN_BYTES: usize = 800;

/// Writes the message.
pub(super) fn write(resolved: &ResolvedArguments) -> String {
    let mut out = String::new();
    if resolved.is_understood() {
        let _ = write!(out, "The arguments for tool {} were not accepted.", resolved.tool());
    } else {
        let _ = write!(
            out,
            "Invalid JSON input for tool {}: the arguments must be one JSON object.",
            resolved.tool()
        );
    }
    let told = resolved.errors().iter().filter(|error| error.keyword != "json");
    for error in told.clone().take(MAX_PROBLEMS) {
        problem(error, &mut out);
    }
    let more = told.count().saturating_sub(MAX_PROBLEMS);
    if more > 0 {
        let _ = write!(out, "\n- and {more} more of this kind");
    }
    for (required, words) in [(true, "Missing, required"), (false, "Not given, optional")] {
        let names: Vec<String> = resolved
            .missing()
            .iter()
            .filter(|missing| missing.required == required)
            .map(|missing| shorten(&missing.name).into_owned())
            .collect();
        if !names.is_empty() {
            let _ = write!(out, "\n{words}: {}.", list(&names));
        }
    }
    out.push_str(if resolved.is_understood() {
        "\nCall the tool again. Correct only what is named here and keep the other arguments as they were."
    } else {
        "\nCall the tool again with all arguments as one JSON object."
    });
    out
}

fn problem(error: &Violation, out: &mut String) {
    let place = if error.path.is_empty() { "the arguments" } else { error.path.as_str() };
    // Keys come from the model and must stay on one line.
    let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    let place: String = place.chars().map(one_line).take(200).collect();
    let _ = write!(out, "\n- {place} ({}): {}", error.keyword, error.message);
    // The names are in the message.
    let named = matches!(error.keyword.as_str(), "additionalProperties" | "unevaluatedProperties");
    if let (Some(got), false) = (&error.got, named) {
        let _ = write!(out, "; got {}", cut(&got.compact()));
    }
    if let Some(accepted) = &error.accepted
        && error.keyword != "required"
    {
        let _ = write!(out, "; accepted: {}", accept(accepted));
    }
}

fn accept(accepted: &Json) -> String {
    match accepted {
        Json::Array(items) if items.is_empty() => "none".into(),
        Json::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .take(MAX_LISTED + 1)
                .map(|item| item.as_str().map_or_else(|| item.compact(), quote))
                .collect();
            cut(&list(&items))
        }
        other => cut(&other.compact()),
    }
}

fn list(items: &[String]) -> String {
    let (first, rest) = items.split_at(items.len().min(MAX_LISTED));
    let text = first.join(", ");
    if rest.is_empty() { text } else { format!("{text}, …") }
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}
