//! Captures reasoning that the client's dialect will not return, while a reply is restored.

use toolwright_core::digest::{TextDigest, arguments_digest};
use toolwright_core::event::join::Open;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::part::Signature;
use toolwright_core::profile::{Profile, ReasoningRule};
use toolwright_core::{Arguments, Body, Call, Dialect, Extra, Part};

use crate::reasoning_cache::{CachedPart, CachedReasoning};

/// Captures the parts of one reply, by their index.
#[derive(Debug)]
pub(super) struct ReasoningCapture {
    vendor: Dialect,
    rule: ReasoningRule,
    /// Whether the reply has reasoning
    has_reasoning: bool,
    parts: Vec<CapturedPart>,
    ended: bool,
}

/// What is captured of one part.
#[derive(Debug)]
enum CapturedPart {
    /// Nothing
    Skipped,
    /// Reasoning that still arrives
    OpenReasoning(Open),
    /// Complete reasoning
    Reasoning(Part),
    /// A text; without a digest where nothing depends on it
    Text { digest: Option<TextDigest>, signature: Option<Signature>, extra: Extra },
    /// A call
    Call(Box<CapturedCall>),
}

/// What is captured of a call.
#[derive(Debug, Default)]
struct CapturedCall {
    id: Option<String>,
    name: String,
    /// Whether the client gets it
    is_sent: bool,
    /// The argument text so far
    text: String,
    free: bool,
    /// The arguments as the client got them, if they were restored as one value
    arguments: Option<Arguments>,
    signature: Option<Signature>,
    extra: Extra,
}

impl ReasoningCapture {
    /// Creates a capture for a vendor and a client; `None` if the client's dialect returns all reasoning.
    pub(super) fn new(source: &Profile, client: &Profile) -> Option<Box<ReasoningCapture>> {
        let (made, own) = (source.reasoning, client.reasoning);
        let returns = own.signature
            && (own.signature_on_parts || !made.signature_on_parts)
            && (own.redacted || !made.redacted)
            && source.dialect.shares_signatures(client.dialect);
        let must_echo = made.must_echo && !own.must_echo;
        (must_echo || (made.signature && !returns)).then(|| {
            Box::new(ReasoningCapture {
                vendor: source.dialect,
                rule: made,
                has_reasoning: false,
                parts: Vec::new(),
                ended: false,
            })
        })
    }

    /// Starts a part.
    pub(super) fn start(&mut self, head: &Head, extra: &Extra) {
        let part = match head {
            Head::Text | Head::Refusal => {
                let digest =
                    (self.has_reasoning || self.rule.signature_on_parts).then(TextDigest::default);
                CapturedPart::Text { digest, signature: None, extra: extra.clone() }
            }
            Head::Reasoning => {
                CapturedPart::OpenReasoning(Open::new(Head::Reasoning, extra.clone()))
            }
            Head::Call { free, .. } => {
                let (free, extra) = (*free, extra.clone());
                CapturedPart::Call(Box::new(CapturedCall {
                    free,
                    extra,
                    ..CapturedCall::default()
                }))
            }
            Head::Whole(part) => return self.push(part),
        };
        self.has_reasoning |= matches!(part, CapturedPart::OpenReasoning(_));
        self.parts.push(part);
    }

    /// Adds a complete part.
    pub(super) fn push(&mut self, part: &Part) {
        let (signature, extra) = (part.signature.clone(), part.extra.clone());
        self.has_reasoning |= matches!(part.body, Body::Reasoning(_));
        self.parts.push(match &part.body {
            Body::Text(text) | Body::Refusal(text) => {
                CapturedPart::Text { digest: Some(TextDigest::of(text)), signature, extra }
            }
            Body::Reasoning(_) => CapturedPart::Reasoning(part.clone()),
            Body::Call(_) => CapturedPart::Call(Box::new(CapturedCall {
                signature,
                extra,
                ..CapturedCall::default()
            })),
            _ => CapturedPart::Skipped,
        });
    }

    /// Adds a delta to a part.
    pub(super) fn grow(&mut self, at: usize, delta: &Delta) {
        match (self.parts.get_mut(at), delta) {
            (Some(CapturedPart::OpenReasoning(open)), delta) => open.grow(delta),
            (Some(CapturedPart::Text { digest: Some(digest), .. }), Delta::Text(text)) => {
                digest.push(text);
            }
            (Some(CapturedPart::Call(own)), Delta::Arguments(text)) => own.text.push_str(text),
            _ => {}
        }
    }

