//! Turns that a client did not see, until it comes back with the outcomes of its own calls.
//!
//! A run for a client ends when the model calls one of the client's tools. What the model and the
//! gateway's tools said before that, and beside it, is held by the ids of those calls, and put back
//! into the client's next request, so that the model finds its own conversation. What nobody asked
//! for in a while is forgotten; then the conversation is still legal, and the model knows less.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolwright::bounded::BoundedMap;
use toolwright_core::part::Body;
use toolwright_core::{Message, Part, Request, Role};

/// The most bytes that are held, about.
const BYTES: usize = 64 << 20;

/// How long turns are held that nobody asks for.
const AGE: Duration = Duration::from_hours(1);

/// What is held for all clients.
#[derive(Debug, Default)]
pub struct Hold(Mutex<Store>);

/// Turns by client and the id of the first call that it has to answer.
type Store = BoundedMap<(Arc<str>, String), Arc<Turns>, Instant>;

/// Turns of one run.
#[derive(Debug)]
struct Turns {
    /// The calls that the client has to answer
    calls: Vec<String>,
    /// All that was said, the answer with these calls last but for the outcomes beside them
    messages: Vec<Message>,
}

impl Hold {
    /// Holds the turns of a run that ended with calls for a client.
    pub fn remember(&self, client: &str, calls: Vec<String>, messages: Vec<Message>, now: Instant) {
        let Some(first) = calls.first().cloned() else { return };
        let size = messages.iter().flat_map(|own| &own.parts).map(weight).sum();
        if size > BYTES / 8 {
            return;
        }
        let key = (Arc::from(client), first);
        let mut store = self.store();
        store.insert(key, Arc::new(Turns { calls, messages }), size, now + AGE);
        store.trim(now, usize::MAX, BYTES);
    }

    /// Puts what is held for a client back into its request.
    pub fn recall(&self, client: &str, request: &mut Request, now: Instant) {
        {
            let mut store = self.store();
            store.trim(now, usize::MAX, BYTES);
            if store.is_empty() {
                return;
            }
        }
        let client: Arc<str> = client.into();
        let said = std::mem::take(&mut request.messages);
        let of_model = |message: &Message| message.role == Role::Assistant;
        // A client may say one turn in several messages.
        for turn in said.chunk_by(|one, next| of_model(one) && of_model(next)) {
            let ids: Vec<&str> =
                turn.iter().flat_map(Message::calls).filter_map(|own| own.id.as_deref()).collect();
            let held = ids.iter().find_map(|id| self.find(&client, id)).filter(|held| {
                let known: HashSet<&str> = held.calls.iter().map(String::as_str).collect();
                known.len() == ids.len() && ids.iter().all(|id| known.contains(id))
            });
            match held {
                Some(held) => request.messages.extend(held.messages.iter().cloned()),
                None => request.messages.extend(turn.iter().cloned()),
            }
        }
    }

    fn find(&self, client: &Arc<str>, id: &str) -> Option<Arc<Turns>> {
        self.store().get(&(Arc::clone(client), id.to_owned())).cloned()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes of memory a part takes.
fn weight(part: &Part) -> usize {
    let own = match &part.body {
        Body::Text(text) | Body::Refusal(text) => text.len(),
        Body::Json(value) => value.compact().len(),
        Body::Reasoning(reasoning) => reasoning.sections.iter().map(|own| own.text.len()).sum(),
        Body::Call(call) => call.arguments.as_str().len(),
        Body::Outcome(outcome) => outcome.content.iter().map(weight).sum(),
        Body::Opaque(opaque) => opaque.value.compact().len(),
        Body::Media(_) => 1 << 16,
    };
    let signature = part.signature.as_ref().map_or(0, |own| own.value.len());
    size_of::<Part>() + own + signature
}
