//! `GET` and `DELETE /v1/responses/{id}`, `GET /v1/responses/{id}/input_items`, and
//! `POST /v1/responses/{id}/cancel`.

use bytes::Bytes;
use http::{HeaderMap, Method};
use toolwright_core::{Fault, Json, object, percent};
use toolwright_runtime::upstream::{ClientCredential, Incoming, Outgoing, Remote};

use super::record::{Content, Record, Stored, item_id};
use super::{Chain, End, ResponseStore};
use crate::fault as reply;
use crate::http::{Reply, ReplyBody, Share};
use crate::key::Client;
use crate::proxy::coalescing::CoalescingBody;
use crate::proxy::endpoint::{filtered, without_key};
use crate::proxy::references::fault;
use crate::proxy::{headers, send};

/// A request for a stored response.
#[derive(Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The response's id
    pub id: String,
    /// The action
    pub action: Action,
    /// The path at the vendor
    path: String,
    /// The query without a credential
    query: String,
}

/// An action on a stored response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Returns it
    Retrieve,
    /// Removes it
    Delete,
    /// Lists its input items
    InputItems,
    /// Cancels it, if it runs in the background
    Cancel,
}

/// The client of a lookup, with its headers, credential and memory.
pub struct Asker<'a> {
    /// The client
    pub client: &'a Client,
    /// Its headers
    pub headers: &'a HeaderMap,
    /// Its credential, for upstreams that it is forwarded to
    pub credential: Option<ClientCredential>,
    /// The memory for what is read
    pub share: Share,
}

impl Lookup {
    /// Creates a lookup of the response with an id, at a vendor's path and query; `None` if it is no id.
    pub fn new(action: Action, id: &str, path: &str, query: Option<&str>) -> Option<Lookup> {
        let id = percent::decode(id);
        if id.contains('/') {
            return None;
        }
        let path = if path.starts_with("/v1/") { path.to_owned() } else { format!("/v1{path}") };
        Some(Lookup { id, action, path, query: query.map(without_key).unwrap_or_default() })
    }

    /// Removes parameters from the query, by unescaped name and value.
    pub fn retain_query(&mut self, is_wanted: impl Fn(&str, &str) -> bool) {
        self.query = filtered(&self.query, is_wanted);
    }

    /// Returns the path at the vendor, with the query.
    fn address(&self) -> String {
        let join = if self.query.is_empty() { "" } else { "?" };
        format!("{}{join}{}", self.path, self.query)
    }

    fn method(&self) -> Method {
        match self.action {
            Action::Retrieve | Action::InputItems => Method::GET,
            Action::Delete => Method::DELETE,
            Action::Cancel => Method::POST,
        }
    }

    fn query(&self) -> impl Iterator<Item = (&str, String)> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.map(|(key, value)| (key, percent::decode(value)))
    }
}

impl ResponseStore {
    /// Answers a lookup. `find` returns an upstream by its id.
    pub async fn answer(
        &self,
        lookup: &Lookup,
        asker: Asker<'_>,
        find: impl Fn(&str) -> Option<Remote>,
    ) -> Result<Reply, Fault> {
        let not_found = || fault::response_not_found(&lookup.id);
        let record = self.response(asker.client, &lookup.id).await?.ok_or_else(not_found)?;
        let content = match record {
            Record { stored: Stored::Content(content), .. } => content,
            Record { stored: Stored::Upstream(upstream), .. } => {
                let remote = find(&upstream).ok_or_else(not_found)?;
                return self.forward(lookup, asker, &remote).await;
            }
        };
        match lookup.action {
            Action::Retrieve => {
                if lookup.query().any(|(key, value)| key == "stream" && value == "true") {
                    let message = "Only a background response can be streamed again. Retrieve it \
                                   without `stream`.";
                    return Err(fault::invalid("stream", message));
                }
                Ok(reply::text(content.response))
            }
            Action::Delete => {
                if !self.remove(asker.client, &lookup.id).await? {
                    return Err(not_found());
                }
                Ok(reply::document(&Json::Object(object! {
                    "id": lookup.id.as_str(), "object": "response", "deleted": true,
                })))
            }
            Action::InputItems => self.input_items(lookup, asker).await,
            Action::Cancel => {
                let message = "Cannot cancel a synchronous response.";
                Err(fault::invalid("background", message))
            }
        }
    }

    /// Sends a lookup to the upstream that has the response.
    async fn forward(
        &self,
        lookup: &Lookup,
        asker: Asker<'_>,
        remote: &Remote,
    ) -> Result<Reply, Fault> {
        let outgoing = Outgoing {
            method: lookup.method(),
            path: lookup.address(),
            headers: headers::onward(asker.headers),
            body: Bytes::new(),
            client: asker.credential,
        };
        let incoming = remote.send(outgoing).await?;
        if !incoming.status.is_success() {
            return Err(send::refusal(remote, incoming).await.fault);
        }
        let Incoming { status, headers, body } = incoming;
        if lookup.action == Action::Delete {
            self.remove(asker.client, &lookup.id).await?;
        }
        let mut reply = Reply::new(ReplyBody::stream(CoalescingBody::new(body)));
        *reply.status_mut() = status;
        *reply.headers_mut() = headers::back(headers);
        Ok(reply)
    }

    /// Lists the input items of a response: those of earlier turns, and its own.
    async fn input_items(&self, lookup: &Lookup, asker: Asker<'_>) -> Result<Reply, Fault> {
        let page = Page::read(lookup)?;
        let mut share = asker.share;
        let Chain { mut contents, end, .. } =
            self.chain(asker.client, &lookup.id, &mut share).await?;
        let last = contents.pop();
        let (Some(last), End::Start) = (last, end) else {
            return Err(fault::response_not_found(&lookup.id));
        };
        let of_turn = |turn: Content| turn.input_items().into_iter().chain(turn.output_items());
        let mut items: Vec<Json> = contents.into_iter().flat_map(of_turn).collect();
        items.extend(last.input_items());
        let document = page.document(items)?;
        Ok(reply::document(&document).map(|body| body.held(share)))
    }
}

/// A page of a list of items.
struct Page {
    limit: usize,
    newest_first: bool,
    after: Option<String>,
}

impl Page {
    fn read(lookup: &Lookup) -> Result<Page, Fault> {
        let mut page = Page { limit: 20, newest_first: true, after: None };
        for (key, value) in lookup.query() {
            match key {
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=100).contains(limit));
                    page.limit = limit.ok_or_else(|| {
                        fault::invalid("limit", "`limit` must be a number from 1 to 100.")
                    })?;
                }
                "order" => {
                    page.newest_first = match &*value {
                        "asc" => false,
                        "desc" => true,
                        _ => return Err(fault::invalid("order", "`order` must be asc or desc.")),
                    };
                }
                "after" => page.after = Some(value),
                _ => {}
            }
        }
        Ok(page)
    }

    fn document(self, mut items: Vec<Json>) -> Result<Json, Fault> {
        if self.newest_first {
            items.reverse();
        }
        if let Some(after) = &self.after {
            let at = items.iter().position(|item| item_id(item) == Some(after));
            let at = at.ok_or_else(|| {
                fault::invalid("after", "`after` must be the id of an item of this list.")
            })?;
            items.drain(..=at);
        }
        let has_more = items.len() > self.limit;
        items.truncate(self.limit);
        let first = items.first().and_then(item_id).map(str::to_owned);
        let last = items.last().and_then(item_id).map(str::to_owned);
        Ok(Json::Object(object! {
            "object": "list",
            "data": Json::Array(items),
            "first_id": first,
            "last_id": last,
            "has_more": has_more,
        }))
    }
}
