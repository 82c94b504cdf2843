//! Restores a reply as it arrives. A part is sent as soon as its form is known.

use toolwright_core::event::join::Open;
use toolwright_core::event::split::split_part;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::loss::{Severity, Site};
use toolwright_core::part::SectionKind;
use toolwright_core::{Arguments, Call, Event, Extra, Origin, StopReason};

use super::Restorer;
use crate::fit::extras;

/// The state of a part of the source stream.
#[derive(Debug)]
pub(super) enum Slot {
    /// Held until it is complete or has begun
    Held(Open),
    /// Sent under its new index; with the state of thinking, and for a call whether its arguments
    /// are still empty
    Live { index: usize, thinking: Option<Thinking>, silent: bool },
    /// Not sent to the client
    Dropped,
}

/// The state of thinking.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    /// Its last section
    section: usize,
    /// Whether it contains more than summaries
    full: bool,
    /// The last section that became thinking
    late: Option<usize>,
}

impl Restorer {
    /// Restores one event of a stream and appends the events for the client.
    pub fn event(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Start(mut start) => {
                self.begin(&mut start.id, &mut start.model, &mut start.extra);
                out.push(Event::Start(start));
            }
            Event::PartStart { index, head, extra } => {
                if let Some(capture) = &mut self.capture {
                    capture.start(&head, &extra);
                }
                let slot = self.part_start(index, head, extra, out);
                self.slots.insert(index, slot);
            }
            Event::PartDelta { index, delta } => {
                if let Some(capture) = &mut self.capture {
                    capture.grow(index, &delta);
                }
                self.part_delta(index, delta, out);
            }
            Event::PartEnd { index, tail } => {
                if let Some(capture) = &mut self.capture {
                    capture.end(index, &tail);
                }
                self.part_end(index, tail, out);
            }
            Event::Stop(stop) => {
                let mut stop = self.stop(stop);
                stop.reason = match stop.reason {
                    StopReason::ToolUse if self.calls == 0 => StopReason::End,
                    StopReason::End if self.calls > 0 => StopReason::ToolUse,
                    reason => reason,
                };
                out.push(Event::Stop(stop));
            }
            Event::Usage(usage) => out.push(Event::Usage(self.usage(usage))),
            Event::End => {
                self.finish();
                out.push(Event::End);
            }
            event @ (Event::Fault(_) | Event::Ping) => out.push(event),
        }
    }

    fn part_start(
        &mut self,
        at: usize,
        head: Head,
        mut extra: Extra,
        out: &mut Vec<Event>,
    ) -> Slot {
        let rewritten = |name: &str| {
            let original = self.aliases.name(name);
            self.aliases.nulled(original).is_some()
                || self.aliases.free.iter().any(|own| own == original)
        };
        self.refused |= matches!(head, Head::Refusal);
        let holds = match &head {
            // Free text is not JSON; a client that accepts only JSON gets it as one string.
            Head::Call { name, free, .. } => {
                self.profile.reply.whole_calls
                    || (*free && !self.profile.content.arguments_free)
                    || rewritten(name)
            }
            // Thinking may be empty, and then cannot be expressed.
            Head::Reasoning | Head::Whole(_) => true,
            Head::Text => self.aliases.forced,
            Head::Refusal => false,
        };
        if holds {
            return Slot::Held(Open::new(head, extra));
        }
        if matches!(head, Head::Text) {
            self.text(&Origin::NONE);
        }
        extras::clear(&mut extra, &Origin::NONE, self.profile.dialect, &mut self.losses);
        let head = match head {
            Head::Call { id, name, free } => {
                let mut call = Call { id, name, arguments: Arguments::none() };
                if !self.admits(&call, &Origin::NONE) {
                    return Slot::Dropped;
                }
                self.identify(&mut call.id, &mut call.name);
                if let Some(capture) = &mut self.capture {
                    capture.call_restored(at, &call);
                }
                Head::Call { id: call.id, name: call.name, free }
            }
            Head::Refusal if !self.profile.content.refusal => {
                let why = "the client's dialect has no refusals";
                let site = Site::of(&Origin::NONE);
                self.lose_at(Severity::Note, site, "refusal becomes text", why);
                Head::Text
            }
            head => head,
        };
        self.open(head, extra, out)
    }

    fn open(&mut self, head: Head, extra: Extra, out: &mut Vec<Event>) -> Slot {
        let index = self.parts;
        self.parts += 1;
        let thinking = matches!(head, Head::Reasoning).then(Thinking::default);
        let silent = matches!(head, Head::Call { free: false, .. });
        out.push(Event::PartStart { index, head, extra });
        Slot::Live { index, thinking, silent }
    }

    fn part_delta(&mut self, at: usize, delta: Delta, out: &mut Vec<Event>) {
        if let Some(Slot::Live { index, thinking: None, silent }) = self.slots.get_mut(&at) {
            *silent &= matches!(&delta, Delta::Arguments(text) if text.is_empty());
            out.push(Event::PartDelta { index: *index, delta });
            return;
        }
        let rule = self.profile.reasoning;
        let shows = self.profile.reply.reasoning;
        let mut slot = self.slots.remove(&at).unwrap_or(Slot::Dropped);
        if let (Slot::Held(open), Delta::Reasoning { .. }, true) = (&mut slot, &delta, shows) {
            let mut extra = open.take_extra();
            extras::clear(&mut extra, &Origin::NONE, self.profile.dialect, &mut self.losses);
            slot = self.open(Head::Reasoning, extra, out);
        }
        match (&mut slot, delta) {
            (Slot::Held(open), delta) => open.grow(&delta),
            (
                Slot::Live { index, thinking: Some(own), .. },
                Delta::Reasoning { section, kind, mut text },
            ) if !rule.sections => {
                if section != own.section {
                    text.insert_str(0, "\n\n");
                    own.section = section;
                }
                if section > 0 || kind == SectionKind::Summary {
                    let why = "the client's dialect has one text for thinking";
                    let site = Site::of(&Origin::NONE);
                    self.lose_at(Severity::Note, site, "sections joined", why);
                }
                let delta = Delta::Reasoning { section: 0, kind: SectionKind::Full, text };
                out.push(Event::PartDelta { index: *index, delta });
            }
            (
                Slot::Live { index, thinking: Some(own), .. },
                Delta::Reasoning { section, mut kind, text },
            ) => {
                own.full |= kind == SectionKind::Full;
                if own.full && kind == SectionKind::Summary {
                    kind = SectionKind::Full;
                    if own.late.replace(section) != Some(section) {
                        self.late_summary(&Origin::NONE);
                    }
                }
                let delta = Delta::Reasoning { section, kind, text };
                out.push(Event::PartDelta { index: *index, delta });
            }
            (Slot::Live { index, .. }, delta) => {
                out.push(Event::PartDelta { index: *index, delta });
            }
            (Slot::Dropped, _) => {}
        }
        self.slots.insert(at, slot);
    }

    fn part_end(&mut self, at: usize, mut tail: Tail, out: &mut Vec<Event>) {
        let (index, thinks) = match self.slots.remove(&at) {
            Some(Slot::Live { index, thinking, silent }) => {
                if silent {
                    // Clients parse streamed arguments as JSON, and empty text is not JSON (case
                    // 2).
                    let delta = Delta::Arguments("{}".to_owned());
                    out.push(Event::PartDelta { index, delta });
                }
                (index, thinking.is_some())
            }
            Some(Slot::Held(open)) => {
                if let Some(part) = self.restore_part(at, open.close(tail)) {
                    split_part(self.parts, part, out);
                    self.parts += 1;
                }
                return;
            }
            Some(Slot::Dropped) | None => return,
        };
        let dialect = self.profile.dialect;
        extras::clear(&mut tail.extra, &Origin::NONE, dialect, &mut self.losses);
        let rule = self.profile.reasoning;
        let carries = if thinks { rule.signature } else { rule.signature_on_parts };
        let native =
            tail.signature.as_ref().is_some_and(|own| own.dialect.shares_signatures(dialect));
        if tail.signature.is_some() && !(native && carries) {
            tail.signature = None;
            self.lose(
                Severity::Minor,
                "signature",
                "signature dropped",
                "only its maker can read it",
            );
        }
        out.push(Event::PartEnd { index, tail });
    }
}
