//! Builds, signs and sends a request, and waits for the response head.

use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use http_body::Body;
use toolwright_core::{Fault, FaultClass};
use toolwright_dialects::dialect::Dialect;
use toolwright_transport::{AGENT, IDENTITY, begins_with};

use super::auth::{CredentialRefusal, PreparedCredential, Signer, refresh};
use super::fault::{fault_of, invalid_response};
use super::remote::{ANTHROPIC_VERSION, Remote, Setup};
use super::{Incoming, Outgoing, outgoing};

/// The API version for Anthropic, which refuses requests without one, if none is configured.
const ANTHROPIC_DEFAULT: HeaderValue = HeaderValue::from_static("2023-06-01");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Remote {
    /// Sends a request once and returns the response when its head has arrived. A fault of the vendor is a
    /// response as well. Dropping the future cancels the request.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Incoming, Fault> {
        let credential = &self.0.credential;
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
        let setup = &*self.0;
        let permit = setup.http.acquire().await.map_err(fault_of)?;
        let request = setup.request(outgoing, signer)?;
        // A model has no effects.
        let incoming = setup.http.exchange(request, permit, true).await.map_err(fault_of)?;
        match rejection(&incoming) {
            Some(what) => Err(invalid_response(self.label(), &what)),
            None => Ok(incoming),
        }
    }
}

/// What is wrong with a response that no API sends.
fn rejection(incoming: &Incoming) -> Option<String> {
    let Incoming { status, headers, body } = incoming;
    if status.is_redirection() {
        let what = "which is not followed; set its base_url to where the API is";
        return Some(format!("answered with status {}, {what}", status.as_u16()));
    }
    // An error may be the page of a proxy; its status is enough.
    if status.is_success() && begins_with(headers, &CONTENT_TYPE, "text/html") {
        return Some("answered with a web page; check the path of its base_url".to_owned());
    }
    if status.is_success() && body.is_end_stream() {
        return Some("sent a response without content".to_owned());
    }
    None
}

impl Setup {
    fn invalid(&self, what: &str) -> Fault {
        Fault::new(FaultClass::Invalid, format!("{}: {what}", self.http.label()))
    }

    #[inline]
    fn request(
        &self,
        outgoing: Outgoing,
        signer: Option<&Signer>,
    ) -> Result<Request<Bytes>, Fault> {
        let Outgoing { method, path, headers, body, client } = outgoing;
        if !path.starts_with('/') {
            return Err(self.invalid("the request has no path; name a model"));
        }
        let uri = self.address.target(path);
        let wrong = "the path has characters that are not valid in a URL; check the model's name";
        let uri = uri.map_err(|_| self.invalid(wrong))?;
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
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// The headers of the caller that are forwarded, and our own.
    fn headers(&self, mut headers: HeaderMap) -> HeaderMap {
        outgoing::strip(&mut headers);
        headers.reserve(5 + self.http.headers().len());
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        headers.entry(CONTENT_TYPE).or_insert(JSON);
        headers.entry(USER_AGENT).or_insert(AGENT);
        if self.codec.dialect() == Dialect::Anthropic {
            let version = || self.version.clone().unwrap_or(ANTHROPIC_DEFAULT);
            headers.entry(ANTHROPIC_VERSION).or_insert_with(version);
        }
        for (name, value) in self.http.headers() {
            headers.insert(name, value.clone());
        }
        headers
    }

    fn refuse(&self, refusal: CredentialRefusal) -> Fault {
        match refusal {
            CredentialRefusal::NoClientCredential => {
                let message = format!(
                    "upstream `{}` uses the client's own key, and this request has none that can \
                     be forwarded; send the vendor's key as your API key",
                    self.id
                );
                Fault::new(FaultClass::Unauthenticated, message)
            }
            CredentialRefusal::Unsigned => {
                let message = format!(
                    "upstream `{}`: the request could not be signed for AWS; check region, access \
                     key and secret key",
                    self.id
                );
                Fault::new(FaultClass::Internal, message)
            }
        }
    }
}
