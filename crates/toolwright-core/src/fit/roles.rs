//! Turns: outcomes carried as the target carries them, neighbours merged, order kept where it can be.

use super::content::{join_texts, words_first};
use super::profile::{Merges, OutcomeCarrier};
use super::{Severity, Site, Work};
use crate::message::{Message, Role};
use crate::origin::Origin;
use crate::part::{Body, Part};

pub(super) fn pass(work: &mut Work<'_>) {
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
    if work.profile.turns.assistant_after_outcomes {
        part_with_assistant(work);
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

/// A message for each outcome; what else the user said follows.
fn split_outcomes(work: &mut Work<'_>) {
    let messages = std::mem::take(&mut work.request.messages);
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

/// All outcomes of a turn, and what the user says next, in one message.
fn gather_outcomes(work: &mut Work<'_>) {
    let messages = std::mem::take(&mut work.request.messages);
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
                    // A gathered message stands for several; it has no place of its own.
                    message.origin = Origin::NONE;
                }
                work.request.messages.push(message);
            }
        }
    }
}

/// Neighbours of one role become one message.
fn merge(work: &mut Work<'_>, merges: impl Fn(Role) -> bool, why: &'static str) {
    let messages = std::mem::take(&mut work.request.messages);
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

/// A turn of the assistant between outcomes and the user's next words.
fn part_with_assistant(work: &mut Work<'_>) {
    let messages = std::mem::take(&mut work.request.messages);
    let mut after_outcome = None;
    for message in messages {
        if let (Some(outcome), Role::User) = (&after_outcome, message.role) {
            for part in &message.parts {
                if same_message(outcome, &part.origin) {
                    let why = "the target wants a turn of the assistant before it";
                    let site = Site::of(&part.origin.list());
                    work.lose(Severity::Note, site, "comes as two messages", why);
                }
            }
            work.request.messages.push(Message::assistant("OK."));
            work.add("messages", "a turn of the assistant, which the target wants after outcomes");
        }
        after_outcome =
            message.parts.last().filter(|part| is_outcome(part)).map(|part| part.origin.clone());
        work.request.messages.push(message);
    }
}

/// Whether two parts were read in one message.
fn same_message(one: &Origin, other: &Origin) -> bool {
    one.pointer().is_some() && one.list().pointer() == other.list().pointer()
}

/// Thinking, then words, then calls.
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
