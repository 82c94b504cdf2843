//! Replaces references by the items that they refer to, before a request is translated.
//!
//! `previous_response_id` becomes the input and output of the stored responses, before the
//! request's own input; an `item_reference` becomes its item. References to state of an upstream
//! stay, for that upstream.

use std::collections::HashSet;

use bytes::Bytes;
use toolwright_core::{Fault, Json, wire_json};

use super::record::{Stored, input_items, is_reference, item_id, output_items};
use super::{Chain, End, ResponseStore};
use crate::http::Share;
use crate::key::Client;
use crate::proxy::inbound::InboundRequest;
use crate::proxy::references::fault;
use crate::proxy::weight::weight;

/// The target of a reference.
enum Target {
    Item(Json),
    Upstream(String),
    Nowhere,
}

impl ResponseStore {
    /// Replaces the references of a request. Unresolved references are recorded in its state,
    /// because the upstream decides whether they are an error.
    pub async fn resolve(
        &self,
        inbound: &mut InboundRequest,
        mut share: Share,
    ) -> Result<(), Fault> {
        if inbound.state.previous.is_none() && !inbound.state.may_refer {
            return Ok(());
        }
        let mut previous = inbound.state.previous.clone();
        let mut items = Vec::new();
        if let Some(id) = &previous {
            let Chain { contents, end, conversation } =
                self.chain(&inbound.client, id, &mut share).await?;
            inbound.conversation = inbound.conversation.take().or(conversation);
            let otherwise = fault::previous_not_found(id);
            match end {
                End::Start => previous = None,
                End::Upstream(first, upstream) => {
                    previous = Some(first);
                    inbound.state.needs(upstream, otherwise);
                }
                // A conversation with a gap is not usable.
                End::Missing => {
                    inbound.state.misses(otherwise);
                    return Ok(());
                }
            }
            for content in contents {
                items.extend(input_items(&content.input));
                items.extend(content.output_items());
            }
        }
        let input = std::str::from_utf8(&inbound.state.input).unwrap_or_default();
        let mut own = input_items(input);
        let mut edited = !items.is_empty();
        if inbound.state.may_refer {
            let resolved = self.replace_references(inbound, &items, &mut own, &mut share).await?;
            edited |= !resolved.is_empty();
            inbound.state.input = Bytes::from(Json::Array(own.clone()).compact());
            for at in resolved {
                forget_id(&mut own[at]);
            }
        }
        if !edited {
            return Ok(());
        }
        items.iter_mut().for_each(forget_id);
        items.extend(own);
        share.reach(weight(&inbound.body), usize::MAX).await?;
        let Ok(Json::Object(mut body)) = wire_json::parse_bytes(&inbound.body) else {
            return Ok(());
        };
        body.insert("input", Json::Array(items));
        body.remove("previous_response_id");
        body.insert_some("previous_response_id", previous);
        inbound.edit(share.hold(Bytes::from(Json::Object(body).compact())));
        Ok(())
    }

    /// Replaces references in the items of a request, after earlier items. Returns the ids of the
    /// replaced ones.
    async fn replace_references(
        &self,
        inbound: &mut InboundRequest,
        before: &[Json],
        items: &mut [Json],
        share: &mut Share,
    ) -> Result<Vec<usize>, Fault> {
        let mut known: HashSet<String> =
            before.iter().filter_map(item_id).map(str::to_owned).collect();
        let mut replaced = Vec::new();
        for (at, item) in items.iter_mut().enumerate() {
            let Some(id) = item_id(item).map(str::to_owned) else { continue };
            if !known.insert(id.clone()) {
                return Err(fault::duplicate_item(&id));
            }
            if !is_reference(item) {
                continue;
            }
            match self.item(&inbound.client, &id, share).await? {
                Target::Item(own) => {
                    *item = own;
                    replaced.push(at);
                }
                Target::Upstream(upstream) => {
                    inbound.state.needs(upstream, fault::item_not_found(&id));
                }
                Target::Nowhere => inbound.state.misses(fault::item_not_found(&id)),
            }
        }
        Ok(replaced)
    }

    /// Finds an output item of a client by its id.
    async fn item(&self, client: &Client, id: &str, share: &mut Share) -> Result<Target, Fault> {
        Ok(match self.find(client, id).await?.map(|record| record.stored) {
            Some(Stored::Content(content)) => {
                // The memory of the response is released once the item is found.
                let mut room = share.beside();
                room.resize(weight(content.response.as_bytes())).await?;
                let mut items = output_items(&content.response).into_iter();
                match items.find(|item| item_id(item) == Some(id)) {
                    Some(item) => {
                        room.shrink(weight(item.compact().as_bytes()));
                        share.join(room);
                        Target::Item(item)
                    }
                    None => Target::Nowhere,
                }
            }
            Some(Stored::Upstream(upstream)) => Target::Upstream(upstream),
            None => Target::Nowhere,
        })
    }
}

/// Types of items whose ids the gateway assigns, and that may be sent without.
const NAMED_HERE: [&str; 6] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
];

/// Removes the id of an item. OpenAI refuses ids that it did not assign. Calls of hosted tools have
/// the ids of their vendor, and need them.
fn forget_id(item: &mut Json) {
    let Json::Object(item) = item else { return };
    let kind = item.get("type").and_then(Json::as_str).unwrap_or("message");
    if NAMED_HERE.contains(&kind) {
        item.remove("id");
    }
}
