//! A request to an upstream: written, signed, sent, and awaited until its head is there.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::SystemTime;

use http::header::{
    ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{Request, Response, StatusCode};
use hyper_util::client::legacy::ResponseFuture;
use toolwright_core::dialect::Dialect;
use toolwright_core::fault::Fault;

use super::auth::{Prepared, Refusal, Signer, refresh};
use super::remote::{ANTHROPIC_VERSION, Remote, Setup, Shared};
use super::transport::deadline::Alarm;
use super::transport::incoming::Watch;
use super::transport::informational::Preamble;
use super::transport::outgoing::{self, OutgoingBody, Sent};
use super::transport::{Hop, ProxyError, fault};
use super::{Incoming, Outgoing};

/// Anthropic refuses a request without a version. This one takes all that is fitted for none.
const ANTHROPIC_DEFAULT: HeaderValue = HeaderValue::from_static("2023-06-01");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("toolwright/", env!("CARGO_PKG_VERSION")));

impl Remote {
    /// Sends bytes and gives the head of the reply, and its body as it arrives. A reply that says a
    /// vendor's fault is a reply. Dropping the future cancels the request.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Incoming, Fault> {
        let credential = &self.0.setup.credential;
        let signer = credential.signer();
        let (Prepared::Renewed(renewed), Some(signer)) = (credential, &signer) else {
            return self.attempt(outgoing, signer.as_deref()).await;
        };
        let reply = self.attempt(outgoing.clone(), Some(signer)).await?;
        if !refresh::is_refusal(reply.status, &reply.headers) {
            return Ok(reply);
        }
        match renewed.other(signer) {
            Some(other) => {
                drop(reply);
                self.attempt(outgoing, Some(&other)).await
            }
            None => Ok(reply),
        }
    }

    async fn attempt(
        &self,
        outgoing: Outgoing,
        signer: Option<&Signer>,
    ) -> Result<Incoming, Fault> {
        let Shared { setup, client, permits } = &*self.0;
        let deadlines = &setup.deadlines;
        let permit = permits.acquire(deadlines.first_byte).await;
        let permit = permit.map_err(|full| fault::full(&setup.id, full))?;
        let sent = Sent::default();
        let mut request = setup.request(outgoing, signer, sent.clone())?;
        let preamble = Preamble::default();
        let counted = preamble.clone();
        hyper::ext::on_informational(&mut request, move |_| counted.count());
        let mut alarm = Alarm::after(deadlines.first_byte);
        let response = tokio::select! {
            biased;
            () = preamble.flooded() => return Err(fault::flood(&setup.id)),
            response = setup.head(client.request(request), &sent, &mut alarm) => response?,
        };
        // Only a proxy that forwards requests says this.
        let unknown = response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        if unknown && setup.proxy.is_some() {
            return Err(fault::no_proxy(&setup.id, &ProxyError::Credential));
        }
        let (id, idle) = (Arc::clone(&setup.id), deadlines.idle);
        let watch = Watch { id, alarm, idle, permit: Some(permit) };
        Incoming::accept(response, watch)
    }
}

impl Setup {
    fn request(
        &self,
        outgoing: Outgoing,
        signer: Option<&Signer>,
        sent: Sent,
    ) -> Result<Request<OutgoingBody>, Fault> {
        let Outgoing { method, path, headers, body, client } = outgoing;
        if !path.starts_with('/') {
            return Err(fault::invalid(&self.id, "the request has no path; name a model"));
        }
        let uri = self.address.target(path);
        let wrong = "the path has characters that no URL can have; check the model's name";
        let uri = uri.map_err(|_| fault::invalid(&self.id, wrong))?;
        let mut headers = self.headers(headers);
        match &self.credential {
            Prepared::None | Prepared::Sign(_) | Prepared::Renewed(_) => {}
            Prepared::Header(name, value) => {
                headers.insert(name, value.clone());
            }
            Prepared::Client => {
                let shown = Prepared::of_client(client.as_ref(), self.codec.dialect());
                let (name, value) = shown.map_err(|refusal| self.refuse(refusal))?;
                headers.insert(name, value);
            }
        }
        if let Some(signer) = signer {
            let (text, host) = (uri.to_string(), self.address.host());
            signer
                .sign(&text, host, &mut headers, &body, SystemTime::now())
                .ok_or_else(|| self.refuse(Refusal::Unsigned))?;
        }
        let forwarding = self.proxy.as_ref().filter(|hop| hop.forwards(self.address.scheme()));
        if let Some(credential) = forwarding.and_then(Hop::credential) {
            headers.insert(PROXY_AUTHORIZATION, credential.clone());
        }
        let mut request = Request::new(OutgoingBody::new(body, sent));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// The caller's headers, less what is not sent on, with ours.
    fn headers(&self, mut headers: HeaderMap) -> HeaderMap {
        outgoing::strip(&mut headers);
        headers.reserve(5 + self.headers.len());
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        headers.entry(CONTENT_TYPE).or_insert(JSON);
        headers.entry(USER_AGENT).or_insert(AGENT);
        if self.codec.dialect() == Dialect::Anthropic {
            let version = || self.version.clone().unwrap_or(ANTHROPIC_DEFAULT);
            headers.entry(ANTHROPIC_VERSION).or_insert_with(version);
        }
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        headers
    }

    fn refuse(&self, refusal: Refusal) -> Fault {
        match refusal {
            Refusal::NoClientCredential => fault::no_credential(&self.id),
            Refusal::Unsigned => fault::unsigned(&self.id),
        }
    }

    /// Waits for the head of a reply.
    async fn head(
        &self,
        mut response: ResponseFuture,
        sent: &Sent,
        alarm: &mut Alarm,
    ) -> Result<Response<hyper::body::Incoming>, Fault> {
        let wait = self.deadlines.first_byte;
        poll_fn(|context| {
            if let Poll::Ready(response) = Pin::new(&mut response).poll(context) {
                let fault = |error| fault::no_answer(&self.id, &error, &self.deadlines);
                return Poll::Ready(response.map_err(fault));
            }
            loop {
                ready!(alarm.poll(context));
                // The alarm was set when the connection was wished for; the deadline counts from
                // when it was there, and connecting has a deadline of its own.
                let from = sent.at().unwrap_or_else(tokio::time::Instant::now);
                if from.elapsed() >= wait && sent.at().is_some() {
                    return Poll::Ready(Err(fault::no_head(&self.id, &self.deadlines)));
                }
                alarm.set(from, wait);
            }
        })
        .await
    }
}
