//! Reinjects cached reasoning into a request.

use std::ops::Range;
use std::sync::Arc;

use toolwright_core::digest::{ConversationDigest, TextDigest, arguments_digest};
use toolwright_core::part::Signature;
use toolwright_core::profile::Profile;
use toolwright_core::{Body, Call, Extra, Message, Origin, Part, Request, Role};

use super::{CachedPart, CachedReasoning, has_vendor_fields};

/// Reinjects the reasoning of earlier replies into a request, around the calls that it belongs to and in
/// the order of its vendor. A target that did not write it gets nothing, and reasoning that the client
/// returned is left as it is.
///
/// `find` looks up the cache entry of a call, by its [`CallKey`](super::CallKey). All calls of a reply
/// must be there again, with their ids and names, one after the other, and `find` must return the same
/// entry for each; it decides whether arguments matter. A call without an id is looked up with the
/// synthetic id of its [`ConversationDigest`].
pub fn reinject(
    request: &mut Request,
    target: &Profile,
    find: impl Fn(&Call) -> Option<Arc<CachedReasoning>>,
) {
    let calls = || request.messages.iter().flat_map(Message::calls);
    // Computed only if needed, because it reads the whole conversation.
    let mut conversation = calls().any(|call| call.id.is_none()).then(ConversationDigest::default);
    let find = |call: &Call| find(call).filter(|cached| cached.belongs_to(target));
    // A client may split one turn into several messages.
    for turn in request.messages.chunk_by_mut(|one, next| is_turn(one) && is_turn(next)) {
        let lookup = Lookup { conversation, find: &find };
        if let Some(conversation) = &mut conversation {
            for message in turn.iter() {
                conversation.push(message);
            }
        }
        let calls = turn.iter().filter(|own| is_turn(own)).flat_map(Message::calls);
        let is_cached = calls.enumerate().any(|(number, call)| lookup.find(call, number).is_some());
        if is_cached {
            reinject_turn(turn, target, &lookup);
        }
    }
}

/// Looks up the cache entries of one turn.
struct Lookup<'f, F> {
    /// The conversation before the turn, if any call has no id
    conversation: Option<ConversationDigest>,
    find: &'f F,
}

impl<F: Fn(&Call) -> Option<Arc<CachedReasoning>>> Lookup<'_, F> {
    /// The entry of a call, which has a number in the turn.
    fn find(&self, call: &Call, number: usize) -> Option<Arc<CachedReasoning>> {
        match self.conversation.filter(|_| call.id.is_none()) {
            Some(conversation) => (self.find)(&conversation.with_call_id(call, number)),
            None => (self.find)(call),
        }
    }

    /// Whether a call with an id leads to this entry. `find` decides whether its arguments matter.
    fn is_found(&self, call: &Call, cached: &CachedReasoning) -> bool {
        (self.find)(call).is_some_and(|own| std::ptr::eq(own.as_ref(), cached))
    }

    /// Whether a call has the id of a cached call, or may be that call without its id.
    fn has_id(&self, call: &Call, id: &str, cached: &CachedReasoning) -> bool {
        match call.id.as_deref() {
            Some(own) => own == id,
            None => self.conversation.is_some() && self.conversation == cached.conversation,
        }
    }
}

fn is_turn(message: &Message) -> bool {
    message.role == Role::Assistant
}

/// A part, with the index of its message in the turn.
type PartOfMessage = (usize, Part);

/// Reinjects the entries of all replies of a turn.
fn reinject_turn<F: Fn(&Call) -> Option<Arc<CachedReasoning>>>(
    turn: &mut [Message],
    target: &Profile,
    lookup: &Lookup<'_, F>,
) {
    let mut parts: Vec<PartOfMessage> = Vec::new();
    for (at, message) in turn.iter_mut().enumerate() {
        parts.extend(std::mem::take(&mut message.parts).into_iter().map(|part| (at, part)));
    }
    let replies = cached_replies(&parts, lookup);
    let mut parts = parts.into_iter();
    let mut at = 0;
    let mut put = |(at, part): PartOfMessage| turn[at].parts.push(part);
    for (span, cached) in replies {
        parts.by_ref().take(span.start - at).for_each(&mut put);
        let reply = parts.by_ref().take(span.len()).collect();
        Merge::new(&cached, target).parts(reply).into_iter().for_each(&mut put);
        at = span.end;
    }
    parts.for_each(put);
}

