//! A client of one authorization server: logs a user in, and requests tokens.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::HeaderValue;
use zeroize::Zeroizing;

use super::error::{OAuthError, hint};
use super::metadata::ServerMetadata;
use super::pkce;
use super::request::{self, Requester};
use super::token::{ClientRecord, Token, TokenAnswer};
use crate::http::{HttpClient, sensitive};
use crate::secret::SecretString;

/// Default deadline of a request to an authorization server.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ClientAuthentication {
    /// A public client, by its id alone
    None,
    /// `client_secret_basic`: in the header `authorization`
    Basic(SecretString),
    /// `client_secret_post`: in the body
    Post(SecretString),
}

impl ClientAuthentication {
    /// How a client with a secret authenticates at a server: in the header, unless the server knows only the body.
    pub fn with_secret(secret: SecretString, server: &ServerMetadata) -> ClientAuthentication {
        let methods = &server.token_endpoint_auth_methods_supported;
        let has = |method: &str| methods.iter().any(|own| own == method);
        if has("client_secret_post") && !has("client_secret_basic") {
            ClientAuthentication::Post(secret)
        } else {
            ClientAuthentication::Basic(secret)
        }
    }

    fn secret(&self) -> Option<&SecretString> {
        match self {
            ClientAuthentication::None => None,
            ClientAuthentication::Basic(secret) | ClientAuthentication::Post(secret) => {
                Some(secret)
            }
        }
    }
}

/// A client of one authorization server. Clones share the connections.
#[must_use]
#[derive(Debug, Clone)]
pub struct OAuthClient {
    requester: Requester,
    server: ServerMetadata,
    id: String,
    authentication: ClientAuthentication,
    scopes: Vec<String>,
    resource: Option<String>,
    /// Whether its tokens are stored with it
    is_stored: bool,
}

/// A login that the user has been sent to.
pub struct PendingLogin {
    url: String,
    redirect_uri: String,
    state: SecretString,
    verifier: SecretString,
}

impl Requester {
    /// Sends no credentials to where a redirect points.
    pub(super) fn new(http: &HttpClient) -> Requester {
        Requester { http: http.clone().with_redirects(0), deadline: DEFAULT_DEADLINE }
    }
}

impl OAuthClient {
    /// Creates a public client.
    pub fn new(http: &HttpClient, server: ServerMetadata, id: impl Into<String>) -> OAuthClient {
        OAuthClient {
            requester: Requester::new(http),
            server,
            id: id.into(),
            authentication: ClientAuthentication::None,
            scopes: Vec::new(),
            resource: None,
            is_stored: false,
        }
    }

    /// Returns the client that a stored token was issued to, if it was [stored with it](Self::stored_with_tokens).
    pub fn of_token(http: &HttpClient, token: &Token) -> Option<OAuthClient> {
        let record = token.client.as_deref()?;
        let server = ServerMetadata::new(&record.issuer, &record.token_endpoint);
        let secret = record.secret.clone();
        let authentication = match (secret, record.is_secret_in_body) {
            (None, _) => ClientAuthentication::None,
            (Some(secret), false) => ClientAuthentication::Basic(secret),
            (Some(secret), true) => ClientAuthentication::Post(secret),
        };
        let mut client = OAuthClient::new(http, server, &record.id)
            .with_authentication(authentication)
            .with_scopes(record.scopes.clone())
            .stored_with_tokens();
        client.resource.clone_from(&record.resource);
        Some(client)
    }

    /// Stores the client with its tokens, for [`OAuthClient::of_token`]: for a client that is known only from its
    /// registration at a login.
    pub fn stored_with_tokens(mut self) -> OAuthClient {
        self.is_stored = true;
        self
    }

    fn record(&self) -> ClientRecord {
        ClientRecord {
            issuer: self.server.issuer.clone(),
            token_endpoint: self.server.token_endpoint.clone(),
            id: self.id.clone(),
            secret: self.authentication.secret().cloned(),
            is_secret_in_body: matches!(self.authentication, ClientAuthentication::Post(_)),
            scopes: self.scopes.clone(),
            resource: self.resource.clone(),
        }
    }

