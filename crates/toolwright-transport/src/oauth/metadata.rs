//! Metadata of authorization servers (RFC 8414) and of protected resources (RFC 9728).

use http::Uri;
use serde::Deserialize;

use super::challenge::Challenge;
use super::error::OAuthError;
use super::request::{Requester, parse};
use crate::http::HttpClient;

/// What an authorization server is and offers.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[non_exhaustive]
pub struct ServerMetadata {
    /// The identifier of the server, a URL
    pub issuer: String,
    /// Where a user logs in
    pub authorization_endpoint: Option<String>,
    /// Where tokens are requested
    pub token_endpoint: String,
    /// Where clients are registered
    pub registration_endpoint: Option<String>,
    /// The supported challenges of PKCE
    #[serde(default)]
    pub code_challenge_methods_supported: Vec<String>,
    /// How clients authenticate at the token endpoint
    #[serde(default)]
    pub token_endpoint_auth_methods_supported: Vec<String>,
    /// The scopes that it knows
    #[serde(default)]
    pub scopes_supported: Vec<String>,
    /// Whether the id of a client may be the URL of its metadata
    #[serde(default)]
    pub client_id_metadata_document_supported: bool,
    /// Whether `iss` is in every authorization response (RFC 9207)
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
}

/// What a protected resource is, and which authorization servers it trusts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The identifier of the resource, a URL
    pub resource: String,
    /// The issuers of its tokens
    #[serde(default)]
    pub authorization_servers: Vec<String>,
    /// The scopes that it uses
    #[serde(default)]
    pub scopes_supported: Vec<String>,
}

impl ServerMetadata {
    /// Creates the metadata of a server that publishes none. It must support PKCE with S256.
    pub fn new(issuer: impl Into<String>, token_endpoint: impl Into<String>) -> ServerMetadata {
        ServerMetadata {
            issuer: issuer.into(),
            token_endpoint: token_endpoint.into(),
            code_challenge_methods_supported: vec!["S256".to_owned()],
            ..ServerMetadata::default()
        }
    }

    /// Sets where a user logs in.
    pub fn with_authorization_endpoint(mut self, url: impl Into<String>) -> ServerMetadata {
        self.authorization_endpoint = Some(url.into());
        self
    }

    /// Declares that the server supports PKCE with S256, though its metadata does not say so.
    pub fn with_s256(mut self) -> ServerMetadata {
        self.code_challenge_methods_supported = vec!["S256".to_owned()];
        self
    }

    /// Sets where clients are registered.
    pub fn with_registration_endpoint(mut self, url: impl Into<String>) -> ServerMetadata {
        self.registration_endpoint = Some(url.into());
        self
    }

    /// Gets the metadata of an issuer: of RFC 8414, or of `OpenID` Connect.
    pub async fn discover(http: &HttpClient, issuer: &str) -> Result<ServerMetadata, OAuthError> {
        let requester = Requester::new(http);
        let url = parse(issuer)?;
        let path = url.path().trim_end_matches('/');
        let mut places = vec![
            well_known(&url, "oauth-authorization-server", path),
            well_known(&url, "openid-configuration", path),
        ];
        if !path.is_empty() {
            places.push(at(&url, &format!("{path}/.well-known/openid-configuration")));
        }
        let found: ServerMetadata = first(&requester, &places).await?;
        // A server could otherwise speak for another one.
        if found.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            let why = "its metadata is that of another issuer";
            return Err(OAuthError::InvalidAnswer { url: issuer.to_owned(), why });
        }
        Ok(found)
    }
}

impl ResourceMetadata {
    /// Gets the metadata of a resource: from the URL that its answer names in `www-authenticate`, or from the
    /// well-known one.
    pub async fn discover(
        http: &HttpClient,
        resource: &str,
        www_authenticate: Option<&str>,
    ) -> Result<ResourceMetadata, OAuthError> {
        let challenge = www_authenticate.map(Challenge::parse).unwrap_or_default();
        let named = challenge.resource_metadata.as_deref();
        ResourceMetadata::discover_at(http, resource, named).await
    }

    /// Gets the metadata of a resource from a URL, or from the well-known one.
    pub async fn discover_at(
        http: &HttpClient,
        resource: &str,
        named: Option<&str>,
    ) -> Result<ResourceMetadata, OAuthError> {
        let requester = Requester::new(http);
        let url = parse(resource)?;
        let path = url.path().trim_end_matches('/');
        let mut places = vec![well_known(&url, "oauth-protected-resource", path)];
        if let Some(named) = named {
            places = vec![parse(named)?];
        } else if !path.is_empty() {
            places.push(well_known(&url, "oauth-protected-resource", ""));
        }
        let found: ResourceMetadata = first(&requester, &places).await?;
        if !is_within(&found.resource, resource) {
            let why = "its metadata is that of another resource";
            return Err(OAuthError::InvalidAnswer { url: resource.to_owned(), why });
        }
        Ok(found)
    }
}

/// The first document that is found. A place without one, or with a web page in its place, is skipped.
async fn first<T: serde::de::DeserializeOwned>(
    requester: &Requester,
    places: &[Uri],
) -> Result<T, OAuthError> {
    let mut result = Err(OAuthError::Interrupted);
    for place in places {
        result = requester.get(place).await;
        match &result {
            Err(error)
                if error.is_absent() || matches!(error, OAuthError::InvalidAnswer { .. }) => {}
            _ => break,
        }
    }
    result
}

/// Whether a URL is that of a resource, or below it.
fn is_within(resource: &str, url: &str) -> bool {
    let resource = resource.trim_end_matches('/');
    let after = url.strip_prefix(resource);
    after.is_some_and(|after| after.is_empty() || after.starts_with(['/', '?']))
}

/// A well-known URL: between the host and the path.
fn well_known(url: &Uri, name: &str, path: &str) -> Uri {
    at(url, &format!("/.well-known/{name}{path}"))
}

/// Another path of the same origin.
fn at(url: &Uri, path: &str) -> Uri {
    let mut parts = url.clone().into_parts();
    parts.path_and_query = path.parse().ok();
    Uri::from_parts(parts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_well_known_path_is_before_the_path_of_the_issuer() {
        let url = parse("https://auth.test/tenant/1").unwrap();
        assert_eq!(
            well_known(&url, "oauth-authorization-server", url.path()),
            "https://auth.test/.well-known/oauth-authorization-server/tenant/1"
        );
        assert!(parse("http://auth.test").is_err());
        assert!(parse("http://127.0.0.1:1").is_ok());
    }

    #[test]
    fn a_resource_contains_what_is_below_it() {
        assert!(is_within("https://a.test/", "https://a.test/mcp"));
        assert!(is_within("https://a.test/mcp", "https://a.test/mcp"));
        assert!(!is_within("https://a.test/mcp", "https://a.test/mcp2"));
        assert!(!is_within("https://a.test", "https://a.test.evil"));
    }
}
