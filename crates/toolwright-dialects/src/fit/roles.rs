//! Turns: places outcomes as the target requires, merges consecutive messages, keeps the order if
//! possible.

use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::{Merges, OutcomeCarrier};
use toolwright_core::{Body, Message, Origin, Part, Role};

use super::Work;
use super::content::{join_texts, words_first};

pub(super) fn pass(work: &mut Work<'_>) {
    if !work.is_native() {
        outcomes_first(work);
    }
    match work.profile.turns.outcomes {
        OutcomeCarrier::OwnMessage => split_outcomes(work),
        OutcomeCarrier::UserTurn => gather_outcomes(work),
    }
    match work.profile.turns.merges {
        Merges::None => {}
        Merges::Assistant => {
            let why = "the target's turns of the assistant have no borders within";
            merge(work, |role| role == Role::Assistant, why);
        }
        Merges::All => {
            let merges = |role| !matches!(role, Role::System | Role::Developer);
            merge(work, merges, "the target's turns alternate");
        }
    }
    let mut messages = std::mem::take(&mut work.request.messages);
    for message in &mut messages {
        if message.role == Role::Assistant && !work.profile.turns.ordered {
            order(work, message);
        }
        if work.profile.turns.single_text {
            for origin in words_first(&mut message.parts) {
                let why = "the target keeps words and media apart";
                work.lose(
                    Severity::Note,
                    Site::of(&origin.list()),
                    "order of its parts changed",
                    why,
                );
            }
            for origin in join_texts(&mut message.parts, "\n\n") {
                let why = "the target takes one text in a message";
                work.lose(Severity::Note, Site::of(&origin), "joined with its neighbours", why);
            }
        }
    }
    work.request.messages = messages;
}

fn is_outcome(part: &Part) -> bool {
    matches!(part.body, Body::Outcome(_))
}

/// Moves outcomes directly after their calls, before other messages. Gemini CLI puts an image
/// between two outcomes.
fn outcomes_first(work: &mut Work<'_>) {
    let messages = work.take_messages();
    // Messages since the last turn with calls
    let mut waiting: Vec<Message> = Vec::new();
    let mut is_open = false;
    for message in messages {
        if message.role == Role::Assistant {
            work.request.messages.append(&mut waiting);
            is_open = message.calls().next().is_some();
        } else if message.parts.iter().any(is_outcome) {
            for own in &waiting {
                let why = "the target takes outcomes first";
                work.lose(Severity::Note, Site::of(&own.origin), "comes after the outcomes", why);
            }
        } else if is_open {
            waiting.push(message);
            continue;
        }
        work.request.messages.push(message);
    }
    work.request.messages.append(&mut waiting);
}

/// Splits outcomes into separate messages, followed by the rest of the user message.
fn split_outcomes(work: &mut Work<'_>) {
    let messages = work.take_messages();
    for message in messages {
        if !message.parts.iter().any(is_outcome) {
            work.request.messages.push(message);
            continue;
        }
        let last = message.parts.iter().rposition(is_outcome).unwrap_or(0);
        let Message { role, parts, extra, origin } = message;
        let alone = parts.len() == 1;
        let mut words = Vec::new();
        for (at, part) in parts.into_iter().enumerate() {
            if is_outcome(&part) {
                let mut own = Message::new(Role::Tool, vec![part]);
                if alone {
                    (own.extra, own.origin) = (extra.clone(), origin.clone());
                }
                work.request.messages.push(own);
            } else {
                if at < last {
                    let why = "the target takes outcomes first";
                    work.lose(
                        Severity::Note,
                        Site::of(&part.origin.list()),
                        "order of its parts changed",
                        why,
                    );
                }
                words.push(part);
            }
        }
        if !words.is_empty() {
            let role = if role == Role::Tool { Role::User } else { role };
            work.request.messages.push(Message { role, parts: words, extra, origin });
        }
    }
}

/// Merges all outcomes of a turn, and the following user message.
fn gather_outcomes(work: &mut Work<'_>) {
    let messages = work.take_messages();
    for mut message in messages {
        let bears = message.parts.iter().any(is_outcome);
        let follows = work.request.messages.last_mut().filter(|last| {
            last.parts.last().is_some_and(is_outcome)
                && matches!(last.role, Role::Tool | Role::User)
        });
        if message.role == Role::Tool {
            message.role = Role::User;
        }
        match follows {
            Some(last)
                if message.role == Role::User && (bears || last.origin.pointer().is_none()) =>
            {
                last.parts.append(&mut message.parts);
            }
            _ => {
                if bears {
                    // A merged message has no single origin.
                    message.origin = Origin::NONE;
                }
                work.request.messages.push(message);
            }
        }
    }
    if work.is_native() {
        return;
    }
    let mut messages = std::mem::take(&mut work.request.messages);
    for message in &mut messages {
        let last = message.parts.iter().rposition(is_outcome).unwrap_or(0);
        let early = message.parts[..last].iter().filter(|part| !is_outcome(part));
        let lists: Vec<Origin> = early.map(|part| part.origin.list()).collect();
        for list in &lists {
            let why = "the target takes outcomes first";
            work.lose(Severity::Note, Site::of(list), "order of its parts changed", why);
        }
        if !lists.is_empty() {
            message.parts.sort_by_key(|part| !is_outcome(part));
        }
    }
    work.request.messages = messages;
}

/// Merges consecutive messages of one role.
fn merge(work: &mut Work<'_>, merges: impl Fn(Role) -> bool, why: &'static str) {
    let messages = work.take_messages();
    for mut message in messages {
        let same = work.request.messages.last().is_some_and(|last| last.role == message.role);
        if !same || !merges(message.role) {
            work.request.messages.push(message);
            continue;
        }
        work.lose(Severity::Note, Site::of(&message.origin), "merged into the message before", why);
        if let Some(last) = work.request.messages.last_mut() {
            last.parts.append(&mut message.parts);
            let site = Site::of(&last.origin);
            if site.origin.pointer().is_some() {
                work.lose_once(Severity::Note, site, "the message after is merged into it", why);
            }
        }
    }
}

/// Orders parts: thinking, then text, then calls.
fn order(work: &mut Work<'_>, message: &mut Message) {
    let rank = |part: &Part| match part.body {
        Body::Reasoning(_) => 0,
        Body::Call(_) => 2,
        _ => 1,
    };
    let mut highest = 0;
    for part in &message.parts {
        if rank(part) < highest {
            let why = "the target keeps no order of text and calls";
            work.lose(
                Severity::Note,
                Site::of(&part.origin.list()),
                "order of its parts changed",
                why,
            );
        }
        highest = highest.max(rank(part));
    }
    message.parts.sort_by_key(rank);
}
