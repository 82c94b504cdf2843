//! The identity of a conversation: the scope of state that outlives a request, such as handles and calls
//! that wait for approval.
//!
//! A request belongs to the first of these:
//!
//! | evidence | conversation |
//! |---|---|
//! | header `toolwright-conversation` | the one that it names |
//! | `previous_response_id` of the Responses API | that of the previous response |
//! | ids of calls in its messages | the one in which the gateway returned these calls to the client |
//! | the id of an approval in a reply that the client returns | the one of the approval |
//! | none | a new one, if the gateway runs tools for the request |
//!
//! The reply names the conversation in the same header. Names are separate for each tenant.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use toolwright_core::{Fault, Message, Request};
use toolwright_mcp::protocol::meta;
use toolwright_runtime::Session;
use toolwright_runtime::store::expiring::{Entry, ExpiringStore, Limits, Scope};

use crate::fault;
use crate::key::Client;
use crate::telemetry::RequestId;

/// The header that names the conversation, in requests and replies.
pub const HEADER: HeaderName = HeaderName::from_static(meta::CONVERSATION);

/// The kind of the entries in the store.
const KIND: &str = "conversation";

/// How long the state of a conversation is stored after its last use.
pub const LIFETIME: Duration = Duration::from_hours(24);

/// Limits of the known call ids of one client.
const LIMITS: Limits = Limits { lifetime: LIFETIME, bytes: 16 << 20, entries: 10_000 };

/// Maximum number of call ids of a request that are looked up, the latest first.
const MAX_LOOKUPS: usize = 16;

/// The value of a call id that several conversations have. It is no name.
const AMBIGUOUS: &[u8] = b"";

/// The name of a conversation: letters, digits and `-_.:`, unique in its tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationId(Arc<str>);

/// The text is not the name of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a conversation is named by 1 to 128 letters, digits and the characters -_.:")]
pub struct InvalidConversation;

impl ConversationId {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<ConversationId, InvalidConversation> {
        if Session::is_conversation_name(text) {
            Ok(ConversationId(text.into()))
        } else {
            Err(InvalidConversation)
        }
    }

    /// Creates a conversation that begins with a request. Its name cannot be guessed.
    pub fn begin(request: RequestId) -> ConversationId {
        let hash = blake3::hash(format!("conversation {request}").as_bytes()).to_hex();
        ConversationId(format!("conv_{}", &hash[..32]).into())
    }

    /// Reads the header of a request.
    pub fn named(headers: &HeaderMap) -> Result<Option<ConversationId>, Fault> {
        let Some(value) = headers.get(HEADER) else { return Ok(None) };
        let parsed = value.to_str().map_err(|_| InvalidConversation).and_then(Self::parse);
        parsed.map(Some).map_err(|error| {
            let message = format!(
                "The header `{HEADER}` is invalid: {error}. Send the value of an earlier reply, or \
                 leave the header out to begin a conversation."
            );
            fault::invalid(HEADER.as_str(), message)
        })
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name for shared use.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// Returns the header of a reply.
    pub fn header(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(&*self.0).ok()
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The conversations in which the gateway returned calls to its clients, by the ids of the calls.
#[derive(Debug)]
pub struct Conversations {
    store: Arc<ExpiringStore>,
}

impl Conversations {
    /// Creates the conversations in a store.
    pub fn new(store: Arc<ExpiringStore>) -> Conversations {
        Conversations { store }
    }

    /// Remembers the conversation of calls that a client has to answer. An id that belongs to another
    /// conversation as well identifies neither: some models write the same ids in every conversation.
    pub async fn remember(&self, client: &str, conversation: &ConversationId, calls: Vec<String>) {
        let (scope, own) = (scope(client), conversation.as_str().as_bytes());
        for name in calls.into_iter().take(MAX_LOOKUPS) {
            let known = self.store.get(&scope, &name).await;
            let is_own = !matches!(&known, Ok(Some(known)) if known != own);
            let value = if is_own { own.to_vec() } else { AMBIGUOUS.to_vec() };
            self.store.put(&scope, Entry { name, aliases: Vec::new(), value }, LIMITS, |done| {
                if let Err(error) = done {
                    tracing::warn!("the conversation of calls was not stored: {error}");
                }
            });
        }
    }

    /// Returns the conversation of the latest call of a request that identifies one. A store that cannot
    /// be read knows none.
    pub async fn find(&self, client: &Client, request: &Request) -> Option<ConversationId> {
        let calls = request.messages.iter().rev().flat_map(Message::calls);
        for id in calls.filter_map(|call| call.id.as_deref()).take(MAX_LOOKUPS) {
            match self.store.get(&scope(client.name()), id).await {
                Ok(known) => {
                    let name = known.and_then(|known| String::from_utf8(known).ok());
                    if let Some(Ok(found)) = name.as_deref().map(ConversationId::parse) {
                        return Some(found);
                    }
                }
                Err(error) => {
                    tracing::warn!("the conversation of calls cannot be read: {error}");
                    return None;
                }
            }
        }
        None
    }
}

fn scope(client: &str) -> Scope {
    Scope { owner: client.into(), kind: KIND }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Option<ConversationId> {
        ConversationId::parse(name).ok()
    }

    #[test]
    fn names_are_short_and_plain() {
        for name in ["a", "conv_1", "user-7:thread.2", &"x".repeat(128)] {
            assert_eq!(id(name).as_ref().map(ConversationId::as_str), Some(name));
        }
        for name in ["", " a", "a b", "a/b", "会话", "a\n", &"x".repeat(129)] {
            assert_eq!(id(name), None, "{name:?}");
        }
        let (one, two) = (RequestId::random(), RequestId::random());
        assert_ne!(ConversationId::begin(one), ConversationId::begin(two));
        assert!(id(ConversationId::begin(one).as_str()).is_some());
    }
}