    /// Ends a part.
    pub(super) fn end(&mut self, at: usize, tail: &Tail) {
        let Some(part) = self.parts.get_mut(at) else { return };
        let (signature, extra) = match part {
            CapturedPart::Text { signature, extra, .. } => (signature, extra),
            CapturedPart::Call(own) => {
                let CapturedCall { signature, extra, .. } = own.as_mut();
                (signature, extra)
            }
            CapturedPart::OpenReasoning(_) => {
                let open = std::mem::replace(part, CapturedPart::Skipped);
                if let CapturedPart::OpenReasoning(open) = open {
                    *part = CapturedPart::Reasoning(open.close(tail.clone()));
                }
                return;
            }
            CapturedPart::Reasoning(_) | CapturedPart::Skipped => return,
        };
        if tail.signature.is_some() {
            signature.clone_from(&tail.signature);
        }
        extra.update(tail.extra.clone());
    }

    /// Records the name and id under which the client gets a call; its arguments follow.
    pub(super) fn call_restored(&mut self, at: usize, call: &Call) {
        if let Some(CapturedPart::Call(own)) = self.parts.get_mut(at) {
            (own.id, own.name, own.is_sent) = (call.id.clone(), call.name.clone(), true);
        }
    }

    /// Records a complete part as the client gets it.
    pub(super) fn part_restored(&mut self, at: usize, part: &Part) {
        let Body::Call(call) = &part.body else { return };
        self.call_restored(at, call);
        if let Some(CapturedPart::Call(own)) = self.parts.get_mut(at) {
            own.arguments = Some(call.arguments.clone());
        }
    }

    /// Marks the reply as complete; an incomplete reply is not cached.
    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// Takes the entry for the cache.
    pub(super) fn take(&mut self) -> Option<CachedReasoning> {
        let parts = std::mem::take(&mut self.parts);
        let calls = parts.iter().any(|part| matches!(part, CapturedPart::Call(_)));
        if !self.ended || !calls || !parts.iter().any(CapturedPart::is_worth_caching) {
            return None;
        }
        let mut cached = Vec::with_capacity(parts.len());
        for part in parts {
            cached.push(match part {
                CapturedPart::Skipped | CapturedPart::OpenReasoning(_) => continue,
                CapturedPart::Reasoning(part) => CachedPart::Complete(part),
                CapturedPart::Text { digest, signature, extra } => match digest {
                    Some(digest) if digest.is_empty() && signature.is_some() => {
                        CachedPart::Complete(Part { signature, ..Part::text("").with_extra(extra) })
                    }
                    Some(digest) if digest.is_empty() => continue,
                    // An empty digest matches no text.
                    digest => {
                        CachedPart::Text { digest: digest.unwrap_or_default(), signature, extra }
                    }
                },
                CapturedPart::Call(own) if !own.is_sent => continue,
                CapturedPart::Call(own) => own.into_cached()?,
            });
        }
        CachedReasoning::new(self.vendor, &self.rule, cached)
    }
}

impl CapturedPart {
    /// Whether this part alone is a reason to cache a reply; most replies have none.
    fn is_worth_caching(&self) -> bool {
        match self {
            CapturedPart::Reasoning(_) => true,
            CapturedPart::Text { signature, .. } => signature.is_some(),
            CapturedPart::Call(own) => own.signature.is_some(),
            CapturedPart::OpenReasoning(_) | CapturedPart::Skipped => false,
        }
    }
}

impl CapturedCall {
    /// The part for the cache; `None` if the call has no id to be found by.
    fn into_cached(self) -> Option<CachedPart> {
        let arrived = |text| {
            if self.free { Arguments::Free(text) } else { Arguments::from_text(text) }
        };
        let arguments = self.arguments.unwrap_or_else(|| arrived(self.text));
        let (name, signature, extra) = (self.name, self.signature, self.extra);
        Some(CachedPart::Call {
            id: self.id?,
            name,
            arguments_digest: arguments_digest(&arguments),
            signature,
            extra,
        })
    }
}
