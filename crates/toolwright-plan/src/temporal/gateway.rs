//! The handles of a gateway, over HTTP: workers on different machines share them.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, StatusCode, Uri};
use toolwright_core::Json;
use toolwright_runtime::handle::{
    HandleError, HandleFuture, HandleId, HandleStore, HandleStoreError, Owner,
};
use toolwright_runtime::output::{Blob, Content};
use toolwright_transport::secret::SecretString;
use toolwright_transport::{HttpClient, Incoming};

use super::TemporalError;

/// The media type of JSON. Values of any other type are bytes.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Maximum number of bytes of a value.
const MAX_BYTES: usize = 256 << 20;

/// A handle store that is that of a gateway. Values belong to the tenant of its key, and to the conversation of their
/// owner.
pub struct GatewayHandles {
    http: HttpClient,
    url: String,
    key: Option<SecretString>,
}

impl GatewayHandles {
    /// Creates the store of the gateway at a URL, such as `http://127.0.0.1:8000`.
    pub fn new(url: &str, key: Option<SecretString>) -> Result<GatewayHandles, TemporalError> {
        let parsed: Result<Uri, _> = url.parse();
        if !parsed.is_ok_and(|own| own.scheme().is_some() && own.host().is_some()) {
            let message =
                format!("'{url}' is not the URL of a gateway, such as http://127.0.0.1:8000");
            return Err(TemporalError(message));
        }
        let http = HttpClient::new("gateway").map_err(|error| TemporalError(error.to_string()))?;
        Ok(GatewayHandles { http, url: url.trim_end_matches('/').to_owned(), key })
    }

    async fn send(
        &self,
        method: Method,
        owner: &Owner,
        id: HandleId,
        body: Option<(HeaderValue, Bytes)>,
    ) -> Result<Incoming, String> {
        let url = format!("{}/v1/handles/{id}?conversation={}", self.url, owner.conversation);
        let (media_type, body) = body.map_or((None, Bytes::new()), |(own, body)| (Some(own), body));
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = url.parse().map_err(|_| format!("{url} is not a URL"))?;
        let headers = request.headers_mut();
        headers.extend(media_type.map(|own| (CONTENT_TYPE, own)));
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| "the key of the gateway has characters that no header may have")?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.http.send(request).await.map_err(|fault| fault.message)
    }
}

impl HandleStore for GatewayHandles {
    fn put_as<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
        value: Content,
    ) -> HandleFuture<'a, Result<(), HandleStoreError>> {
        Box::pin(async move {
            let body = match value.without_media() {
                Content::Bytes(blob) => {
                    let octets = HeaderValue::from_static("application/octet-stream");
                    let media_type = HeaderValue::from_str(&blob.mime).ok();
                    let media_type = media_type.filter(|own| *own != JSON);
                    (media_type.unwrap_or(octets), Bytes::copy_from_slice(&blob.bytes))
                }
                other => (JSON, Bytes::from(other.into_json().compact())),
            };
            let sent = self.send(Method::PUT, owner, id, Some(body)).await;
            let incoming = sent.map_err(HandleStoreError::Failed)?;
            match incoming.status {
                status if status.is_success() => Ok(()),
                StatusCode::INSUFFICIENT_STORAGE => Err(HandleStoreError::Full),
                status => Err(HandleStoreError::Failed(refused(status, incoming).await)),
            }
        })
    }

    fn find<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
    ) -> HandleFuture<'a, Result<Content, HandleError>> {
        Box::pin(async move {
            let sent = self.send(Method::GET, owner, id, None).await;
            let incoming = sent.map_err(|_| HandleError::Unavailable)?;
            match incoming.status {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND => return Err(HandleError::Unknown),
                StatusCode::GONE => return Err(HandleError::Expired),
                _ => return Err(HandleError::Unavailable),
            }
            let media_type = incoming.headers.get(CONTENT_TYPE).cloned().unwrap_or(JSON);
            let body = incoming.body.collect(MAX_BYTES).await;
            let body = body.map_err(|_| HandleError::Unavailable)?;
            if media_type == JSON {
                let value = Json::parse_bytes(&body).map_err(|_| HandleError::NotJson)?;
                return Ok(Content::json(value));
            }
            let mime = media_type.to_str().unwrap_or("application/octet-stream").to_owned();
            Ok(Content::Bytes(Blob { mime, bytes: Arc::from(&*body) }))
        })
    }
}

/// Says why the gateway refused a value.
async fn refused(status: StatusCode, incoming: Incoming) -> String {
    let body = incoming.body.collect(4096).await.unwrap_or_default();
    format!("the gateway answered {status}: {}", String::from_utf8_lossy(&body))
}
