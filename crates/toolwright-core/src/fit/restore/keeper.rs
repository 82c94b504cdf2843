//! Gathers what the client's dialect will not bring back of an answer, as the answer passes.

use crate::event::join::Open;
use crate::event::{Delta, Head, Tail};
use crate::keep::{Kept, Piece};
use crate::model::call::{Arguments, Call};
use crate::model::dialect::Dialect;
use crate::model::digest::{TextDigest, arguments_digest};
use crate::model::extra::Extra;
use crate::model::part::{Body, Part, Signature};
use crate::profile::Profile;
use crate::profile::ReasoningRule;

/// Follows the parts of one answer, by their number in it.
#[derive(Debug)]
pub(super) struct Keeper {
    maker: Dialect,
    rule: ReasoningRule,
    /// Whether there is thinking
    thinks: bool,
    parts: Vec<Following>,
    ended: bool,
}

/// A part that is followed.
#[derive(Debug)]
enum Following {
    /// Nothing of it is kept
    Nothing,
    /// Thinking that arrives
    Thinking(Open),
    /// Thinking that is complete
    Thought(Part),
    /// Words that arrive; they are not followed where nothing can depend on them
    Words { words: Option<TextDigest>, signature: Option<Signature>, extra: Extra },
    /// A call that arrives
    Call(Box<Followed>),
}

/// A call that is followed.
#[derive(Debug, Default)]
struct Followed {
    id: Option<String>,
    name: String,
    /// Whether the client is told of it
    told: bool,
    /// What arrived of its arguments
    text: String,
    free: bool,
    /// Its arguments as the client was told them, where they came whole
    arguments: Option<Arguments>,
    signature: Option<Signature>,
    extra: Extra,
}

impl Keeper {
    /// For a vendor and a client; `None` where the client's dialect brings everything back.
    pub(super) fn new(source: &Profile, client: &Profile) -> Option<Box<Keeper>> {
        let (made, own) = (source.reasoning, client.reasoning);
        let returns = own.signature
            && (own.signature_on_parts || !made.signature_on_parts)
            && (own.redacted || !made.redacted)
            && source.dialect.shares_signatures(client.dialect);
        let must_echo = made.must_echo && !own.must_echo;
        (must_echo || (made.signature && !returns)).then(|| {
            Box::new(Keeper {
                maker: source.dialect,
                rule: made,
                thinks: false,
                parts: Vec::new(),
                ended: false,
            })
        })
    }

    /// A part begins.
    pub(super) fn start(&mut self, head: &Head, extra: &Extra) {
        let following = match head {
            Head::Text | Head::Refusal => {
                let words = (self.thinks || self.rule.signature_on_parts).then(TextDigest::default);
                Following::Words { words, signature: None, extra: extra.clone() }
            }
            Head::Reasoning => Following::Thinking(Open::new(Head::Reasoning, extra.clone())),
            Head::Call { free, .. } => {
                let (free, extra) = (*free, extra.clone());
                Following::Call(Box::new(Followed { free, extra, ..Followed::default() }))
            }
            Head::Whole(part) => return self.whole(part),
        };
        self.thinks |= matches!(following, Following::Thinking(_));
        self.parts.push(following);
    }

    /// A part is there whole.
    pub(super) fn whole(&mut self, part: &Part) {
        let (signature, extra) = (part.signature.clone(), part.extra.clone());
        self.thinks |= matches!(part.body, Body::Reasoning(_));
        self.parts.push(match &part.body {
            Body::Text(text) | Body::Refusal(text) => {
                Following::Words { words: Some(TextDigest::of(text)), signature, extra }
            }
            Body::Reasoning(_) => Following::Thought(part.clone()),
            Body::Call(_) => {
                Following::Call(Box::new(Followed { signature, extra, ..Followed::default() }))
            }
            _ => Following::Nothing,
        });
    }