    /// Sets how it authenticates.
    pub fn with_authentication(mut self, authentication: ClientAuthentication) -> OAuthClient {
        self.authentication = authentication;
        self
    }

    /// Replaces its secret, and keeps how it authenticates.
    pub fn with_secret(mut self, secret: Option<SecretString>) -> OAuthClient {
        self.authentication = match (secret, &self.authentication) {
            (None, _) => ClientAuthentication::None,
            (Some(secret), ClientAuthentication::Post(_)) => ClientAuthentication::Post(secret),
            (Some(secret), _) => ClientAuthentication::Basic(secret),
        };
        self
    }

    /// Sets the scopes that it asks for.
    pub fn with_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> OAuthClient {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the resource that the tokens are for (RFC 8707).
    pub fn with_resource(mut self, resource: impl Into<String>) -> OAuthClient {
        self.resource = Some(resource.into());
        self
    }

    /// Sets the deadline of a request to the token endpoint, from connecting to the end of the answer.
    pub fn with_deadline(mut self, deadline: Duration) -> OAuthClient {
        self.requester.deadline = deadline;
        self
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.server.issuer
    }

    /// The id of the client.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The scopes that it asks for.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Starts a login by the authorization code grant with PKCE. The user opens its URL, and the server sends the
    /// browser to the redirect URI.
    pub fn authorize(&self, redirect_uri: &str) -> Result<PendingLogin, OAuthError> {
        let unsupported = |why| OAuthError::Unsupported { issuer: self.issuer().to_owned(), why };
        let Some(endpoint) = &self.server.authorization_endpoint else {
            return Err(unsupported("has no authorization endpoint, so no user can log in"));
        };
        let methods = &self.server.code_challenge_methods_supported;
        if !methods.iter().any(|method| method == "S256") {
            let why = "does not say that it supports PKCE with S256; if it does, declare it with \
                       `ServerMetadata::with_s256`";
            return Err(unsupported(why));
        }
        request::parse(endpoint)?;
        let (state, verifier) = (pkce::random()?, pkce::random()?);
        let mut query = Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("state", state.expose())
            .append_pair("code_challenge", &pkce::challenge(&verifier))
            .append_pair("code_challenge_method", "S256");
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.scopes.join(" "));
        }
        self.append_resource(&mut query);
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        let url = format!("{endpoint}{separator}{}", query.finish());
        Ok(PendingLogin { url, redirect_uri: redirect_uri.to_owned(), state, verifier })
    }

    /// Finishes a login with the URL that the browser was sent to, or with its query alone.
    pub async fn finish(&self, login: PendingLogin, callback: &str) -> Result<Token, OAuthError> {
        let code = self.code(&login, callback)?;
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &login.redirect_uri),
            ("code_verifier", login.verifier.expose()),
        ];
        self.request(&pairs, &[&code, &login.verifier], None).await
    }

    /// The code of a callback, after its state and its issuer are checked.
    fn code(&self, login: &PendingLogin, callback: &str) -> Result<SecretString, OAuthError> {
        let refuse = |why: &str| Err(OAuthError::Callback { why: why.to_owned() });
        let query = callback.split_once('?').map_or(callback, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default().trim();
        let parameter = |name: &str| {
            let mut found = form_urlencoded::parse(query.as_bytes()).filter(|(own, _)| own == name);
            let value = found.next().map(|(_, value)| SecretString::new(value.into_owned()));
            // A repeated parameter is ambiguous.
            value.filter(|_| found.next().is_none())
        };
        if !parameter("state").is_some_and(|state| login.has_state(state.expose())) {
            return refuse("the state is not that of this login; start the login again");
        }
        let issuer = parameter("iss");
        let is_required = self.server.authorization_response_iss_parameter_supported;
        match &issuer {
            Some(issuer) if issuer.expose() == self.issuer() => {}
            None if !is_required => {}
            _ => {
                return refuse(
                    "it was answered by another authorization server than the asked one",
                );
            }
        }
        if let Some(error) = parameter("error") {
            let description = parameter("error_description");
            let text = |text: &SecretString| request::printable(text.expose(), &[]);
            let code = text(&error).unwrap_or_default();
            let description = description.as_ref().and_then(text);
            let description = description.map(|text| format!(" ({text})")).unwrap_or_default();
            let hint = hint(&code);
            return Err(OAuthError::Callback { why: format!("{code}{description}; {hint}") });
        }
        match parameter("code").filter(|code| !code.expose().is_empty()) {
            Some(code) => Ok(code),
            None => refuse("the callback has no code; paste the whole URL of the last page"),
        }
    }

    /// Requests a token for the client itself.
    pub async fn client_credentials(&self) -> Result<Token, OAuthError> {
        let scope = self.scopes.join(" ");
        let mut pairs = vec![("grant_type", "client_credentials")];
        pairs.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        self.request(&pairs, &[], None).await
    }

    /// Requests a new token with the refresh token of an earlier one, for the scopes that were granted. The server
    /// may rotate the refresh token, so the earlier one must not be used again.
    pub async fn refresh(&self, token: &Token) -> Result<Token, OAuthError> {
        let Some(refresh) = &token.refresh else {
            return Err(OAuthError::LoginRequired { issuer: self.issuer().to_owned() });
        };
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", refresh.expose())];
        self.request(&pairs, &[refresh], Some(refresh)).await
    }

    async fn request(
        &self,
        pairs: &[(&str, &str)],
        secrets: &[&SecretString],
        earlier: Option<&SecretString>,
    ) -> Result<Token, OAuthError> {
        let (body, authorization) = self.form(pairs);
        let mut secrets = secrets.to_vec();
        secrets.extend(self.authentication.secret());
        let url = &self.server.token_endpoint;
        let content_type = "application/x-www-form-urlencoded";
        let answer: TokenAnswer =
            self.requester.post(url, content_type, authorization, body, &secrets).await?;
        let mut token = answer
            .into_token(earlier, SystemTime::now())
            .map_err(|why| OAuthError::InvalidAnswer { url: url.clone(), why })?;
        token.client = self.is_stored.then(|| Arc::new(self.record()));
        Ok(token)
    }

    /// The body of a token request, and its header `authorization`.
    fn form(&self, pairs: &[(&str, &str)]) -> (Bytes, Option<HeaderValue>) {
        let mut form = Serializer::new(String::new());
        form.extend_pairs(pairs);
        self.append_resource(&mut form);
        let authorization = match &self.authentication {
            ClientAuthentication::Basic(secret) => basic(&self.id, secret),
            ClientAuthentication::None | ClientAuthentication::Post(_) => {
                form.append_pair("client_id", &self.id);
                None
            }
        };
        if let ClientAuthentication::Post(secret) = &self.authentication {
            form.append_pair("client_secret", secret.expose());
        }
        (Bytes::from(form.finish()), authorization)
    }

    fn append_resource(&self, pairs: &mut Serializer<'_, String>) {
        if let Some(resource) = &self.resource {
            pairs.append_pair("resource", resource);
        }
    }
}

/// The header of `client_secret_basic`, whose parts are form-encoded first (RFC 6749 §2.3.1).
fn basic(id: &str, secret: &SecretString) -> Option<HeaderValue> {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Zeroizing::new(format!("{}:{}", encode(id), encode(secret.expose())));
    let text = Zeroizing::new(format!("Basic {}", BASE64_STANDARD.encode(pair.as_bytes())));
    sensitive(&text)
}

impl PendingLogin {
    /// The URL that the user opens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether a state is that of this login. The comparison takes the same time for every state.
    pub(super) fn has_state(&self, state: &str) -> bool {
        blake3::hash(state.as_bytes()) == blake3::hash(self.state.expose().as_bytes())
    }
}

impl fmt::Debug for PendingLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let redirect_uri = &self.redirect_uri;
        formatter
            .debug_struct("PendingLogin")
            .field("redirect_uri", redirect_uri)
            .finish_non_exhaustive()
    }
}
