//! The way in: what was kept of earlier answers returns to its place in a request.

use std::ops::Range;
use std::sync::Arc;

use super::{Kept, Piece, is_known};
use crate::model::call::Call;
use crate::model::digest::{ConversationDigest, TextDigest, arguments_digest};
use crate::model::extra::Extra;
use crate::model::message::{Message, Role};
use crate::model::origin::Origin;
use crate::model::part::{Body, Part, Signature};
use crate::model::request::Request;
use crate::profile::Profile;

/// Puts what was kept of earlier answers back into a request that goes to a target: around the calls
/// that it was kept for, in the order of its vendor. A target that did not make it gets nothing, and
/// thinking that the client did bring back is left as it is.
///
/// `find` gives what was kept for a call, see [`Key`](super::Key). All calls of an answer must be
/// there again, with their ids and names, one after the other, and `find` must give the same for each:
/// it decides whether arguments matter. A call without an id is looked for with one that stands for its
/// [`ConversationDigest`].
pub fn recall(request: &mut Request, target: &Profile, find: impl Fn(&Call) -> Option<Arc<Kept>>) {
    let calls = || request.messages.iter().flat_map(Message::calls);
    // The way to a place leads through the whole conversation: only where somebody wants to know.
    let mut place = calls().any(|call| call.id.is_none()).then(ConversationDigest::default);
    let find = |call: &Call| find(call).filter(|kept| kept.returns(target));
    // A client may say one turn in several messages.
    for turn in request.messages.chunk_by_mut(|one, next| is_turn(one) && is_turn(next)) {
        let seek = Seek { place, find: &find };
        if let Some(place) = &mut place {
            for message in turn.iter() {
                place.push(message);
            }
        }
        let calls = turn.iter().filter(|own| is_turn(own)).flat_map(Message::calls);
        let known = calls.enumerate().any(|(number, call)| seek.find(call, number).is_some());
        if known {
            fill(turn, target, &seek);
        }
    }
}

/// Looks for what was kept of a turn.
struct Seek<'f, F> {
    /// Where the turn is, if any call has no id
    place: Option<ConversationDigest>,
    find: &'f F,
}

impl<F: Fn(&Call) -> Option<Arc<Kept>>> Seek<'_, F> {
    /// What was kept for a call, which has a number in the turn.
    fn find(&self, call: &Call, number: usize) -> Option<Arc<Kept>> {
        match self.place.filter(|_| call.id.is_none()) {
            Some(place) => (self.find)(&place.with_call_id(call, number)),
            None => (self.find)(call),
        }
    }

    /// Whether a call with an id leads to what was kept of an answer: `find` knows whether its
    /// arguments matter.
    fn is_found(&self, call: &Call, kept: &Kept) -> bool {
        (self.find)(call).is_some_and(|own| std::ptr::eq(own.as_ref(), kept))
    }

    /// Whether a call is one that was kept under an id.
    fn is(&self, call: &Call, id: &str, kept: &Kept) -> bool {
        match call.id.as_deref() {
            Some(own) => own == id,
            None => self.place.is_some() && self.place == kept.place,
        }
    }
}

fn is_turn(message: &Message) -> bool {
    message.role == Role::Assistant
}

/// A part, and the message of the turn that it is in.
type Placed = (usize, Part);

/// Fills a turn with what was kept of the answers in it.
fn fill<F: Fn(&Call) -> Option<Arc<Kept>>>(
    turn: &mut [Message],
    target: &Profile,
    seek: &Seek<'_, F>,
) {
    let mut parts: Vec<Placed> = Vec::new();
    for (at, message) in turn.iter_mut().enumerate() {
        parts.extend(std::mem::take(&mut message.parts).into_iter().map(|part| (at, part)));
    }
    let answers = answers(&parts, seek);
    let mut parts = parts.into_iter();
    let mut at = 0;
    let mut put = |(at, part): Placed| turn[at].parts.push(part);
    for (span, kept) in answers {
        parts.by_ref().take(span.start - at).for_each(&mut put);
        let answer = parts.by_ref().take(span.len()).collect();
        Merge::new(&kept, target).parts(answer).into_iter().for_each(&mut put);
        at = span.end;
    }
    parts.for_each(put);
}

