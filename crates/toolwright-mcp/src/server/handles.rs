//! Values behind handles, for clients: links in the results of calls, the schemas of such results, and
//! `resources/read`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;
use toolwright_runtime::call::CallResult;
use toolwright_runtime::handle::{Handle, HandleError};
use toolwright_runtime::output::Content;
use toolwright_runtime::{Session, Toolbox};

use crate::message::RpcError;
use crate::protocol::LINKS_SINCE;

/// What the URIs of handles begin with.
const SCHEME: &str = "toolwright://handle/";

/// Answers `resources/read` of the URI of a handle; `None` for other URIs. The value must belong to the conversation of
/// the request.
pub(super) async fn read(
    params: &Object,
    era: Era,
    session: &Session,
    toolbox: &Toolbox,
) -> Option<Result<Object, RpcError>> {
    let uri = params.get("uri").and_then(Json::as_str)?;
    let handle = uri.strip_prefix(SCHEME)?;
    let found = match (handle.parse::<Handle>(), toolbox.handles()) {
        (Ok(handle), Some(store)) => {
            let value = store.find(&session.owner(), handle.id).await;
            value.and_then(|value| content(uri, &value, &handle.pointer))
        }
        _ => Err(HandleError::Unknown),
    };
    let found = found.map(|content| object! {"contents": vec![Json::from(content)]});
    Some(found.map_err(|error| match error {
        HandleError::Unavailable => RpcError::internal(format!("Internal error: {error}")),
        error => {
            let mut refusal = RpcError::resource_not_found(uri, era);
            refusal.message = format!("{}: {error}", refusal.message);
            refusal
        }
    }))
}

/// The content of a resource: a part of a stored value.
fn content(uri: &str, value: &Content, pointer: &str) -> Result<Object, HandleError> {
    let mime = mime(value);
    match value {
        Content::Bytes(blob) if pointer.is_empty() => {
            Ok(object! {"uri": uri, "mimeType": mime, "blob": STANDARD.encode(&blob.bytes)})
        }
        Content::Bytes(_) | Content::Media(_) => Err(HandleError::NotJson),
        Content::Json(value) => {
            let text = match value.pointer(pointer).ok_or(HandleError::NoSuchPiece)? {
                Json::String(text) => text.as_str().to_owned(),
                value => value.compact(),
            };
            Ok(object! {"uri": uri, "mimeType": mime, "text": text})
        }
    }
}

fn mime(content: &Content) -> &str {
    match content {
        Content::Bytes(blob) => &blob.mime,
        content if content.as_text().is_some() => "text/plain",
        _ => "application/json",
    }
}

/// Adds to an encoded result a link for each handle and, if the tool has a schema of results that nothing in the result
/// satisfies, the handle as structured content.
pub(super) fn add_links(
    encoded: &mut Object,
    result: &CallResult,
    version: &str,
    has_schema: bool,
) {
    let handles = result.handles();
    if let Some(Json::Array(blocks)) = encoded.get_mut("content")
        && version >= LINKS_SINCE
    {
        blocks.extend(handles.iter().map(|(id, content)| {
            let uri = format!("{SCHEME}{id}");
            let mut link = object! {"type": "resource_link", "uri": uri, "name": id.to_string()};
            link.insert("mimeType", content.map_or("application/json", mime));
            if let Some(Content::Bytes(blob)) = content {
                link.insert("size", blob.bytes.len());
            }
            Json::from(link)
        }));
    }
    if let Some((id, _)) = handles.first()
        && has_schema
        && !encoded.contains_key("structuredContent")
    {
        let form = object! {"handle": id.to_string(), "uri": format!("{SCHEME}{id}")};
        encoded.insert("structuredContent", form);
    }
}

/// Returns a schema of results that admits the form of a handle, too.
pub(super) fn admit(schema: &Json) -> Json {
    let text = |about: &str| object! {"type": "string", "description": about};
    let properties = object! {
        "handle": text("Stands for the result. Pass it as an argument of another tool."),
        "uri": text("Read the result with resources/read."),
    };
    let handle = object! {
        "type": "object", "properties": properties, "required": vec!["handle", "uri"],
    };
    let mut own = schema.clone();
    let mut admitted = Object::new();
    if let Json::Object(own) = &mut own {
        admitted.insert_some("$schema", own.remove("$schema"));
        admitted.insert_some(
            "type",
            own.get("type").filter(|kind| kind.as_str() == Some("object")).cloned(),
        );
    }
    if own.get("$id").is_none() {
        move_references(&mut own);
    }
    admitted.insert("anyOf", vec![own, handle.into()]);
    admitted.into()
}

/// Lets references to the root refer to the place where the schema is now.
fn move_references(schema: &mut Json) {
    match schema {
        Json::Array(items) => items.iter_mut().for_each(move_references),
        Json::Object(object) => {
            for (key, value) in object.iter_mut() {
                match (key, value) {
                    ("$ref" | "$dynamicRef", Json::String(target)) => {
                        if let Some(path) = target.strip_prefix('#')
                            && (path.is_empty() || path.starts_with('/'))
                        {
                            *target = format!("#/anyOf/0{path}").into();
                        }
                    }
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (_, value) if value.get("$id").is_none() => move_references(value),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use toolwright_runtime::handle::{HandleStore, Limits, MemoryHandles};

    #[tokio::test(start_paused = true)]
    async fn a_resource_is_read_until_its_handle_expires() {
        let limits = Limits { lifetime: Duration::from_mins(1), ..Limits::default() };
        let store = Arc::new(MemoryHandles::new(limits));
        let session = Session::new("run").with_conversation("one");
        let toolbox: Toolbox = Toolbox::new(Vec::<toolwright_runtime::Handler>::new())
            .unwrap()
            .with_handles(store.clone());
        let value = Content::json(object! {"rows": vec![Json::from(7_u64)]});
        let id = store.put(&session.owner(), value).await.unwrap();
        let read =
            async |uri: &str, era| read(&object! {"uri": uri}, era, &session, &toolbox).await;
        let uri = format!("{SCHEME}{id}");
        let found = read(&format!("{uri}#/rows/0"), Era::Stateless).await.unwrap().unwrap();
        assert_eq!(
            found.get("contents").and_then(|own| own.pointer("/0/text")).unwrap(),
            &Json::from("7")
        );
        tokio::time::advance(Duration::from_mins(1)).await;
        for (era, code) in [(Era::Stateless, -32602), (Era::Handshake, -32002)] {
            let error = read(&uri, era).await.unwrap().unwrap_err();
            assert_eq!(error.code, code);
            assert_eq!(error.message, "Resource not found: the handle has expired");
        }
        assert!(read("file:///etc/passwd", Era::Stateless).await.is_none());
    }
}
