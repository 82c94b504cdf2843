//! Requests to authorization servers: within one deadline, and with small answers.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::uri::Scheme;
use http::{Request, StatusCode, Uri};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{OAuthError, hint};
use crate::http::{HttpClient, HttpFault};
use crate::secret::SecretString;

/// Maximum size, in bytes, of an answer.
const MAX_ANSWER_BYTES: usize = 256 << 10;
/// Maximum length, in characters, of a description that is shown.
const MAX_DESCRIPTION: usize = 200;
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Sends requests to one authorization server.
#[derive(Clone, Debug)]
pub(super) struct Requester {
    pub(super) http: HttpClient,
    /// For connecting, sending and reading the whole answer
    pub(super) deadline: Duration,
}

/// The status and the body of an answer.
pub(super) struct Answer {
    pub(super) url: String,
    pub(super) status: StatusCode,
    body: Bytes,
}

impl Requester {
    /// Sends a request and reads its answer.
    pub(super) fn send(
        &self,
        mut request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Answer, OAuthError>> {
        Box::pin(async move {
            let url = without_user(&request.uri().to_string());
            check(request.uri()).map_err(|why| OAuthError::Url { url: url.clone(), why })?;
            request.headers_mut().insert(ACCEPT, JSON);
            let exchange = async {
                let incoming = self.http.send(request).await?;
                let status = incoming.status;
                Ok::<_, HttpFault>((status, incoming.body.collect(MAX_ANSWER_BYTES).await?))
            };
            match tokio::time::timeout(self.deadline, exchange).await {
                Ok(Ok((status, body))) => Ok(Answer { url, status, body }),
                Ok(Err(fault)) => Err(OAuthError::Unreachable { url, why: fault.message }),
                Err(_) => Err(OAuthError::Timeout { url, deadline: self.deadline }),
            }
        })
    }

    /// Gets a JSON document.
    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Uri) -> Result<T, OAuthError> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = url.clone();
        let answer = self.send(request).await?;
        // The error codes of a token endpoint have no meaning here.
        if !answer.status.is_success() {
            return Err(answer.refused(None, &[]));
        }
        answer.parse(&[])
    }

    /// Posts a document and reads a JSON document.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        content_type: &'static str,
        authorization: Option<HeaderValue>,
        body: Bytes,
        secrets: &[&SecretString],
    ) -> Result<T, OAuthError> {
        let mut request = Request::new(body);
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = parse(url)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(authorization) = authorization {
            headers.insert(http::header::AUTHORIZATION, authorization);
        }
        self.send(request).await?.parse(secrets)
    }
}

/// The error answer of RFC 6749 §5.2.
#[derive(Deserialize)]
struct ErrorAnswer {
    error: String,
    error_description: Option<String>,
}

impl Answer {
    /// Reads a successful answer. The secrets of the request are in no error.
    fn parse<T: DeserializeOwned>(&self, secrets: &[&SecretString]) -> Result<T, OAuthError> {
        // serde reads a list as a struct as well.
        let is_object = self.body.trim_ascii_start().starts_with(b"{");
        let error = serde_json::from_slice::<ErrorAnswer>(&self.body).ok().filter(|_| is_object);
        if !self.status.is_success() || error.is_some() {
            return Err(self.refused(error, secrets));
        }
        // The error of serde may repeat values of the document.
        let document = serde_json::from_slice(&self.body).ok().filter(|_| is_object);
        document.ok_or_else(|| OAuthError::InvalidAnswer {
            url: self.url.clone(),
            why: "it is not a JSON object, or a member is missing or has another type; check the URL",
        })
    }

    fn refused(&self, error: Option<ErrorAnswer>, secrets: &[&SecretString]) -> OAuthError {
        let is_code = |code: &str| {
            let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
            let is_secret = secrets.iter().any(|secret| code.contains(secret.expose().as_str()));
            !code.is_empty() && code.len() <= 64 && code.bytes().all(valid) && !is_secret
        };
        let (code, description) = match error {
            Some(error) if is_code(&error.error) => {
                (error.error, error.error_description.and_then(|text| printable(&text, secrets)))
            }
            _ => (format!("status {}", self.status.as_u16()), None),
        };
        let hint = hint(&code);
        OAuthError::Refused { url: self.url.clone(), code, description, hint }
    }
}

/// A description that can be shown: short, in one line, and without a secret of the request.
pub(super) fn printable(text: &str, secrets: &[&SecretString]) -> Option<String> {
    if secrets.iter().any(|secret| text.contains(secret.expose().as_str())) {
        return None;
    }
    let text: String = text.chars().filter(|c| !c.is_control()).take(MAX_DESCRIPTION).collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A URL for messages, without the user and the password that may be in it.
fn without_user(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

/// Parses a URL that tokens may be sent to.
pub(super) fn parse(url: &str) -> Result<Uri, OAuthError> {
    let parsed = url.parse::<Uri>().map_err(|_| "this is not a URL");
    let parsed = parsed.and_then(|parsed| check(&parsed).map(|()| parsed));
    parsed.map_err(|why| OAuthError::Url { url: without_user(url), why })
}

/// Checks that a URL is encrypted, or that of this machine, and has no password in it.
fn check(url: &Uri) -> Result<(), &'static str> {
    if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("the URL has a user or a password in it; leave them out");
    }
    let host = url.host().unwrap_or_default();
    let is_loopback = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    match url.scheme() {
        Some(scheme) if *scheme == Scheme::HTTPS => Ok(()),
        Some(scheme) if *scheme == Scheme::HTTP && is_loopback => Ok(()),
        Some(_) => Err("tokens are sent by https only (http is allowed for loopback hosts)"),
        None => Err("this is not a URL"),
    }
}
