//! Thinking in the history: returned to the vendor that produced it, and dropped for others.

use toolwright_core::loss::{Severity, Site};
use toolwright_core::part::{Reasoning, Section, SectionKind, Signature};
use toolwright_core::{Body, Message, Part, Role};
use toolwright_json::Object;

use super::{Work, thinking};
use crate::reasoning_cache;

pub(super) fn pass(work: &mut Work<'_>) {
    let mut messages = std::mem::take(&mut work.request.messages);
    for message in &mut messages {
        message.parts.retain_mut(|part| one(work, part));
        if message.role == Role::Assistant {
            stand_in(work, message);
        }
    }
    work.request.messages = messages;
    work.drop_empty();
    open_loop(work);
}

/// Fits a part by its signature and reasoning; returns whether it stays.
fn one(work: &mut Work<'_>, part: &mut Part) -> bool {
    let rule = work.profile.reasoning;
    let dialect = work.profile.dialect;
    let signed = part.signature.as_ref().is_some_and(|own| own.dialect.shares_signatures(dialect));
    let Body::Reasoning(reasoning) = &mut part.body else {
        if part.signature.is_some() && !(signed && rule.signature_on_parts) {
            part.signature = None;
            let site = Site::field(&part.origin, "signature");
            work.lose(Severity::Minor, site, "signature dropped", "only its maker can read it");
        }
        return true;
    };
    let native = (signed && rule.signature) || is_known(part.extra.for_dialect(dialect));
    let reason = if !rule.replay {
        Some("the target takes no thinking back")
    } else if rule.signed_only && !native {
        Some("the target takes back only thinking that it signed")
    } else if reasoning.redacted && !(rule.redacted && native) {
        Some("only its maker can read redacted thinking")
    } else if is_silent(reasoning, rule.sections) && !native {
        Some("without its signature nothing is left of it")
    } else {
        None
    };
    if let Some(why) = reason {
        work.lose(Severity::Minor, Site::of(&part.origin), "thinking dropped", why);
        return false;
    }
    if !rule.sections && is_sectioned(reasoning) {
        *reasoning = Reasoning::text(reasoning.joined());
        let site = Site::field(&part.origin, "text");
        work.lose(Severity::Note, site, "sections joined", "the target takes thinking as one text");
    }
    if rule.sections && summaries_first(reasoning) {
        let site = Site::field(&part.origin, "text");
        work.lose(Severity::Note, site, LATE_SUMMARY, "the target takes summaries first");
    }
    if part.signature.is_some() && !(signed && rule.signature) {
        part.signature = None;
        // Without it the text cannot be returned to its vendor either.
        let why = "only its maker can read the signature";
        work.lose(Severity::Minor, Site::of(&part.origin), "thinking goes along unsigned", why);
    }
    true
}

/// Whether the vendor stores the thinking, so that a field such as its id refers to it.
pub(super) fn is_known(fields: Option<&Object>) -> bool {
    fields.is_some_and(reasoning_cache::has_vendor_fields)
}

/// Whether thinking is empty: it has no section, or none with text if the target joins them.
fn is_silent(reasoning: &Reasoning, in_sections: bool) -> bool {
    let mut sections = reasoning.sections.iter();
    if in_sections { sections.len() == 0 } else { sections.all(|own| own.text.is_empty()) }
}

/// The description of the loss for a summary after thinking.
pub(super) const LATE_SUMMARY: &str = "a summary goes along as thinking";

/// Converts a summary after thinking to thinking, because a stream cannot move it before earlier
/// content. Returns whether there was one.
pub(super) fn summaries_first(reasoning: &mut Reasoning) -> bool {
    let late = reasoning.sections.iter_mut().skip_while(|own| own.kind == SectionKind::Summary);
    let mut changed = false;
    for section in late.filter(|own| own.kind == SectionKind::Summary) {
        section.kind = SectionKind::Full;
        changed = true;
    }
    changed
}

/// Whether thinking is more than one plain text.
pub(super) fn is_sectioned(reasoning: &Reasoning) -> bool {
    match reasoning.sections.as_slice() {
        [] => false,
        [Section { kind, .. }] => *kind == SectionKind::Summary,
        _ => true,
    }
}

/// Adds the documented stand-in for a signature to the first call of a foreign turn, if the vendor
/// requires one (case 6).
fn stand_in(work: &mut Work<'_>, message: &mut Message) {
    let Some(value) = work.profile.reasoning.stand_in else { return };
    let signed = message.parts.iter().any(|part| part.signature.is_some());
    let first = message.parts.iter_mut().find(|part| matches!(part.body, Body::Call(_)));
    if let (false, Some(call)) = (signed, first) {
        call.signature = Some(Signature { dialect: work.profile.dialect, value: value.to_owned() });
        work.add("signature", "the value for calls that another vendor's model made");
    }
}

/// During a tool loop, a thinking vendor requires the thinking of that turn. If another vendor
/// produced it, thinking is disabled until the loop ends (case 8).
fn open_loop(work: &mut Work<'_>) {
    let rule = work.profile.reasoning;
    if !(rule.signed_only || rule.must_echo)
        || !work.profile.thinking.switch
        || !work.profile.thinking.is_on(work.request.thinking.as_ref())
    {
        return;
    }
    let lacks = |message: &Message| {
        let has = |wanted: fn(&Body) -> bool| message.parts.iter().any(|part| wanted(&part.body));
        has(|body| matches!(body, Body::Call(_))) && !has(|body| matches!(body, Body::Reasoning(_)))
    };
    let mut turns = work.request.messages.iter().filter(|message| message.role == Role::Assistant);
    let broken = if rule.must_echo {
        turns.any(lacks)
    } else {
        // A user message after the outcomes may be merged into theirs.
        let since = work.request.messages.iter().rev();
        let waits = since
            .take_while(|message| message.role != Role::Assistant)
            .any(|message| message.parts.iter().any(|part| matches!(part.body, Body::Outcome(_))));
        waits && turns.next_back().is_some_and(lacks)
    };
    if !broken {
        return;
    }
    let why = "the open turn was made by another vendor, whose thinking cannot be shown";
    thinking::suspend(work, Severity::Major, why);
}