/// The replies of a turn that have an entry, with their ranges of parts.
fn cached_replies<F: Fn(&Call) -> Option<Arc<CachedReasoning>>>(
    parts: &[PartOfMessage],
    lookup: &Lookup<'_, F>,
) -> Vec<(Range<usize>, Arc<CachedReasoning>)> {
    let mut replies: Vec<(Range<usize>, Arc<CachedReasoning>)> = Vec::new();
    let (mut at, mut last) = (0, 0);
    let mut number = 0;
    while let Some((_, part)) = parts.get(at) {
        let cached = part.as_call().and_then(|call| lookup.find(call, number));
        let found = cached.and_then(|cached| Some((end(&parts[at..], &cached, lookup)?, cached)));
        let Some((length, cached)) = found else {
            number += usize::from(part.as_call().is_some());
            at += 1;
            continue;
        };
        number += cached.calls().count();
        let start = last + begin(&parts[last..at], &cached);
        at += length;
        last = at;
        replies.push((start..at, cached));
    }
    replies
}

impl CachedReasoning {
    /// Whether the target wrote this, so that it may get it back.
    fn belongs_to(&self, target: &Profile) -> bool {
        if self.signed {
            self.vendor.shares_signatures(target.dialect)
        } else {
            self.vendor == target.dialect && target.reasoning.must_echo
        }
    }
}

