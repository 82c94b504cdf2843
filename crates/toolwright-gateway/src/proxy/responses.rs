//! The state of the Responses API: answers that clients refer to by id.
//!
//! A response that the gateway wrote is stored with the input that it answers, so that
//! `previous_response_id` and `item_reference` work with every upstream. Of a response that passed
//! through unchanged, and of which the vendor says that it has stored it, only its ids and its upstream
//! are stored: requests that refer to it go there.
//!
//! | file | content |
//! |---|---|
//! | [`state`] | the members of a request that refer to stored state, and which upstreams can resolve them |
//! | [`resolve`] | references replaced by the items they stand for |
//! | [`capture`] | a finished answer on its way into the store |
//! | [`lookup`] | `GET` and `DELETE /v1/responses/{id}`, and its input items |
//! | [`record`] | the stored form |
//! | [`fault`] | OpenAI's errors |

pub mod capture;
pub mod fault;
pub mod lookup;
pub mod record;
pub mod resolve;
pub mod state;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use toolwright::store::StoreError;
use toolwright::store::expiring::{Entry, ExpiringStore, Outcome, Scope};
use toolwright_core::{Fault, FaultClass};

use crate::config::Responses;
use crate::http::Share;
use crate::key::Client;
use crate::proxy::weight::weight;
use record::{Content, Record, Stored};

/// The kind of the entries.
const KIND: &str = "response";

/// Responses of all clients, each client's apart.
#[derive(Debug)]
pub struct ResponseStore {
    store: Arc<ExpiringStore>,
    settings: RwLock<Responses>,
}

/// A response and those before it.
pub struct Chain {
    /// Their content, the oldest first
    pub contents: Vec<Content>,
    /// Where the chain ends, if not with its first response
    pub end: End,
}

/// Where a chain of responses ends.
pub enum End {
    /// With the first response of a conversation
    Start,
    /// With a response, by its id, that an upstream has
    Upstream(String, String),
    /// With a response that is not stored
    Missing,
}

impl ResponseStore {
    /// Responses in a store.
    pub fn new(store: Arc<ExpiringStore>, settings: Responses) -> ResponseStore {
        ResponseStore { store, settings: RwLock::new(settings) }
    }

    /// Applies other settings from now on. What is stored keeps the lifetime that it began with.
    pub fn configure(&self, settings: Responses) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    fn settings(&self) -> Responses {
        *self.settings.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything is written.
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
                tracing::warn!("a response is larger than responses.bytes and was not stored");
            }
            Err(error) => tracing::warn!("a response was not stored: {error}"),
        });
    }

    /// A response of a client by its id.
    async fn response(&self, client: &Client, id: &str) -> Result<Option<Record>, Fault> {
        Ok(self.find(client, id).await?.filter(|record| record.id == id))
    }

    /// A response of a client by its id or by the id of one of its output items.
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

    /// A response and those before it, as far as they are stored here. A share makes room for what
    /// is made of them.
    async fn chain(&self, client: &Client, id: &str, share: &mut Share) -> Result<Chain, Fault> {
        let (mut contents, mut size) = (Vec::new(), 0);
        let mut seen = HashSet::new();
        let mut next = Some(id.to_owned());
        let mut end = End::Start;
        while let Some(id) = next {
            next = None;
            // A vendor may give an id twice: then a chain could lead back to itself.
            if !seen.insert(id.clone()) {
                end = End::Missing;
                break;
            }
            match self.response(client, &id).await? {
                None => end = End::Missing,
                Some(Record { id, stored: Stored::Upstream(upstream) }) => {
                    end = End::Upstream(id, upstream);
                }
                Some(Record { stored: Stored::Content(content), .. }) => {
                    size += weight(content.response.as_bytes()) + weight(content.input.as_bytes());
                    share.reach(size, usize::MAX).await?;
                    next.clone_from(&content.previous);
                    contents.push(content);
                }
            }
        }
        contents.reverse();
        Ok(Chain { contents, end })
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
