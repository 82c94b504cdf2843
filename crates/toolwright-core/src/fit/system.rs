//! Instructions: where the target wants them, in a role that it has.

use super::content::join_texts;
use super::{Severity, Site, Work};
use crate::message::{Message, Role};
use crate::part::Part;

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.system;
    let mut talking = false;
    let messages = std::mem::take(&mut work.request.messages);
    for mut message in messages {
        let instructs = matches!(message.role, Role::System | Role::Developer);
        if instructs && message.role == Role::Developer && !rule.developer {
            let site = Site::field(&message.origin, "role");
            work.lose(
                Severity::Note,
                site,
                "developer becomes system",
                "the target has no such role",
            );
            message.role = Role::System;
        }
        let leads = instructs && !talking && message.role == Role::System;
        talking |= !instructs;
        if leads && (work.request.instructions.is_none() || !rule.in_conversation) {
            lead(work, message);
        } else if instructs && !rule.in_conversation {
            let what = "moved before the conversation";
            let why = "the target takes instructions only there";
            work.lose(Severity::Minor, Site::of(&message.origin), what, why);
            join(work, message.parts);
        } else {
            work.request.messages.push(message);
        }
    }
}

const ONE_PLACE: &str = "the target has one place for instructions";

/// A message that leads the conversation becomes its instructions, or joins them.
fn lead(work: &mut Work<'_>, message: Message) {
    let why = ONE_PLACE;
    if work.request.instructions.is_none() {
        work.lose(Severity::Note, Site::of(&message.origin), "becomes the instructions", why);
        work.request.instructions = Some(message);
        return;
    }
    work.lose(Severity::Note, Site::of(&message.origin), "joined to the instructions", why);
    join(work, message.parts);
}

fn join(work: &mut Work<'_>, parts: Vec<Part>) {
    let own = work.request.instructions.get_or_insert_with(|| Message::new(Role::System, vec![]));
    own.parts.extend(parts);
    if own.origin.pointer().is_some() {
        let site = Site::of(&own.origin);
        work.lose_once(Severity::Note, site, "has others joined to it", ONE_PLACE);
    }
}

/// Several texts become one, where the target takes one. This comes after breakpoints on the texts
/// were settled.
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
