//! Stores finished responses.
//!
//! A response is stored before its last bytes are sent, so that the client's next request finds it.
//! A stream that fails or that the client abandons is not stored.

use std::sync::Arc;

use toolwright_core::Json;
use toolwright_core::json::{Member, peek};
use toolwright_dialects::frame::{Frame, FrameReader, Framing};

use super::ResponseStore;
use super::record::{Content, Record, Stored, item_id, output_items};
use crate::conversation::ConversationId;
use crate::proxy::capture::{Capture, PassingCapture};
use crate::proxy::inbound::InboundRequest;

/// Stores the response to one request.
#[derive(Clone)]
pub struct ResponseCapture {
    store: Arc<ResponseStore>,
    inbound: Arc<InboundRequest>,
    conversation: Option<ConversationId>,
}

impl Capture for ResponseCapture {
    fn set_conversation(&mut self, conversation: ConversationId) {
        self.conversation = Some(conversation);
    }

    fn answer(&self, response: &str) {
        let Some((id, items)) = ids(response, &["completed", "incomplete"]) else { return };
        let content = Content {
            response: response.to_owned(),
            input: String::from_utf8_lossy(&self.inbound.state.input).into_owned(),
            previous: self.inbound.state.previous.clone(),
        };
        let record = Record {
            id,
            conversation: self.conversation.clone(),
            stored: Stored::Content(content),
        };
        self.store.put(&self.inbound.client, &record, items);
    }

    fn end_of_stream(&self, bytes: &[u8]) {
        let mut frames = Vec::new();
        if FrameReader::new(Framing::Sse).push(bytes, &mut frames).is_err() {
            return;
        }
        if let Some(response) = frames.iter().rev().find_map(|frame| response(frame, &ENDS)) {
            self.answer(response);
        }
    }

    fn passing(&self, upstream: &str) -> Box<dyn PassingCapture> {
        let (capture, frames) = (self.clone(), FrameReader::new(Framing::Sse));
        Box::new(PassingResponse { capture, upstream: upstream.into(), frames })
    }
}

impl ResponseCapture {
    /// Creates the capture of a request, if its response is to be stored.
    pub fn of(
        store: Arc<ResponseStore>,
        inbound: &Arc<InboundRequest>,
    ) -> Option<Box<dyn Capture>> {
        let (inbound, conversation) = (Arc::clone(inbound), inbound.conversation.clone());
        let is_stored = inbound.state.store;
        is_stored.then(|| Box::new(ResponseCapture { store, inbound, conversation }) as Box<_>)
    }

    /// Stores which upstream has a response that passed through.
    fn passed(&self, upstream: &str, id: String, items: Vec<String>) {
        let record = Record {
            id,
            conversation: self.conversation.clone(),
            stored: Stored::Upstream(upstream.to_owned()),
        };
        self.store.put(&self.inbound.client, &record, items);
    }
}

/// Observes a response that passes through. If the upstream has stored it, its ids are stored, otherwise its content.
struct PassingResponse {
    capture: ResponseCapture,
    upstream: Arc<str>,
    frames: FrameReader,
}

impl PassingCapture for PassingResponse {
    /// The id of the response is stored as soon as it is known, the ids of its items at the end.
    fn observe_chunk(&mut self, bytes: &[u8]) {
        let mut frames = Vec::new();
        // Unreadable bytes pass through nevertheless.
        let _read = self.frames.push(bytes, &mut frames);
        for frame in &frames {
            let response =
                response(frame, &["response.created"]).or_else(|| response(frame, &ENDS));
            if let Some(response) = response {
                self.observe_response(response.as_bytes());
            }
        }
    }

    fn observe_response(&self, response: &[u8]) {
        let Ok(response) = std::str::from_utf8(response) else { return };
        if !is_stored(response) {
            self.capture.answer(response);
        } else if let Some((id, items)) = ids(response, &[]) {
            self.capture.passed(&self.upstream, id, items);
        }
    }
}

/// The events that end a response.
const ENDS: [&str; 3] = ["response.completed", "response.incomplete", "response.failed"];

/// Returns the response in a frame, if its event is one of these.
fn response<'f>(frame: &'f Frame, events: &[&str]) -> Option<&'f str> {
    let named = |name: &str| events.contains(&name);
    if frame.name.as_deref().is_some_and(|name| !named(name)) {
        return None;
    }
    let [kind, response] = peek(frame.data.as_bytes(), &["type", "response"]).ok()?;
    kind.as_ref().and_then(Member::as_str).filter(|kind| named(kind))?;
    Some(response?.text())
}

/// Whether the upstream declares that it has stored a response. Servers without state send `false`
/// or nothing.
fn is_stored(response: &str) -> bool {
    let [store] = peek(response.as_bytes(), &["store"]).unwrap_or_default();
    store.and_then(|store| store.as_bool()) == Some(true)
}

/// Returns the id of a response and the ids of its output items, if its status is in the list or
/// the list is empty.
fn ids(response: &str, statuses: &[&str]) -> Option<(String, Vec<String>)> {
    let [id, status] = peek(response.as_bytes(), &["id", "status"]).ok()?;
    let id = id?.as_str().filter(|id| !id.is_empty())?.into_owned();
    let status = status.as_ref().and_then(Member::as_str).unwrap_or_default();
    if !statuses.is_empty() && !statuses.contains(&&*status) {
        return None;
    }
    let items: Vec<Json> = output_items(response);
    Some((id, items.iter().filter_map(item_id).map(str::to_owned).collect()))
}
