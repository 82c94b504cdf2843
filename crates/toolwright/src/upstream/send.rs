//! Builds, signs and sends a request, and waits for the response head.

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

use super::auth::{CredentialRefusal, PreparedCredential, Signer, refresh};
use super::remote::{ANTHROPIC_VERSION, Remote, Setup, Shared};
use super::transport::deadline::Timer;
use super::transport::incoming::BodyContext;
use super::transport::informational::InformationalReplies;
use super::transport::outgoing::{self, OutgoingBody, Sent};
use super::transport::{ProxyError, ProxyTarget, fault};
use super::{Incoming, Outgoing};

/// The API version for Anthropic, which refuses requests without one, if none is configured.
const ANTHROPIC_DEFAULT: HeaderValue = HeaderValue::from_static("2023-06-01");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("toolwright/", env!("CARGO_PKG_VERSION")));

impl Remote {
    /// Sends a request once and returns the response when its head has arrived. A fault of the vendor is a
    /// response as well. Dropping the future cancels the request.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Incoming, Fault> {
        let credential = &self.0.setup.credential;
        let signer = credential.signer();
        let (PreparedCredential::RefreshingSigner(renewed), Some(signer)) = (credential, &signer)
        else {
            return self.attempt(outgoing, signer.as_deref()).await;
        };
        let reply = self.attempt(outgoing.clone(), Some(signer)).await?;
        if !refresh::is_expired_key(reply.status, &reply.headers) {
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
        let informational = InformationalReplies::default();
        let counted = informational.clone();
        hyper::ext::on_informational(&mut request, move |_| counted.count());
        let mut timer = Timer::after(deadlines.first_byte);
        let response = tokio::select! {
            biased;
            () = informational.exceeded() => return Err(fault::too_many_informational(&setup.id)),
            response = setup.head(client.request(request), &sent, &mut timer) => response?,
        };
        // Only a proxy that forwards requests sends this status.
        let refused = response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        if refused && setup.proxy.is_some() {
            return Err(fault::no_proxy(&setup.id, &ProxyError::Credential));
        }
        let (id, idle) = (Arc::clone(&setup.id), deadlines.idle);
        let body_context = BodyContext { id, timer, idle, permit: Some(permit) };
        Incoming::accept(response, body_context)
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
        let wrong = "the path has characters that are not valid in a URL; check the model's name";
        let uri = uri.map_err(|_| fault::invalid(&self.id, wrong))?;
        let mut headers = self.headers(headers);
        match &self.credential {
            PreparedCredential::None
            | PreparedCredential::Sign(_)
            | PreparedCredential::RefreshingSigner(_) => {}
            PreparedCredential::Header(name, value) => {
                headers.insert(name, value.clone());
            }
            PreparedCredential::Client => {
                let shown = PreparedCredential::of_client(client.as_ref(), self.codec.dialect());
                let (name, value) = shown.map_err(|refusal| self.refuse(refusal))?;
                headers.insert(name, value);
            }
        }
        if let Some(signer) = signer {
            let (text, host) = (uri.to_string(), self.address.host());
            signer
                .sign(&text, host, &mut headers, &body, SystemTime::now())
                .ok_or_else(|| self.refuse(CredentialRefusal::Unsigned))?;
        }
        let forwarding =
            self.proxy.as_ref().filter(|target| target.forwards(self.address.scheme()));
        if let Some(credential) = forwarding.and_then(ProxyTarget::credential) {
            headers.insert(PROXY_AUTHORIZATION, credential.clone());
        }
        let mut request = Request::new(OutgoingBody::new(body, sent));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// The headers of the caller that are forwarded, and our own.
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

    fn refuse(&self, refusal: CredentialRefusal) -> Fault {
        match refusal {
            CredentialRefusal::NoClientCredential => fault::no_credential(&self.id),
            CredentialRefusal::Unsigned => fault::unsigned(&self.id),
        }
    }

    /// Waits for the response head.
    async fn head(
        &self,
        mut response: ResponseFuture,
        sent: &Sent,
        timer: &mut Timer,
    ) -> Result<Response<hyper::body::Incoming>, Fault> {
        let wait = self.deadlines.first_byte;
        poll_fn(|context| {
            if let Poll::Ready(response) = Pin::new(&mut response).poll(context) {
                let fault = |error| fault::no_answer(&self.id, &error, &self.deadlines);
                return Poll::Ready(response.map_err(fault));
            }
            loop {
                ready!(timer.poll(context));
                // The timer starts before the connection is established. The deadline counts from
                // when the request was sent, since connecting has its own deadline.
                let from = sent.at().unwrap_or_else(tokio::time::Instant::now);
                if from.elapsed() >= wait && sent.at().is_some() {
                    return Poll::Ready(Err(fault::no_head(&self.id, &self.deadlines)));
                }
                timer.set(from, wait);
            }
        })
        .await
    }
}
