//! Access tokens of MCP servers: where they are stored, and how they are had.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::Uri;
use tokio::sync::OnceCell;
use toolwright_mcp::client::{Authorization, RegisteredClient};
use toolwright_transport::oauth::{
    EncryptedTokens, Token, TokenFuture, TokenStore, TokenStoreError,
};
use toolwright_transport::{AddressPolicy, HttpClient, Proxy, TransportError};

use super::config::McpLogin;

/// Tokens in the data folder, encrypted. The folder is created when the first one is stored.
pub struct McpTokens {
    folder: PathBuf,
    opened: OnceCell<EncryptedTokens>,
}

impl McpTokens {
    /// Uses a data folder.
    pub fn new(data: &Path) -> McpTokens {
        McpTokens { folder: data.join("mcp-tokens"), opened: OnceCell::new() }
    }

    async fn open(&self) -> Result<&EncryptedTokens, TokenStoreError> {
        self.opened.get_or_try_init(|| async { EncryptedTokens::open_with_key(&self.folder) }).await
    }
}

impl TokenStore for McpTokens {
    fn load<'a>(&'a self, name: &'a str) -> TokenFuture<'a, Option<Token>> {
        Box::pin(async move {
            if self.folder.exists() { self.open().await?.load(name).await } else { Ok(None) }
        })
    }

    fn save<'a>(&'a self, name: &'a str, token: &'a Token) -> TokenFuture<'a, ()> {
        Box::pin(async move { self.open().await?.save(name, token).await })
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenFuture<'a, ()> {
        Box::pin(async move { self.open().await?.remove(name).await })
    }
}

/// Returns the access to a server: that of the gateway, or that of a tenant.
pub fn authorization(
    name: &str,
    tenant: Option<&str>,
    url: &Uri,
    login: &McpLogin,
    tokens: Arc<dyn TokenStore>,
) -> Result<Authorization, TransportError> {
    // The server names its authorization server, so that must not be within this network, unless the server is.
    let mut policy = AddressPolicy::public().with_allowed_url(url);
    if matches!(url.host(), Some("localhost" | "127.0.0.1" | "[::1]")) {
        for address in ["localhost", "127.0.0.0/8", "::1/128"] {
            policy = policy.with_allowed(address)?;
        }
    }
    for address in &login.allow {
        policy = policy.with_allowed(address)?;
    }
    let http = HttpClient::new(format!("the login of the MCP server `{name}`"))?
        .with_proxy(&Proxy::from_env(&|name: &str| std::env::var(name).ok())?)
        .with_policy(policy);
    let name = tenant.map_or_else(|| name.to_owned(), |tenant| format!("{name} {tenant}"));
    let mut authorization =
        Authorization::new(url, &http, tokens, &name).with_scopes(login.scopes.clone());
    if let Some(id) = &login.client_id {
        let mut client = RegisteredClient::new(id);
        if let Some(secret) = &login.client_secret {
            client = client.with_secret(secret.clone());
        }
        if let Some(issuer) = &login.issuer {
            client = client.with_issuer(issuer);
        }
        if login.is_own_user {
            client = client.with_client_credentials();
        }
        authorization = authorization.with_client(client);
    }
    Ok(authorization)
}