/// The answers in a turn of which something was kept, and where they stand.
fn answers<F: Fn(&Call) -> Option<Arc<Kept>>>(
    parts: &[Placed],
    seek: &Seek<'_, F>,
) -> Vec<(Range<usize>, Arc<Kept>)> {
    let mut answers: Vec<(Range<usize>, Arc<Kept>)> = Vec::new();
    let (mut at, mut last) = (0, 0);
    let mut number = 0;
    while let Some((_, part)) = parts.get(at) {
        let kept = part.as_call().and_then(|call| seek.find(call, number));
        let whole = kept.and_then(|kept| Some((end(&parts[at..], &kept, seek)?, kept)));
        let Some((length, kept)) = whole else {
            number += usize::from(part.as_call().is_some());
            at += 1;
            continue;
        };
        number += kept.calls().count();
        let start = last + begin(&parts[last..at], &kept);
        at += length;
        last = at;
        answers.push((start..at, kept));
    }
    answers
}

impl Kept {
    /// Whether a target made this, so that it may have it back.
    fn returns(&self, target: &Profile) -> bool {
        if self.signed {
            self.maker.shares_signatures(target.dialect)
        } else {
            self.maker == target.dialect && target.reasoning.must_echo
        }
    }
}

/// Where an answer ends that begins with a call: after the last of its calls, if all are there.
fn end<F: Fn(&Call) -> Option<Arc<Kept>>>(
    parts: &[Placed],
    kept: &Kept,
    seek: &Seek<'_, F>,
) -> Option<usize> {
    let mut calls = kept.calls().peekable();
    for (at, (_, part)) in parts.iter().enumerate() {
        let Some(call) = part.as_call() else { continue };
        let (id, name, own) = calls.next()?;
        let is_meant = match call.id {
            Some(_) => seek.is_found(call, kept),
            None => arguments_digest(&call.arguments) == own,
        };
        if !seek.is(call, id, kept) || call.name != name || !is_meant {
            return None;
        }
        if calls.peek().is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// Where the words of an answer begin, of the parts before its first call: at most as many as the
/// vendor said, wherever it did, since some dialects have all words before all calls.
fn begin(parts: &[Placed], kept: &Kept) -> usize {
    let mut texts = kept.pieces.iter().filter(|own| matches!(own, Piece::Words { .. })).count();
    let mut begin = parts.len();
    for (_, part) in parts.iter().rev() {
        match words(part) {
            Some(_) if texts == 0 => break,
            Some(_) => texts -= 1,
            None if matches!(part.body, Body::Reasoning(_) | Body::Text(_)) => {}
            None => break,
        }
        begin -= 1;
    }
    begin
}

/// The words of a part that says some.
fn words(part: &Part) -> Option<TextDigest> {
    match &part.body {
        Body::Text(text) | Body::Refusal(text) => {
            Some(TextDigest::of(text)).filter(|own| !own.is_empty())
        }
        _ => None,
    }
}

/// What a vendor had attached to a part.
type Attached<'k> = (Option<&'k Signature>, &'k Extra);

/// What was kept of an answer, sorted by how it returns.
struct Merge<'k> {
    target: &'k Profile,
    signed: bool,
    known: bool,
    /// Parts that the target takes back, with the number of texts and calls before them
    wholes: Vec<(usize, usize, &'k Part)>,
    texts: Vec<(TextDigest, Attached<'k>)>,
    calls: Vec<Attached<'k>>,
}

impl<'k> Merge<'k> {
    fn new(kept: &'k Kept, target: &'k Profile) -> Merge<'k> {
        let (signed, known) = (kept.signed, kept.known);
        let (wholes, texts, calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut own = Merge { target, signed, known, wholes, texts, calls };
        for piece in &kept.pieces {
            match piece {
                Piece::Whole(part) if own.takes(part) => {
                    own.wholes.push((own.texts.len(), own.calls.len(), part));
                }
                Piece::Whole(_) => {}
                Piece::Words { words, signature, extra } => {
                    own.texts.push((*words, (signature.as_ref(), extra)));
                }
                Piece::Call { signature, extra, .. } => {
                    own.calls.push((signature.as_ref(), extra));
                }
            }
        }
        own
    }

    /// The parts that the client sent, with those that were kept between them.
    fn parts(mut self, answer: Vec<Placed>) -> Vec<Placed> {
        if answer.iter().any(|(_, part)| self.brings(part)) {
            self.wholes.retain(|(.., part)| !is_thinking(part));
        }
        let replaces = self.wholes.iter().any(|(.., part)| is_thinking(part));
        let mut wholes = self.wholes.iter().copied().peekable();
        let mut out: Vec<Placed> = Vec::with_capacity(answer.len() + self.wholes.len());
        let (mut place, mut texts, mut calls) = (0, 0, 0);
        for (at, mut part) in answer {
            // What the client brings of it unsigned would be refused, or said twice.
            if replaces && is_thinking(&part) {
                continue;
            }
            place = at;
            let is_call = part.as_call().is_some();
            let is_due = |(text, call, _): &(usize, usize, &Part)| {
                *call < calls || (*call == calls && (*text <= texts || is_call))
            };
            while let Some((.., own)) = wholes.next_if(is_due) {
                out.push((at, self.returned(own)));
            }
            if is_call {
                self.attach(&mut part, self.calls.get(calls).copied());
                calls += 1;
            } else if let Some(words) = words(&part) {
                // The same words only: a signature is for what was said.
                let same = self.texts.get(texts).filter(|(own, _)| *own == words);
                self.attach(&mut part, same.map(|(_, attached)| *attached));
                texts += 1;
            }
            out.push((at, part));
        }
        // Thinking after the last call led to words that the client may have put elsewhere.
        let rest = wholes.filter(|(.., part)| !is_thinking(part));
        out.extend(rest.map(|(.., part)| (place, self.returned(part))));
        out
    }

    fn is_own(&self, signature: Option<&Signature>) -> bool {
        signature.is_some_and(|own| own.dialect.shares_signatures(self.target.dialect))
    }

    /// Whether the target knows a part by its fields.
    fn knows(&self, part: &Part) -> bool {
        part.extra.for_dialect(self.target.dialect).is_some_and(is_known)
    }

    /// Whether the target takes a part back by itself.
    fn takes(&self, part: &Part) -> bool {
        let rule = self.target.reasoning;
        let signed = self.is_own(part.signature.as_ref());
        let Body::Reasoning(own) = &part.body else { return rule.signature_on_parts && signed };
        let proven = (rule.signature && signed) || self.knows(part);
        let told = !rule.signed_only && !own.sections.is_empty();
        rule.replay && if own.redacted { rule.redacted && proven } else { proven || told }
    }

    /// Whether the client brings thinking back in a way that the target takes.
    fn brings(&self, part: &Part) -> bool {
        let Body::Reasoning(own) = &part.body else { return false };
        let told = !self.signed && !own.sections.is_empty();
        told || self.is_own(part.signature.as_ref()) || self.knows(part)
    }

    /// A part as the target had made it.
    fn returned(&self, part: &Part) -> Part {
        let mut part = Part { origin: Origin::NONE, ..part.clone() };
        if part.extra.for_dialect(self.target.dialect).is_none() {
            part.extra = Extra::NONE;
        }
        part
    }

    /// Attaches to a part what its vendor had attached, unless the client did.
    fn attach(&self, part: &mut Part, attached: Option<Attached<'_>>) {
        let Some((signature, extra)) = attached else { return };
        if self.target.reasoning.signature_on_parts
            && self.is_own(signature)
            && !self.is_own(part.signature.as_ref())
        {
            part.signature = signature.cloned();
        }
        // Where thinking goes by a name, so does what it led to.
        if self.known && part.extra.is_empty() && extra.for_dialect(self.target.dialect).is_some() {
            part.extra = extra.clone();
        }
    }
}

fn is_thinking(part: &Part) -> bool {
    matches!(part.body, Body::Reasoning(_))
}
