//! The reply of a run that waits for approval, and how a later request refers to it.

use std::fmt::Write as _;

use toolwright_core::{Body, Message, Part, Role};
use toolwright_runtime::call::Approval;

use super::{ApprovalRecord, PREFIX, id};
use crate::conversation;

/// Number of digits of an id after the prefix.
const DIGITS: usize = 32;

/// Maximum number of bytes of arguments that a reply shows.
const MAX_SHOWN: usize = 2_000;

/// Returns the text of a reply that ends because calls wait for approval.
pub fn notice(pending: &[ApprovalRecord]) -> String {
    let mut text = match pending {
        [_] => "This call waits for the approval of a person:\n".to_owned(),
        _ => "These calls wait for the approval of a person:\n".to_owned(),
    };
    for ApprovalRecord { id, tool, arguments, reason, .. } in pending {
        let arguments = arguments.compact();
        let shown = &arguments[..arguments.floor_char_boundary(MAX_SHOWN)];
        let more = if shown.len() < arguments.len() { "…" } else { "" };
        // Writing to a string cannot fail.
        let _written = write!(text, "\n- {tool} {shown}{more}\n  {reason} Approval: {id}\n");
    }
    let Some(ApprovalRecord { id, conversation, .. }) = pending.first() else { return text };
    let _written = write!(
        text,
        "\nTo answer: `toolwright approvals approve {id}` (or `reject`), or POST \
         /v1/approvals/{id} with {{\"answer\": \"approve\"}}. Then continue this conversation, for \
         example with \"go on\": keep this message in it, or send the header `{}: {conversation}`.",
        conversation::HEADER
    );
    text
}

/// Returns the messages of the user in a later request, since the first notice of the waiting calls. The
/// client may have got the notice several times, and the model reads none of these messages before the
/// calls have outcomes.
pub fn after_notice<'a>(
    messages: &[Message],
    waiting: impl Iterator<Item = &'a Approval>,
) -> Vec<Message> {
    let ids: Vec<String> = waiting.map(id).collect();
    let is_notice = |message: &Message| {
        let texts = || message.parts.iter().filter_map(text);
        message.role == Role::Assistant && ids.iter().any(|id| texts().any(|own| own.contains(id)))
    };
    let place = messages.iter().position(is_notice);
    let later = place.map_or(&[][..], |place| &messages[place + 1..]);
    later.iter().filter(|message| message.role == Role::User).cloned().collect()
}

fn text(part: &Part) -> Option<&str> {
    match &part.body {
        Body::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the last approval that a message of the assistant names.
pub(super) fn named(message: &Message) -> Option<&str> {
    if message.role != Role::Assistant {
        return None;
    }
    let texts = message.parts.iter().rev().filter_map(text);
    texts.flat_map(|text| text.rmatch_indices(PREFIX).map(move |(at, _)| &text[at..])).find_map(
        |text| {
            let id = text.get(..PREFIX.len() + DIGITS)?;
            id[PREFIX.len()..].bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(id)
        },
    )
}
