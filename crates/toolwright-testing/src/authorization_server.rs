//! A strict authorization server: it checks every parameter, grants only the first of the scopes, codes are for one
//! use, refresh tokens rotate, and the use of an earlier one revokes them all.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::Request;
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, OwnedRwLockWriteGuard, RwLock};
use toolwright_transport::HttpClient;
use toolwright_transport::oauth::Token;

use crate::server::{Server, read_request};

/// A client with a secret, both with characters that must be encoded.
pub const MACHINE: &str = "machine:1";
pub const SECRET: &str = "sk +%&:ü";

pub struct AuthorizationServer {
    server: Server,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
    /// Locked while refreshes are held back
    gate: Arc<RwLock<()>>,
}

#[derive(Default)]
struct State {
    base: String,
    /// Registered clients, with their redirect URI
    clients: HashMap<String, String>,
    /// Codes that were not used
    codes: HashMap<String, HashMap<String, String>>,
    /// Access tokens that are valid
    valid: Vec<String>,
    /// Refresh tokens, with the client, and whether they were used
    refresh: HashMap<String, (String, bool)>,
    issued: usize,
    /// Whether new access tokens are expired
    issues_expired: bool,
    refreshes: usize,
    requests: usize,
}

impl AuthorizationServer {
    pub async fn start() -> AuthorizationServer {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let server = Server::new(move |mut stream| {
            let shared = Arc::clone(&own);
            async move {
                while let Some((head, body)) = read_request(&mut stream).await {
                    let reply = shared.answer(&head, &body).await;
                    if stream.write_all(reply.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await;
        shared.state.lock().base = server.url();
        AuthorizationServer { server, shared }
    }

    pub fn url(&self, path: &str) -> String {
        self.server.url() + path
    }

    pub fn issuer(&self) -> String {
        self.url("/issuer")
    }

    pub fn resource(&self) -> String {
        self.url("/mcp")
    }

    /// Whether the resource accepts a token.
    pub fn accepts(&self, token: &Token) -> bool {
        self.shared.state.lock().valid.contains(token.access().expose())
    }

    /// Makes the access tokens invalid; refresh tokens stay valid.
    pub fn expire_all(&self) {
        self.shared.state.lock().valid.clear();
    }

    /// Sets whether new access tokens are expired.
    pub fn issue_expired(&self, is_expired: bool) {
        self.shared.state.lock().issues_expired = is_expired;
    }

    pub fn clients(&self) -> usize {
        self.shared.state.lock().clients.len()
    }

    pub fn refreshes(&self) -> usize {
        self.shared.state.lock().refreshes
    }

    pub fn requests(&self) -> usize {
        self.shared.state.lock().requests
    }

    pub fn revoke_all(&self) {
        self.shared.state.lock().revoke();
    }

    /// Holds refreshes back until it is dropped.
    pub fn hold(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.shared.gate).try_write_owned().unwrap()
    }

    pub async fn wait_for_refreshes(&self, count: usize) {
        while self.refreshes() < count {
            self.shared.changed.notified().await;
        }
    }
}

impl Shared {
    async fn answer(&self, head: &str, body: &[u8]) -> String {
        let mut line = head.lines().next().unwrap().split(' ');
        let (method, target) = (line.next().unwrap(), line.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let reply = {
            let mut state = self.state.lock();
            state.requests += 1;
            match (method, path) {
                ("POST", "/token") => state.token(head, body),
                ("POST", "/register") => state.register(body),
                ("GET", "/authorize") => state.authorize(query),
                ("POST", "/mcp") => state.mcp(head, body),
                ("GET", _) => state.metadata(path),
                _ => reply("405 No", "", "{}"),
            }
        };
        self.changed.notify_waiters();
        self.changed.notify_one();
        if path == "/token" {
            let _open = self.gate.read().await;
        }
        reply
    }
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

fn refuse(status: &str, code: &str) -> String {
    reply(status, "content-type: application/json\r\n", &format!("{{\"error\":\"{code}\"}}"))
}

fn json(body: &str) -> String {
    reply("200 OK", "content-type: application/json\r\ncache-control: no-store\r\n", body)
}

/// The parameters of a form, each given once.
fn form(text: &[u8]) -> HashMap<String, String> {
    let mut all = HashMap::new();
    for (name, value) in form_urlencoded::parse(text) {
        assert!(all.insert(name.into_owned(), value.into_owned()).is_none(), "repeated parameter");
    }
    all
}

impl State {
    fn metadata(&self, path: &str) -> String {
        let base = &self.base;
        match path {
            "/.well-known/oauth-authorization-server/issuer" => json(&format!(
                r#"{{"issuer":"{base}/issuer","authorization_endpoint":"{base}/authorize",
                "token_endpoint":"{base}/token","registration_endpoint":"{base}/register",
                "code_challenge_methods_supported":["S256"],
                "authorization_response_iss_parameter_supported":true,"x":[1]}}"#
            )),
            // A document of another issuer
            "/.well-known/openid-configuration/other" => {
                json(&format!(r#"{{"issuer":"{base}/issuer","token_endpoint":"{base}/token"}}"#))
            }
            "/.well-known/oauth-protected-resource/mcp"
            | "/metadata-of-the-resource"
            | "/.well-known/oauth-protected-resource/other-resource" => json(&format!(
                r#"{{"resource":"{base}/mcp","authorization_servers":["{base}/issuer"]}}"#
            )),
            _ => refuse("404 Not Found", "not_found"),
        }
    }

    /// An MCP server without a handshake, with one tool, for clients with a token.
    fn mcp(&self, head: &str, body: &[u8]) -> String {
        let token = head.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
        if !token.is_some_and(|token| self.valid.iter().any(|own| own == token)) {
            let base = &self.base;
            let challenge = format!(
                "www-authenticate: Bearer resource_metadata=\"{base}/metadata-of-the-resource\", \
                 scope=\"read write\"\r\n"
            );
            return reply("401 Who", &challenge, "{}");
        }
        let request: serde_json::Value = serde_json::from_slice(body).unwrap();
        let result = match request["method"].as_str() {
            Some("server/discover") => {
                r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
            }
            _ => r#"{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}"#,
        };
        json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"]))
    }

    fn register(&mut self, body: &[u8]) -> String {
        let request: serde_json::Value = serde_json::from_slice(body).unwrap();
        assert_eq!(request["token_endpoint_auth_method"], "none");
        let uri = request["redirect_uris"][0].as_str().unwrap().to_owned();
        let id = format!("client {}", self.clients.len());
        self.clients.insert(id.clone(), uri);
        let reply = json(&format!("{{\"client_id\":\"{id}\"}}"));
        reply.replacen("200 OK", "201 Created", 1)
    }

    fn authorize(&mut self, query: &str) -> String {
        let parameters = form(query.as_bytes());
        let get = |name: &str| parameters.get(name).map(String::as_str);
        let uri = get("redirect_uri").unwrap().to_owned();
        let id = get("client_id").unwrap();
        assert_eq!(self.clients.get(id), Some(&uri), "an exact redirect URI of a known client");
        assert_eq!(
            (get("response_type"), get("code_challenge_method")),
            (Some("code"), Some("S256"))
        );
        assert_eq!(get("code_challenge").map(str::len), Some(43));
        assert_eq!(get("resource"), Some(&*format!("{}/mcp", self.base)));
        let state = get("state").unwrap().to_owned();
        let code = self.issue("code");
        self.codes.insert(code.clone(), parameters);
        let mut query = form_urlencoded::Serializer::new(String::new());
        let issuer = format!("{}/issuer", self.base);
        query.append_pair("code", &code).append_pair("state", &state).append_pair("iss", &issuer);
        let query = query.finish();
        reply("302 Found", &format!("location: {uri}?{query}\r\n"), "")
    }

    fn issue(&mut self, kind: &str) -> String {
        self.issued += 1;
        format!("{kind}-{}", self.issued)
    }

    fn revoke(&mut self) {
        self.valid.clear();
        self.refresh.clear();
        self.codes.clear();
    }

    fn token(&mut self, head: &str, body: &[u8]) -> String {
        assert!(head.contains("content-type: application/x-www-form-urlencoded\r\n"), "{head}");
        let parameters = form(body);
        let get = |name: &str| parameters.get(name).map_or("", String::as_str);
        let Some(client) = authenticate(head, &parameters) else {
            return refuse("401 Who", "invalid_client");
        };
        if get("resource") != format!("{}/mcp", self.base) {
            return refuse("400 No", "invalid_target");
        }
        let is_machine = client == MACHINE;
        match get("grant_type") {
            "client_credentials" if is_machine => self.grant(None, None),
            "client_credentials" => refuse("401 Who", "invalid_client"),
            "authorization_code" => {
                let Some(asked) = self.codes.remove(get("code")) else {
                    return refuse("400 No", "invalid_grant");
                };
                let challenge =
                    ring::digest::digest(&ring::digest::SHA256, get("code_verifier").as_bytes());
                let challenge = BASE64_URL_SAFE_NO_PAD.encode(challenge);
                let is_same = asked["code_challenge"] == challenge
                    && asked["redirect_uri"] == get("redirect_uri")
                    && asked["client_id"] == client
                    && asked["resource"] == get("resource");
                if !is_same {
                    return refuse("400 No", "invalid_grant");
                }
                // The user grants one scope only.
                let granted = asked.get("scope").and_then(|asked| asked.split(' ').next());
                self.grant(Some(client), granted.map(str::to_owned))
            }
            "refresh_token" => {
                self.refreshes += 1;
                if get("scope").contains(' ') {
                    return refuse("400 No", "invalid_scope");
                }
                match self.refresh.get_mut(get("refresh_token")) {
                    Some((own, used @ false)) if *own == client => *used = true,
                    Some(_) => {
                        self.revoke();
                        return refuse("400 No", "invalid_grant");
                    }
                    None => return refuse("400 No", "invalid_grant"),
                }
                self.valid.clear();
                self.grant(Some(client), Some(get("scope").to_owned()))
            }
            _ => refuse("400 No", "unsupported_grant_type"),
        }
    }

    /// Issues an access token, and a refresh token for a user of a client.
    fn grant(&mut self, client: Option<String>, scope: Option<String>) -> String {
        let access = self.issue("access");
        self.valid.push(access.clone());
        let lifetime = if self.issues_expired { 0 } else { 3600 };
        let mut body =
            format!(r#"{{"access_token":"{access}","token_type":"Bearer","expires_in":{lifetime}"#);
        if let Some(client) = client {
            let refresh = self.issue("refresh");
            write!(body, r#","refresh_token":"{refresh}""#).unwrap();
            self.refresh.insert(refresh, (client, false));
        }
        if let Some(scope) = scope {
            write!(body, r#","scope":"{scope}""#).unwrap();
        }
        json(&(body + "}"))
    }
}

/// The client of a token request, if it has authenticated in exactly one way.
fn authenticate(head: &str, parameters: &HashMap<String, String>) -> Option<String> {
    let basic = head.lines().find_map(|line| line.strip_prefix("authorization: Basic "));
    let decode = |text: &str| {
        let pair = form(format!("x={text}").as_bytes());
        pair["x"].clone()
    };
    let (id, secret) = match basic {
        Some(encoded) => {
            let pair = String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap();
            let (id, secret) = pair.split_once(':').unwrap();
            assert!(!parameters.contains_key("client_secret"));
            (decode(id), Some(decode(secret)))
        }
        None => (parameters.get("client_id")?.clone(), parameters.get("client_secret").cloned()),
    };
    let is_valid = if id == MACHINE { secret.as_deref() == Some(SECRET) } else { secret.is_none() };
    is_valid.then_some(id)
}

/// An HTTP client for the server.
pub fn http() -> HttpClient {
    HttpClient::new("the authorization server").unwrap()
}

/// Follows a redirect as a browser does, up to the redirect URI, and returns its URL.
pub async fn browse(url: &str) -> String {
    let request = Request::get(url).body(Bytes::new()).unwrap();
    let reply = http().send(request).await.unwrap();
    assert_eq!(reply.status, 302, "{url}");
    reply.headers["location"].to_str().unwrap().to_owned()
}
