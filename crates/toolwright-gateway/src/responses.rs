//! Stored responses of the Responses API, to which clients refer by id.
//!
//! A response that the gateway encoded is stored with the input of its request, so that
//! `previous_response_id` and `item_reference` work with every upstream. For a response that passed
//! through unchanged and that the vendor has stored, only its ids and its upstream are stored:
//! requests that refer to it are sent there.
//!
//! | file | content |
//! |---|---|
//! | [`resolve`] | replaces references by the items that they refer to |
//! | [`capture`] | stores finished responses |
//! | [`routes`] | `GET` and `DELETE /v1/responses/{id}`, and its input items |
//! | [`record`] | the stored form |
//!
//! What a request refers to is read by [`proxy::references`](crate::proxy::references), which every exchange
//! uses.

pub mod capture;
pub mod config;
pub mod record;
pub mod resolve;
pub mod routes;

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use toolwright_core::{Fault, FaultClass};
use toolwright_runtime::store::StoreError;
use toolwright_runtime::store::expiring::{Entry, ExpiringStore, Outcome, Scope};

use self::config::ResponseSettings;
use crate::conversation::ConversationId;
use crate::http::Share;
use crate::key::Client;
use crate::proxy::weight::weight;
use record::{Content, Record, Stored};

/// The kind of the entries.
const KIND: &str = "response";

/// The stored responses of all clients, separate for each client.
#[derive(Debug)]
pub struct ResponseStore {
    store: Arc<ExpiringStore>,
    settings: Mutex<ResponseSettings>,
}

/// A response and its predecessors.
pub struct Chain {
    /// Their content, oldest first
    pub contents: Vec<Content>,
    /// How the chain ends
    pub end: End,
    /// The conversation of the response
    pub conversation: Option<ConversationId>,
}

/// How a chain of responses ends.
pub enum End {
    /// At the first response of a conversation
    Start,
    /// At a response that an upstream has stored: the upstream and the id
    Upstream(String, String),
    /// At a response that is not stored
    Missing,
}

impl ResponseStore {
    /// Creates the responses in a store.
    pub fn new(store: Arc<ExpiringStore>, settings: ResponseSettings) -> ResponseStore {
        ResponseStore { store, settings: Mutex::new(settings) }
    }

    /// Changes the settings. Stored responses keep their lifetime.
    pub fn configure(&self, settings: ResponseSettings) {
        *self.settings.lock() = settings;
    }

    fn settings(&self) -> ResponseSettings {
        *self.settings.lock()
    }

    /// Waits until all responses are written.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.store.flush().await
    }

    /// Stores a response of a client under its id and the ids of its output items.
    fn put(&self, client: &Client, record: &Record, items: Vec<String>) {
        let settings = self.settings();
        if !settings.store {
            return;
        }
        let entry = Entry { name: record.id.clone(), aliases: items, value: record.write() };
        self.store.put(&scope(client), entry, settings.limits, |done| match done {
            Ok(Outcome::Stored) => {}
            Ok(Outcome::TooLarge) => {
                tracing::warn!("a response is larger than responses.max_bytes and was not stored");
            }
            Err(error) => tracing::warn!("a response was not stored: {error}"),
        });
    }

    /// Finds a response of a client by its id.
    async fn response(&self, client: &Client, id: &str) -> Result<Option<Record>, Fault> {
        Ok(self.find(client, id).await?.filter(|record| record.id == id))
    }

    /// Finds a response of a client by its id or by the id of one of its output items.
    async fn find(&self, client: &Client, id: &str) -> Result<Option<Record>, Fault> {
        let value = self.store.get(&scope(client), id).await.map_err(|error| unreadable(&error))?;
        let Some(value) = value else { return Ok(None) };
        let record = Record::read(&value);
        if record.is_none() {
            tracing::warn!("a stored response has a form that this version does not read");
        }
        Ok(record)
    }

    /// Removes a response of a client.
    async fn remove(&self, client: &Client, id: &str) -> Result<bool, Fault> {
        self.store.remove(&scope(client), id).await.map_err(|error| unreadable(&error))
    }

    /// Returns a response and its stored predecessors. The share reserves memory for them.
    async fn chain(&self, client: &Client, id: &str, share: &mut Share) -> Result<Chain, Fault> {
        let (mut contents, mut size) = (Vec::new(), 0);
        let mut seen = HashSet::new();
        let mut next = Some(id.to_owned());
        let mut end = End::Start;
        let mut conversation = None;
        while let Some(id) = next {
            next = None;
            // A vendor may repeat an id, which could make the chain cyclic.
            if !seen.insert(id.clone()) {
                end = End::Missing;
                break;
            }
            let Some(record) = self.response(client, &id).await? else {
                end = End::Missing;
                break;
            };
            conversation = conversation.or(record.conversation);
            match record.stored {
                Stored::Upstream(upstream) => end = End::Upstream(record.id, upstream),
                Stored::Content(content) => {
                    size += weight(content.response.as_bytes()) + weight(content.input.as_bytes());
                    share.reach(size, usize::MAX).await?;
                    next.clone_from(&content.previous);
                    contents.push(content);
                }
            }
        }
        contents.reverse();
        Ok(Chain { contents, end, conversation })
    }
}

fn scope(client: &Client) -> Scope {
    Scope { owner: client.name().into(), kind: KIND }
}

fn unreadable(error: &StoreError) -> Fault {
    tracing::warn!("the response store cannot be read: {error}");
    let message = "The response store cannot be read now. The gateway's log says why.";
    Fault::new(FaultClass::Internal, message)
}
