//! Credentials of a request: the secrets of the prefab, and tokens that are obtained with them.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parking_lot::Mutex;
use toolwright_runtime::ToolError;
use toolwright_transport::HttpClient;
use toolwright_transport::oauth::{
    ClientAuthentication, MemoryTokens, OAuthClient, ServerMetadata, Token, TokenSource,
};
use toolwright_transport::secret::SecretString;

use super::request::Draft;
use crate::binding::{Credential, Location};

/// Looks up a secret of the prefab by its name.
pub type Secrets<'s> = &'s (dyn Fn(&str) -> Option<SecretString> + Send + Sync);

/// The kind of the error for a secret that is not configured.
pub const MISSING_SECRET: &str = "MISSING_SECRET";

/// The sources of tokens, one for each client and set of scopes. Calls share them.
#[derive(Debug, Default)]
pub(super) struct TokenSources(Mutex<HashMap<blake3::Hash, TokenSource>>);

/// The credentials of one request.
#[derive(Default)]
pub(super) struct Applied {
    /// What the response must not reveal
    pub(super) secrets: Vec<SecretString>,
    /// A token that the server may reject, with its source
    pub(super) token: Option<(TokenSource, Arc<Token>)>,
}

/// Returns a secret that is not configured, if no alternative can be used without it.
pub(in crate::runtime) fn missing_secret(
    alternatives: &[Vec<Credential>],
    secrets: Secrets<'_>,
) -> Option<String> {
    let missing = |set: &Vec<Credential>| {
        let names = set.iter().flat_map(Credential::secrets);
        names.filter(|name| secrets(name).is_none()).map(str::to_owned).next()
    };
    let first = missing(alternatives.first()?)?;
    // An empty alternative needs no credential.
    alternatives.iter().all(|set| missing(set).is_some()).then_some(first)
}

/// Chooses the first alternative whose secrets are configured, and none only if no other one is.
pub(super) fn choose<'b>(
    alternatives: &'b [Vec<Credential>],
    secrets: Secrets<'_>,
) -> Result<&'b [Credential], ToolError> {
    if let Some(name) = missing_secret(alternatives, secrets) {
        return Err(missing(&name));
    }
    let is_configured = |set: &Vec<Credential>| {
        set.iter().flat_map(Credential::secrets).all(|name| secrets(name).is_some())
    };
    let mut usable = alternatives.iter().filter(|set| !set.is_empty() && is_configured(set));
    Ok(usable.next().map(Vec::as_slice).unwrap_or_default())
}

/// Adds credentials to a request.
pub(super) async fn apply(
    draft: &mut Draft,
    credentials: &[Credential],
    secrets: Secrets<'_>,
    sources: &TokenSources,
    client: &HttpClient,
) -> Result<Applied, ToolError> {
    let mut applied = Applied::default();
    let find = |name: &str| secrets(name).ok_or_else(|| missing(name));
    for credential in credentials {
        let (location, name, text) = match credential {
            Credential::ApiKey { location, name, secret } => {
                (*location, name.as_str(), find(secret)?.expose().clone())
            }
            Credential::Bearer { secret } => bearer(find(secret)?.expose()),
            Credential::Basic { username, password } => {
                let (username, password) = (find(username)?, find(password)?);
                let pair = format!("{}:{}", username.expose(), password.expose());
                applied.secrets.push(password);
                let text = format!("Basic {}", BASE64_STANDARD.encode(pair));
                (Location::Header, "authorization", text)
            }
            Credential::OAuth { token_url, client_id, client_secret, scopes } => {
                let (id, secret) = (find(client_id)?, find(client_secret)?);
                let source = sources.find(client, token_url, &id, &secret, scopes);
                let token = source.token().await.map_err(|error| {
                    ToolError::new(format!("no access token: {error}")).with_kind("OAuthError")
                })?;
                let text = bearer(token.access().expose());
                applied.secrets.push(secret);
                applied.token = Some((source, token));
                text
            }
        };
        let set = draft.set_credential(location, name, &text);
        set.ok_or_else(|| {
            let names = credential.secrets().join("`, `");
            ToolError::new(format!(
                "the secret `{names}` has characters that a request cannot have"
            ))
        })?;
        let shown = text.split_once(' ').map_or(text.as_str(), |(_, value)| value);
        applied.secrets.push(SecretString::from(shown));
    }
    Ok(applied)
}

fn missing(name: &str) -> ToolError {
    ToolError::new(format!("the secret `{name}` is not configured")).with_kind(MISSING_SECRET)
}

fn bearer(token: &str) -> (Location, &'static str, String) {
    (Location::Header, "authorization", format!("Bearer {token}"))
}

impl TokenSources {
    fn find(
        &self,
        client: &HttpClient,
        token_url: &str,
        id: &SecretString,
        secret: &SecretString,
        scopes: &[String],
    ) -> TokenSource {
        let mut key = blake3::Hasher::new();
        for part in [token_url, id.expose(), secret.expose()]
            .into_iter()
            .chain(scopes.iter().map(String::as_str))
        {
            key.update(&part.len().to_le_bytes());
            key.update(part.as_bytes());
        }
        let mut sources = self.0.lock();
        let new = || {
            let server = ServerMetadata::new(token_url, token_url);
            let client = OAuthClient::new(client, server, id.expose().clone())
                .with_authentication(ClientAuthentication::Basic(secret.clone()))
                .with_scopes(scopes.iter().cloned());
            TokenSource::for_client(client, Arc::new(MemoryTokens::new()), token_url)
        };
        sources.entry(key.finalize()).or_insert_with(new).clone()
    }
}