    /// A part grows.
    pub(super) fn grow(&mut self, at: usize, delta: &Delta) {
        match (self.parts.get_mut(at), delta) {
            (Some(Following::Thinking(open)), delta) => open.grow(delta),
            (Some(Following::Words { words: Some(words), .. }), Delta::Text(text)) => {
                words.push(text);
            }
            (Some(Following::Call(own)), Delta::Arguments(text)) => own.text.push_str(text),
            _ => {}
        }
    }

    /// A part is complete.
    pub(super) fn end(&mut self, at: usize, tail: &Tail) {
        let Some(part) = self.parts.get_mut(at) else { return };
        let (signature, extra) = match part {
            Following::Words { signature, extra, .. } => (signature, extra),
            Following::Call(own) => {
                let Followed { signature, extra, .. } = own.as_mut();
                (signature, extra)
            }
            Following::Thinking(_) => {
                let open = std::mem::replace(part, Following::Nothing);
                if let Following::Thinking(open) = open {
                    *part = Following::Thought(open.close(tail.clone()));
                }
                return;
            }
            Following::Thought(_) | Following::Nothing => return,
        };
        if tail.signature.is_some() {
            signature.clone_from(&tail.signature);
        }
        extra.update(tail.extra.clone());
    }

    /// The client is told of a call; its arguments follow.
    pub(super) fn named(&mut self, at: usize, call: &Call) {
        if let Some(Following::Call(own)) = self.parts.get_mut(at) {
            (own.id, own.name, own.told) = (call.id.clone(), call.name.clone(), true);
        }
    }

    /// The client is told of a part that was seen whole.
    pub(super) fn told(&mut self, at: usize, part: &Part) {
        let Body::Call(call) = &part.body else { return };
        self.named(at, call);
        if let Some(Following::Call(own)) = self.parts.get_mut(at) {
            own.arguments = Some(call.arguments.clone());
        }
    }

    /// The answer is complete: a broken one is not worth keeping.
    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// What is to be kept.
    pub(super) fn take(&mut self) -> Option<Kept> {
        let parts = std::mem::take(&mut self.parts);
        let calls = parts.iter().any(|part| matches!(part, Following::Call(_)));
        if !self.ended || !calls || !parts.iter().any(Following::is_worth_keeping) {
            return None;
        }
        let mut pieces = Vec::with_capacity(parts.len());
        for part in parts {
            pieces.push(match part {
                Following::Nothing | Following::Thinking(_) => continue,
                Following::Thought(part) => Piece::Whole(part),
                Following::Words { words, signature, extra } => match words {
                    Some(words) if words.is_empty() && signature.is_some() => {
                        Piece::Whole(Part { signature, ..Part::text("").with_extra(extra) })
                    }
                    Some(words) if words.is_empty() => continue,
                    // Words that nobody followed are nobody's words, and match none.
                    words => Piece::Words { words: words.unwrap_or_default(), signature, extra },
                },
                Following::Call(own) if !own.told => continue,
                Following::Call(own) => own.piece()?,
            });
        }
        Kept::new(self.maker, &self.rule, pieces)
    }
}

impl Following {
    /// Whether this alone is a reason to keep an answer; most answers have none.
    fn is_worth_keeping(&self) -> bool {
        match self {
            Following::Thought(_) => true,
            Following::Words { signature, .. } => signature.is_some(),
            Following::Call(own) => own.signature.is_some(),
            Following::Thinking(_) | Following::Nothing => false,
        }
    }
}

impl Followed {
    /// What is kept of it; `None` if it has no id to be found by.
    fn piece(self) -> Option<Piece> {
        let arrived = |text| {
            if self.free { Arguments::Free(text) } else { Arguments::from_text(text) }
        };
        let arguments = self.arguments.unwrap_or_else(|| arrived(self.text));
        let (name, signature, extra) = (self.name, self.signature, self.extra);
        Some(Piece::Call {
            id: self.id?,
            name,
            sum: arguments_digest(&arguments),
            signature,
            extra,
        })
    }
}
