//! The bare proxy: the cost of hyper alone. It buffers the request, as every gateway must that
//! reads the model in it, forwards it over pooled connections and streams the reply back.

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::failure::Outcome;
use crate::serve::{self, Hangup};

/// Serves in front of `upstream` until the process ends.
pub(crate) fn run(upstream: &str) -> Outcome {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(connector);
    let upstream: std::sync::Arc<str> = upstream.into();
    serve::forever("127.0.0.1:0", move |request, _| {
        let client = client.clone();
        let upstream = upstream.clone();
        async move {
            let request = redirect(request, &upstream).await.ok_or(Hangup)?;
            let mut reply = client.request(request).await.map_err(|_| Hangup)?;
            reply.headers_mut().remove(CONNECTION);
            reply.headers_mut().remove(TRANSFER_ENCODING);
            Ok(reply)
        }
    })
}

/// The same request, buffered, for the upstream.
async fn redirect(request: Request<Incoming>, upstream: &str) -> Option<Request<Full<Bytes>>> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = format!("http://{upstream}{path}").parse().ok()?;
    head.headers.remove(HOST);
    head.headers.remove(CONNECTION);
    Some(Request::from_parts(head, Full::new(body)))
}