/// The end of a reply whose first call is the first part: after its last call, if all calls are there.
fn end<F: Fn(&Call) -> Option<Arc<CachedReasoning>>>(
    parts: &[PartOfMessage],
    cached: &CachedReasoning,
    lookup: &Lookup<'_, F>,
) -> Option<usize> {
    let mut calls = cached.calls().peekable();
    for (at, (_, part)) in parts.iter().enumerate() {
        let Some(call) = part.as_call() else { continue };
        let (id, name, own) = calls.next()?;
        let is_meant = match call.id {
            Some(_) => lookup.is_found(call, cached),
            None => arguments_digest(&call.arguments) == own,
        };
        if !lookup.has_id(call, id, cached) || call.name != name || !is_meant {
            return None;
        }
        if calls.peek().is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// The index at which the texts of a reply begin, among the parts before its first call. The reply has
/// at most as many texts as the vendor sent in any place, because some dialects put all texts before
/// all calls.
fn begin(parts: &[PartOfMessage], cached: &CachedReasoning) -> usize {
    let mut texts =
        cached.parts.iter().filter(|own| matches!(own, CachedPart::Text { .. })).count();
    let mut begin = parts.len();
    for (_, part) in parts.iter().rev() {
        match text_digest(part) {
            Some(_) if texts == 0 => break,
            Some(_) => texts -= 1,
            None if matches!(part.body, Body::Reasoning(_) | Body::Text(_)) => {}
            None => break,
        }
        begin -= 1;
    }
    begin
}

/// Digest of a text that is not empty.
fn text_digest(part: &Part) -> Option<TextDigest> {
    match &part.body {
        Body::Text(text) | Body::Refusal(text) => {
            Some(TextDigest::of(text)).filter(|own| !own.is_empty())
        }
        _ => None,
    }
}

/// Signature and extra fields that a vendor attached to a part.
type Attached<'k> = (Option<&'k Signature>, &'k Extra);

/// A cache entry, sorted by how its parts return.
struct Merge<'k> {
    target: &'k Profile,
    signed: bool,
    has_vendor_fields: bool,
    /// Parts that the target accepts, with the number of texts and calls before them
    complete: Vec<(usize, usize, &'k Part)>,
    texts: Vec<(TextDigest, Attached<'k>)>,
    calls: Vec<Attached<'k>>,
}

impl<'k> Merge<'k> {
    fn new(cached: &'k CachedReasoning, target: &'k Profile) -> Merge<'k> {
        let (signed, has_vendor_fields) = (cached.signed, cached.has_vendor_fields);
        let (complete, texts, calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut own = Merge { target, signed, has_vendor_fields, complete, texts, calls };
        for part in &cached.parts {
            match part {
                CachedPart::Complete(part) if own.accepts(part) => {
                    own.complete.push((own.texts.len(), own.calls.len(), part));
                }
                CachedPart::Complete(_) => {}
                CachedPart::Text { digest, signature, extra } => {
                    own.texts.push((*digest, (signature.as_ref(), extra)));
                }
                CachedPart::Call { signature, extra, .. } => {
                    own.calls.push((signature.as_ref(), extra));
                }
            }
        }
        own
    }

    /// The parts that the client sent, with the cached ones in their places.
    fn parts(mut self, reply: Vec<PartOfMessage>) -> Vec<PartOfMessage> {
        if reply.iter().any(|(_, part)| self.is_returned(part)) {
            self.complete.retain(|(.., part)| !is_reasoning(part));
        }
        let replaces = self.complete.iter().any(|(.., part)| is_reasoning(part));
        let mut complete = self.complete.iter().copied().peekable();
        let mut out: Vec<PartOfMessage> = Vec::with_capacity(reply.len() + self.complete.len());
        let (mut last, mut texts, mut calls) = (0, 0, 0);
        for (at, mut part) in reply {
            // Unsigned reasoning of the client would be refused, or duplicate the cached part.
            if replaces && is_reasoning(&part) {
                continue;
            }
            last = at;
            let is_call = part.as_call().is_some();
            let is_due = |(text, call, _): &(usize, usize, &Part)| {
                *call < calls || (*call == calls && (*text <= texts || is_call))
            };
            while let Some((.., own)) = complete.next_if(is_due) {
                out.push((at, self.original(own)));
            }
            if is_call {
                self.attach(&mut part, self.calls.get(calls).copied());
                calls += 1;
            } else if let Some(digest) = text_digest(&part) {
                // A signature is valid only for the text that was signed.
                let same = self.texts.get(texts).filter(|(own, _)| *own == digest);
                self.attach(&mut part, same.map(|(_, attached)| *attached));
                texts += 1;
            }
            out.push((at, part));
        }
        // Reasoning after the last call led to texts that the client may have moved.
        let rest = complete.filter(|(.., part)| !is_reasoning(part));
        out.extend(rest.map(|(.., part)| (last, self.original(part))));
        out
    }

    fn is_own(&self, signature: Option<&Signature>) -> bool {
        signature.is_some_and(|own| own.dialect.shares_signatures(self.target.dialect))
    }

    /// Whether a part has fields by which the target recognizes it.
    fn is_recognized(&self, part: &Part) -> bool {
        part.extra.for_dialect(self.target.dialect).is_some_and(has_vendor_fields)
    }

    /// Whether the target accepts a part on its own.
    fn accepts(&self, part: &Part) -> bool {
        let rule = self.target.reasoning;
        let signed = self.is_own(part.signature.as_ref());
        let Body::Reasoning(own) = &part.body else { return rule.signature_on_parts && signed };
        let proven = (rule.signature && signed) || self.is_recognized(part);
        let readable = !rule.signed_only && !own.sections.is_empty();
        rule.replay && if own.redacted { rule.redacted && proven } else { proven || readable }
    }

    /// Whether the client returned reasoning in a form that the target accepts.
    fn is_returned(&self, part: &Part) -> bool {
        let Body::Reasoning(own) = &part.body else { return false };
        let readable = !self.signed && !own.sections.is_empty();
        readable || self.is_own(part.signature.as_ref()) || self.is_recognized(part)
    }

    /// A cached part as the target wrote it.
    fn original(&self, part: &Part) -> Part {
        let mut part = Part { origin: Origin::NONE, ..part.clone() };
        if part.extra.for_dialect(self.target.dialect).is_none() {
            part.extra = Extra::NONE;
        }
        part
    }

    /// Restores signature and extra fields of a part, unless the client sent them.
    fn attach(&self, part: &mut Part, attached: Option<Attached<'_>>) {
        let Some((signature, extra)) = attached else { return };
        if self.target.reasoning.signature_on_parts
            && self.is_own(signature)
            && !self.is_own(part.signature.as_ref())
        {
            part.signature = signature.cloned();
        }
        // If the vendor identifies its reasoning, it identifies the parts that follow as well.
        if self.has_vendor_fields
            && part.extra.is_empty()
            && extra.for_dialect(self.target.dialect).is_some()
        {
            part.extra = extra.clone();
        }
    }
}

fn is_reasoning(part: &Part) -> bool {
    matches!(part.body, Body::Reasoning(_))
}
