//! Keeps filled values out of the errors of tools, which models read. Tools often repeat the arguments that they
//! refuse.

use std::collections::HashSet;

use toolwright_core::Json;

use crate::error::ToolError;
use crate::handle::{self, HandleStore, Owner};
use crate::redact::known::KnownSecrets;
use crate::settings::Fill;

/// Minimum number of characters of a stored text or number that are recognized as such.
const MIN_LENGTH: usize = 3;

/// In place of a message that repeats stored data.
const REPEATED: &str = "it refused or could not process the stored data. Its message is left out, because it repeats \
                        them.";

/// The secrets that fill parameters.
pub(super) fn secrets(fills: &[(String, Fill)]) -> KnownSecrets {
    KnownSecrets::new(fills.iter().filter_map(|(_, fill)| match fill {
        Fill::Secret(secret) => Some(secret.expose().as_str()),
        _ => None,
    }))
}

/// Redacts filled secrets in an error, and replaces a message that repeats data of a slot.
pub(super) async fn conceal(
    mut error: ToolError,
    fills: &[(String, Fill)],
    secrets: &KnownSecrets,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> ToolError {
    error.message = secrets.text(&error.message).into_owned();
    for (_, fill) in fills {
        let (Fill::Slot(fill), Some(store)) = (fill, store) else { continue };
        // Data that are gone cannot be compared, so the message counts as one that repeats them.
        let is_repeated = match handle::find_slot(fill, owner, store).await {
            Ok(data) => repeats(&error.message, &data),
            Err(_) => true,
        };
        if is_repeated {
            REPEATED.clone_into(&mut error.message);
            return error;
        }
    }
    error
}

/// Whether a text contains a text or number of a value.
fn repeats(text: &str, value: &Json) -> bool {
    let words: HashSet<&str> = text.split(|own: char| !own.is_alphanumeric()).collect();
    let has = |leaf: &str| {
        if leaf.chars().all(char::is_alphanumeric) {
            return leaf.chars().count() >= MIN_LENGTH && words.contains(leaf);
        }
        leaf.trim().chars().count() >= MIN_LENGTH && text.contains(leaf.trim())
    };
    let mut values = vec![value];
    while let Some(value) = values.pop() {
        match value {
            Json::String(leaf) if has(leaf) => return true,
            Json::Number(leaf) if has(leaf.as_str()) => return true,
            Json::Array(items) => values.extend(items),
            Json::Object(members) => values.extend(members.iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    false
}
