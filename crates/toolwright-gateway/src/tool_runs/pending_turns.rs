//! Turns of a run that the client did not see, stored until it sends the outcomes of its own calls.
//!
//! A run ends when the model calls one of the client's tools. The turns before that call, and the
//! outcomes beside it, are stored by the ids of those calls and inserted into the next request of the
//! conversation, so that the model sees the whole of it. If they have expired, the request is still valid
//! but lacks these turns.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolwright_core::{Body, Message, Part, Request, Role};
use toolwright_runtime::bounded::BoundedMap;

/// Maximum size of all pending turns, in bytes of memory, approximately.
const MAX_BYTES: usize = 64 << 20;

/// Time after which pending turns expire.
const AGE: Duration = Duration::from_hours(1);

/// The pending turns of all clients.
#[derive(Debug, Default)]
pub struct PendingTurns(Mutex<Store>);

/// Pending turns by client, conversation, and id of the first call that the client has to answer. Some
/// models write the same ids in every conversation.
type Store = BoundedMap<(Arc<str>, Arc<str>, String), Arc<Turns>, Instant>;

/// A client and a conversation.
type TurnScope<'s> = (&'s str, &'s str);

/// The pending turns of one run.
#[derive(Debug)]
struct Turns {
    /// The calls that the client has to answer
    calls: Vec<String>,
    /// The messages of the run; the reply with these calls is the last, except for outcomes beside them
    messages: Vec<Message>,
}

impl PendingTurns {
    /// Stores the turns of a run that ended with calls for the client.
    pub fn remember(
        &self,
        (client, conversation): TurnScope<'_>,
        calls: Vec<String>,
        messages: Vec<Message>,
        now: Instant,
    ) {
        let Some(first) = calls.first().cloned() else { return };
        let size = messages.iter().flat_map(|own| &own.parts).map(weight).sum();
        if size > MAX_BYTES / 8 {
            return;
        }
        let key = (client.into(), conversation.into(), first);
        let mut store = self.0.lock();
        store.insert(key, Arc::new(Turns { calls, messages }), size, now + AGE);
        store.trim(now, usize::MAX, MAX_BYTES);
    }

    /// Inserts the pending turns of a conversation into a request.
    pub fn recall(
        &self,
        (client, conversation): TurnScope<'_>,
        request: &mut Request,
        now: Instant,
    ) {
        {
            let mut store = self.0.lock();
            store.trim(now, usize::MAX, MAX_BYTES);
            if store.is_empty() {
                return;
            }
        }
        let scope: (Arc<str>, Arc<str>) = (client.into(), conversation.into());
        let said = std::mem::take(&mut request.messages);
        let of_model = |message: &Message| message.role == Role::Assistant;
        // A client may split one turn into several messages.
        for turn in said.chunk_by(|one, next| of_model(one) && of_model(next)) {
            let ids: Vec<&str> =
                turn.iter().flat_map(Message::calls).filter_map(|own| own.id.as_deref()).collect();
            let held = ids.iter().find_map(|id| self.find(&scope, id)).filter(|held| {
                let known: HashSet<&str> = held.calls.iter().map(String::as_str).collect();
                known.len() == ids.len() && ids.iter().all(|id| known.contains(id))
            });
            match held {
                Some(held) => request.messages.extend(held.messages.iter().cloned()),
                None => request.messages.extend(turn.iter().cloned()),
            }
        }
    }

    fn find(&self, (client, own): &(Arc<str>, Arc<str>), id: &str) -> Option<Arc<Turns>> {
        self.0.lock().get(&(Arc::clone(client), Arc::clone(own), id.to_owned())).cloned()
    }
}

/// The approximate size of a part, in bytes of memory.
fn weight(part: &Part) -> usize {
    let own = match &part.body {
        Body::Text(text) | Body::Refusal(text) => text.len(),
        Body::Json(value) => value.weight(),
        Body::Reasoning(reasoning) => reasoning.sections.iter().map(|own| own.text.len()).sum(),
        Body::Call(call) => call.arguments.as_str().len(),
        Body::Outcome(outcome) => outcome.content.iter().map(weight).sum(),
        Body::Opaque(opaque) => opaque.value.weight(),
        Body::Media(_) => 1 << 16,
    };
    let signature = part.signature.as_ref().map_or(0, |own| own.value.len());
    size_of::<Part>() + own + signature
}
