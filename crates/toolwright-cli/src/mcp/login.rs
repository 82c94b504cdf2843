//! `toolwright mcp login` and `mcp logout`: access tokens of MCP servers.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use toolwright_gateway::Config;
use toolwright_gateway::mcp::config::{McpLogin, McpPlace};
use toolwright_gateway::mcp::{self, McpTokens};
use toolwright_gateway::terminal::{self, counted};
use toolwright_mcp::client::{Authorization, LoginFuture, LoginHandler, ServerUrl};
use toolwright_mcp::{Client, ClientError};
use toolwright_transport::oauth::{Challenge, LoopbackListener, OAuthError, PendingLogin};

use super::unknown;
use crate::exit::{self, Failure, Result};

/// How long the user may take to log in.
const LOGIN_DEADLINE: Duration = Duration::from_mins(10);

#[derive(Debug, Args)]
pub(super) struct Login {
    /// The name of the server
    server: String,
    /// Ask for these scopes as well, separated by spaces
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// Log in for a tenant of the gateway, if the server wants the tokens of callers
    #[arg(long)]
    tenant: Option<String>,
    /// Print the URL and do not open a browser
    #[arg(long)]
    no_browser: bool,
}

#[derive(Debug, Args)]
pub(super) struct Logout {
    /// The name of the server
    server: String,
    /// Remove the token of a tenant
    #[arg(long)]
    tenant: Option<String>,
}

/// Sends the user to a login in a browser on this machine.
struct BrowserLogin {
    listener: LoopbackListener,
    opens_browser: bool,
}

impl LoginHandler for BrowserLogin {
    fn redirect_uri(&self) -> String {
        self.listener.redirect_uri()
    }

    fn log_in<'l>(&'l self, login: &'l PendingLogin) -> LoginFuture<'l> {
        Box::pin(async move {
            let url = terminal::plain(login.url());
            let text = format!("open this URL in a browser on this machine:\n\n{url}\n");
            terminal::write(&text).map_err(|error| OAuthError::Callback {
                why: format!("the URL cannot be printed: {error}"),
            })?;
            if self.opens_browser {
                open(login.url());
            }
            self.listener.wait(login, LOGIN_DEADLINE).await
        })
    }
}

/// Opens a URL in the browser of the user. The URL is printed as well, so a failure is ignored.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(command.spawn());
}

/// A server over HTTP, and the access to it.
struct Place<'c> {
    url: &'c http::Uri,
    http: toolwright_transport::HttpClient,
    login: &'c McpLogin,
    authorization: Authorization,
}

fn place<'c>(config: &'c Config, name: &str, tenant: Option<&str>) -> Result<Place<'c>> {
    let settings = config.mcp.get(name).ok_or_else(|| unknown(config, name))?;
    let McpPlace::Url { url, headers, login, has_caller_tokens } = &settings.place else {
        let what = format!("{name} is a program, and programs have no login");
        return Err(Failure::failed(what).with_hint(format!("set its secrets in [mcp.{name}.env]")));
    };
    if tenant.is_some() && !has_caller_tokens {
        let what = format!("{name} does not use the tokens of callers");
        return Err(Failure::failed(what)
            .with_hint(format!("add token = {{ caller = true }} to [mcp.{name}]")));
    }
    if headers.iter().any(|(header, _)| header.eq_ignore_ascii_case("authorization")) {
        let what = format!("the headers of {name} have an authorization already");
        return Err(Failure::failed(what).with_hint(format!("remove it from [mcp.{name}.headers]")));
    }
    let http = mcp::http(name, headers).map_err(exit::failed)?;
    let tokens = Arc::new(McpTokens::new(&config.data));
    let authorization =
        mcp::authorization(name, tenant, url, login, tokens).map_err(exit::failed)?;
    Ok(Place { url, http, login, authorization })
}

impl Login {
    pub(super) async fn run(self, config: &Config) -> Result<()> {
        let name = &self.server;
        let Place { url, http, login, authorization } =
            place(config, name, self.tenant.as_deref())?;
        if login.is_own_user {
            let what = format!("{name} needs no login: its client gets tokens by its own secret");
            return Err(Failure::failed(what));
        }
        let scopes = self.scope.iter().flat_map(|scopes| scopes.split_whitespace());
        let scopes: Vec<String> =
            login.scopes.iter().cloned().chain(scopes.map(str::to_owned)).collect();
        let challenge = challenge(name, ServerUrl::new(url.clone(), http.clone())).await?;
        let listener = LoopbackListener::bind_port(login.redirect_port.unwrap_or_default()).await;
        let handler = BrowserLogin {
            listener: listener.map_err(exit::io("the port of the redirect URI"))?,
            opens_browser: !self.no_browser,
        };
        let authorization = authorization.with_scopes(scopes).with_handler(Arc::new(handler));
        authorization.log_in(&challenge).await.map_err(|error| refused(name, &error))?;
        let server = ServerUrl::new(url.clone(), http).with_authorization(authorization);
        let client = Client::new(name.as_str(), server);
        let tools = client.list_tools().await;
        client.close().await;
        let tools = tools.map_err(exit::failed)?.len();
        let tools = counted(tools, "tool", "tools");
        exit::print(&format!("logged in to {name}, which has {tools}"))
    }
}

/// What the server says about the tokens that it wants.
async fn challenge(name: &str, server: ServerUrl) -> Result<Challenge> {
    let client = Client::new(name, server);
    let listed = client.list_tools().await;
    client.close().await;
    match listed {
        Err(ClientError::Unauthorized { challenge, .. }) => Ok(challenge),
        // Some tools may want a token nevertheless.
        Ok(_) => Ok(Challenge::default()),
        Err(error) => Err(Failure::failed(error.operator_text())),
    }
}

fn refused(name: &str, error: &OAuthError) -> Failure {
    let failure = Failure::failed(terminal::plain(&error.to_string()));
    match error {
        OAuthError::Unsupported { .. } => failure.with_hint(format!(
            "register a client there, and write its client_id into [mcp.{name}.login]"
        )),
        _ => failure,
    }
}

impl Logout {
    pub(super) async fn run(self, config: &Config) -> Result<()> {
        let place = place(config, &self.server, self.tenant.as_deref())?;
        place.authorization.log_out().await.map_err(|error| refused(&self.server, &error))?;
        exit::print(&format!("logged out of {}", self.server))
    }
}
