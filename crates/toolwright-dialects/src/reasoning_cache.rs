//! Reasoning that a client's dialect cannot carry and its vendor expects back: thinking with its
//! signatures.
//!
//! [`restore`](crate::fit::restore) captures it as [`CachedReasoning`] while a reply is translated. The
//! caller stores that under the keys of the reply's calls, and [`reinject`] adds it to the client's
//! next request, as if the client had sent it. Then [`fit`](mod@crate::fit) applies its usual rules.

mod key;
mod record;
mod reinject;

use std::fmt;

use toolwright_core::digest::{ConversationDigest, TextDigest};
use toolwright_core::note::is_note;
use toolwright_core::part::Signature;
use toolwright_core::profile::ReasoningRule;
use toolwright_core::{Body, Dialect, Extra, Part};
use toolwright_json::Object;

pub use key::CallKey;
pub use reinject::reinject;

/// The cached reasoning of one reply: its calls as the client knows them, and the parts around them
/// that the client does not return.
#[derive(Clone, PartialEq, Eq)]
pub struct CachedReasoning {
    /// The dialect of the vendor that wrote the reply
    vendor: Dialect,
    /// Whether the vendor can verify that it wrote this; otherwise it is an echo of plain text
    signed: bool,
    /// Whether parts carry the vendor's own fields, such as an id
    has_vendor_fields: bool,
    /// The parts of the reply, in the vendor's order
    parts: Vec<CachedPart>,
    /// The conversation before the reply, if the client may return its calls without ids
    conversation: Option<ConversationDigest>,
}

/// What is cached of one part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CachedPart {
    /// Reasoning, or an empty text with a signature: the complete part
    Complete(Part),
    /// A text that the client has
    Text { digest: TextDigest, signature: Option<Signature>, extra: Extra },
    /// A call that the client has
    Call {
        id: String,
        name: String,
        arguments_digest: u64,
        signature: Option<Signature>,
        extra: Extra,
    },
}

impl CachedPart {
    fn signature(&self) -> Option<&Signature> {
        match self {
            CachedPart::Complete(part) => part.signature.as_ref(),
            CachedPart::Text { signature, .. } | CachedPart::Call { signature, .. } => {
                signature.as_ref()
            }
        }
    }

    fn has_vendor_fields(&self) -> bool {
        matches!(self, CachedPart::Complete(part)
            if part.extra.fields().is_some_and(has_vendor_fields))
    }

    fn size(&self) -> usize {
        let (text, extra) = match self {
            CachedPart::Complete(part) => (text_size(&part.body), &part.extra),
            CachedPart::Text { extra, .. } => (0, extra),
            CachedPart::Call { id, name, extra, .. } => (id.len() + name.len(), extra),
        };
        let extra = extra.fields().map_or(0, |fields| fields.compact().len());
        let signature = self.signature().map_or(0, |own| own.value.len());
        size_of::<CachedPart>() + text + extra + signature
    }
}

fn text_size(body: &Body) -> usize {
    match body {
        Body::Reasoning(reasoning) => {
            reasoning.sections.iter().map(|own| own.text.len() + size_of_val(own)).sum()
        }
        _ => 0,
    }
}

/// Whether extra fields of a part contain a vendor's own field, such as an id, by which the vendor
/// recognizes the part.
pub(crate) fn has_vendor_fields(fields: &Object) -> bool {
    fields.keys().any(|key| !is_note(key))
}

impl CachedReasoning {
    /// Creates an entry for a reply; `None` if the reply has no call to find it by, or nothing that the
    /// vendor expects back.
    pub(crate) fn new(
        vendor: Dialect,
        rule: &ReasoningRule,
        parts: Vec<CachedPart>,
    ) -> Option<CachedReasoning> {
        let has_vendor_fields = rule.signature && parts.iter().any(CachedPart::has_vendor_fields);
        let signed = has_vendor_fields || parts.iter().any(|own| own.signature().is_some());
        let is_complete = |own: &CachedPart| matches!(own, CachedPart::Complete(_));
        let echoes = rule.must_echo && parts.iter().any(is_complete);
        let cached =
            CachedReasoning { vendor, signed, has_vendor_fields, parts, conversation: None };
        ((signed || echoes) && cached.keys().next().is_some()).then_some(cached)
    }

    /// Sets the conversation before the reply, for clients that may return calls without ids.
    pub(crate) fn with_conversation(
        self,
        conversation: Option<ConversationDigest>,
    ) -> CachedReasoning {
        CachedReasoning { conversation, ..self }
    }

    /// Synthetic ids and keys of the calls, for clients that return calls without ids.
    pub fn keys_without_ids(&self) -> impl Iterator<Item = (String, CallKey)> {
        self.conversation.into_iter().flat_map(|conversation| {
            self.calls().enumerate().map(move |(number, (_, name, arguments))| {
                let id = conversation.call_id(number);
                let key = CallKey::new(&id, name, arguments);
                (id, key)
            })
        })
    }

    /// A key for each call.
    pub fn keys(&self) -> impl Iterator<Item = CallKey> {
        self.calls().map(|(id, name, arguments)| CallKey::new(id, name, arguments))
    }

    /// A key that ignores the arguments, for each call whose id identifies it.
    pub fn keys_without_arguments(&self) -> impl Iterator<Item = CallKey> {
        self.calls().filter_map(|(id, name, _)| CallKey::from_id(id, name))
    }

    /// The ids of the calls, which tell most other calls apart before a key is computed.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.calls().map(|(id, ..)| id)
    }

    /// Id, name and argument digest of each call.
    fn calls(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.parts.iter().filter_map(|part| match part {
            CachedPart::Call { id, name, arguments_digest, .. } => {
                Some((id.as_str(), name.as_str(), *arguments_digest))
            }
            CachedPart::Complete(_) | CachedPart::Text { .. } => None,
        })
    }

    /// Approximate memory in bytes.
    pub fn size(&self) -> usize {
        size_of::<CachedReasoning>() + self.parts.iter().map(CachedPart::size).sum::<usize>()
    }
}

/// Omits the reasoning, so that it does not reach a log.
impl fmt::Debug for CachedReasoning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut own = formatter.debug_struct("CachedReasoning");
        own.field("vendor", &self.vendor).field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}
