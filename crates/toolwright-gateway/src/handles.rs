//! `/v1/handles/{id}`: stores and returns values behind handles, for workers that have no data folder in common.
//!
//! A value belongs to the tenant of the key and to a conversation, such as the run of a plan.

use http::{HeaderValue, StatusCode, header};
use toolwright_core::{Fault, FaultClass, Json};
use toolwright_runtime::Session;
use toolwright_runtime::handle::{Handle, HandleError, HandleStore, HandleStoreError, Owner};
use toolwright_runtime::output::{Blob, Content};

use crate::fault;
use crate::fault::invalid;
use crate::http::{HttpRequest, Reply, ReplyBody};
use crate::key::Client;
use crate::query::Query;

/// The media type of JSON. Bodies of any other type are bytes.
const JSON: &str = "application/json";

/// What a request does with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Stores it
    Put,
    /// Returns it
    Get,
}

/// Answers a request of a client.
pub(crate) async fn answer(
    action: Action,
    id: &str,
    store: &dyn HandleStore,
    client: &Client,
    request: HttpRequest,
) -> Result<Reply, Fault> {
    let handle: Handle = id.parse().map_err(|error| invalid("id", format!("{id}: {error}.")))?;
    let query = Query::new(request.uri.query());
    let conversation = query.get("conversation").unwrap_or_default();
    if !Session::is_conversation_name(conversation) {
        let hint =
            "Send ?conversation= with the conversation or the run that the value belongs to.";
        return Err(invalid("conversation", hint));
    }
    let owner = Owner { tenant: client.tenant().into(), conversation: conversation.into() };
    match action {
        Action::Get => {
            let mut share = request.budget.share();
            share.resize(store.size(&owner, handle.id).await).await?;
            let mut reply =
                match store.find(&owner, handle.id).await.map_err(unreadable)?.without_media() {
                    Content::Bytes(blob) => {
                        let mut reply = Reply::new(ReplyBody::full(blob.bytes.to_vec()));
                        if let Ok(media_type) = blob.mime.parse() {
                            reply.headers_mut().insert(header::CONTENT_TYPE, media_type);
                        }
                        reply
                    }
                    other => fault::document(&other.into_json()),
                };
            // Values come from clients: a browser must not show them as pages of the gateway.
            let headers = reply.headers_mut();
            headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            share.shrink(reply.body().full_bytes().len());
            Ok(reply.map(|body| body.held(share)))
        }
        Action::Put => {
            let media_type = request.headers.get(header::CONTENT_TYPE);
            let media_type =
                media_type.and_then(|own| own.to_str().ok()).unwrap_or(JSON).to_owned();
            let (body, mut share) = request.body.read_document().await?;
            // The form that is stored, as text and as an entry.
            share.resize(share.size() + 2 * body.len()).await?;
            let value = if media_type == JSON {
                let value = Json::parse_bytes(&body);
                Content::json(value.map_err(|error| invalid("body", format!("not JSON: {error}")))?)
            } else {
                Content::Bytes(Blob { mime: media_type, bytes: body.to_vec().into() })
            };
            store.put_as(&owner, handle.id, value).await.map_err(|error| unwritten(&error))?;
            let mut reply = Reply::new(ReplyBody::empty());
            *reply.status_mut() = StatusCode::NO_CONTENT;
            Ok(reply)
        }
    }
}

fn unreadable(error: HandleError) -> Fault {
    match error {
        HandleError::Unknown => Fault::new(FaultClass::NotFound, "There is no such handle."),
        HandleError::Expired => Fault {
            status: Some(410),
            ..Fault::new(FaultClass::NotFound, "The value behind the handle has expired.")
        },
        error => {
            Fault { status: Some(503), ..Fault::new(FaultClass::Internal, format!("{error}.")) }
        }
    }
}

fn unwritten(error: &HandleStoreError) -> Fault {
    let status = if matches!(error, HandleStoreError::Full) { 507 } else { 503 };
    Fault { status: Some(status), ..Fault::new(FaultClass::Internal, format!("{error}.")) }
}
