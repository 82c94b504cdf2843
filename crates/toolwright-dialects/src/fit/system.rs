//! System and developer messages: moved to where the target accepts them, in a role that it has.
//!
//! Leading messages join the instructions. A later one stays in place if the target allows it;
//! otherwise it becomes user text within the tags of [`REMINDER`].

use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::{LatePlace, LateSystem};
use toolwright_core::{Body, Message, Part, Role};

use super::Work;
use super::content::join_texts;

/// The tag around instructions that become user text. Claude Code marks instructions within a
/// conversation in this way, and other tools do the same for models that accept no late system
/// message.
const REMINDER: &str = "system-reminder";

/// The user message that is added if the target requires one and the request has none.
const CONTINUE: &str = "Please continue.";

const ONE_PLACE: &str = "the target has one place for instructions";

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.system;
    let mut messages = std::mem::take(&mut work.request.messages);
    for message in &mut messages {
        if message.role == Role::Developer && !rule.developer {
            let site = Site::field(&message.origin, "role");
            let why = "the target has no such role";
            work.lose(Severity::Note, site, "developer becomes system", why);
            message.role = Role::System;
        }
    }
    let leading = messages.iter().take_while(|message| instructs(message)).count();
    let late = messages.split_off(leading);
    for message in messages {
        let is_first = work.request.instructions.is_none() && message.role == Role::System;
        if is_first || rule.late != LateSystem::Anywhere {
            lead(work, message);
        } else {
            work.request.messages.push(message);
        }
    }
    let mut late = after_outcomes(work, late).into_iter().peekable();
    while let Some(message) = late.next() {
        if !instructs(&message) {
            work.request.messages.push(message);
            continue;
        }
        if rule.late == LateSystem::Anywhere {
            work.request.messages.push(message);
            continue;
        }
        let mut run = vec![message];
        while let Some(next) = late.next_if(instructs) {
            run.push(next);
        }
        place(work, run, &mut late);
    }
}

fn instructs(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

fn has_outcomes(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part.body, Body::Outcome(_)))
}

/// Moves instructions between a call and its outcome after the outcomes: every vendor refuses them
/// there.
fn after_outcomes(work: &mut Work<'_>, messages: Vec<Message>) -> Vec<Message> {
    let mut out = Vec::with_capacity(messages.len());
    let mut held: Vec<Message> = Vec::new();
    for message in messages {
        if instructs(&message) {
            held.push(message);
            continue;
        }
        if has_outcomes(&message) {
            for message in &held {
                let why = "nothing may stand between a call and its outcome";
                let site = Site::of(&message.origin);
                work.lose_once(Severity::Note, site, "moved behind the outcomes", why);
            }
        } else {
            out.append(&mut held);
        }
        out.push(message);
    }
    out.append(&mut held);
    out
}

/// Adds a leading message to the instructions.
fn lead(work: &mut Work<'_>, message: Message) {
    let site = Site::of(&message.origin);
    let Some(own) = &mut work.request.instructions else {
        work.lose(Severity::Note, site, "becomes the instructions", ONE_PLACE);
        work.request.instructions = Some(Message { role: Role::System, ..message });
        return;
    };
    own.parts.extend(message.parts);
    let joined = Site::of(&own.origin);
    work.lose(Severity::Note, site, "joined to the instructions", ONE_PLACE);
    if joined.origin.pointer().is_some() {
        work.lose_once(Severity::Note, joined, "has others joined to it", ONE_PLACE);
    }
}

/// Places consecutive instructions within the conversation: in place if the target allows it, or
/// else in a user message.
fn place(
    work: &mut Work<'_>,
    run: Vec<Message>,
    rest: &mut std::iter::Peekable<std::vec::IntoIter<Message>>,
) {
    let before = work.request.messages.last();
    if let LateSystem::AfterUser(place) = work.profile.system.late
        && before.is_some_and(|before| may_follow(place, before))
        && rest.peek().map_or(place.last, |next| may_precede(place, next))
    {
        let why = "the target takes one system message here";
        let mut run = run.into_iter();
        let Some(mut first) = run.next() else { return };
        for message in run {
            let site = Site::of(&message.origin);
            work.lose(Severity::Note, site, "joined to the system message before", why);
            first.parts.extend(message.parts);
        }
        work.request.messages.push(first);
        return;
    }
    let mut parts = Vec::new();
    for message in run {
        let what = "becomes text of the user, marked as a system reminder";
        let why = "the target takes no system message here";
        work.lose(Severity::Minor, Site::of(&message.origin), what, why);
        parts.extend(message.parts.into_iter().map(marked));
    }
    // It is merged with an adjacent user message, since some templates require alternating turns.
    let spoken = |message: &Message| message.role == Role::User && !has_outcomes(message);
    if let Some(before) = work.request.messages.last_mut().filter(|before| spoken(before)) {
        before.parts.extend(parts);
    } else if let Some(mut next) = rest.next_if(spoken) {
        next.parts.splice(0..0, parts);
        work.request.messages.push(next);
    } else {
        work.request.messages.push(Message::new(Role::User, parts));
    }
}

/// Whether a system message may follow a message.
fn may_follow(place: LatePlace, before: &Message) -> bool {
    match before.role {
        Role::Assistant => {
            let last = before.parts.last().map(|part| &part.body);
            place.after_hosted && matches!(last, Some(Body::Opaque(_)))
        }
        Role::User | Role::Tool => place.after_outcomes || !has_outcomes(before),
        Role::System | Role::Developer => false,
    }
}

/// Whether a system message may precede a message.
fn may_precede(place: LatePlace, next: &Message) -> bool {
    next.role == Role::Assistant || place.before_user
}

/// Converts instructions to user text.
fn marked(mut part: Part) -> Part {
    if let Body::Text(text) = &mut part.body {
        *text = format!("<{REMINDER}>\n{text}\n</{REMINDER}>").into();
    }
    part
}

/// Adds a user message if the target requires one at the start. Runs after empty messages were
/// removed.
pub(super) fn begin_with_user(work: &mut Work<'_>) {
    let first = work.request.messages.first().map(|message| message.role);
    // A stored prompt has neither instructions nor messages.
    let is_empty = first.is_none() && work.request.instructions.is_some();
    if work.profile.turns.user_first && (is_empty || first == Some(Role::Assistant)) {
        work.request.messages.insert(0, Message::user(CONTINUE));
        work.add("messages", "a first message of the user, which the target requires");
    }
}

/// Joins several texts, if the target accepts only one. Runs after cache breakpoints on the texts
/// are final.
pub(super) fn single(work: &mut Work<'_>) {
    let Some(own) = work.request.instructions.as_mut().filter(|_| work.profile.system.single_text)
    else {
        return;
    };
    for origin in join_texts(&mut own.parts, "\n\n") {
        let why = "the target takes instructions as one text";
        work.lose(Severity::Note, Site::of(&origin), "joined with its neighbours", why);
    }
}
