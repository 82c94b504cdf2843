//! Receives the redirect of a login on a loopback port (RFC 8252 §7.3).

use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::client::PendingLogin;
use super::error::OAuthError;

/// Maximum size, in bytes, of a request head.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Maximum time for a browser to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of connections that are read at once.
const MAX_CONNECTIONS: usize = 16;
const PATH: &str = "/callback";

/// Listens on a free loopback port for the redirect of a login.
#[derive(Debug)]
pub struct LoopbackListener {
    listener: TcpListener,
    port: u16,
}

impl LoopbackListener {
    /// Listens on a port, for clients whose redirect URI is registered with it.
    pub async fn bind_port(port: u16) -> io::Result<LoopbackListener> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        Ok(LoopbackListener { listener, port })
    }

    /// The redirect URI for [`OAuthClient::authorize`](super::OAuthClient::authorize).
    pub fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser, and returns the query of the redirect. Other requests, and redirects of other
    /// logins, are answered and ignored.
    pub async fn wait(
        &self,
        login: &PendingLogin,
        deadline: Duration,
    ) -> Result<String, OAuthError> {
        let accept = async {
            // Browsers open connections that they may not use.
            let mut requests = FuturesUnordered::new();
            loop {
                tokio::select! {
                    accepted = self.listener.accept(), if requests.len() < MAX_CONNECTIONS => {
                        let (stream, _) = accepted.map_err(|error| OAuthError::Callback {
                            why: format!("the loopback port cannot be read: {error}"),
                        })?;
                        requests.push(receive(stream, login));
                    }
                    Some(received) = requests.next() => {
                        if let Some(query) = received {
                            return Ok(query);
                        }
                    }
                }
            }
        };
        match tokio::time::timeout(deadline, accept).await {
            Ok(result) => result,
            Err(_) => Err(OAuthError::Callback {
                why: format!(
                    "nobody logged in within {} s; start the login again",
                    deadline.as_secs()
                ),
            }),
        }
    }
}

/// Answers a request. Returns the query if it is the redirect of the login.
async fn receive(mut stream: TcpStream, login: &PendingLogin) -> Option<String> {
    let head = tokio::time::timeout(REQUEST_TIMEOUT, read_target(&mut stream)).await;
    let query = head.ok().flatten().as_deref().and_then(callback_query);
    let query = query.filter(|query| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.any(|(name, value)| name == "state" && login.has_state(&value))
    });
    answer(&mut stream, query.is_some()).await;
    query
}

/// The target of a GET request.
async fn read_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let line = std::str::from_utf8(&head).ok()?.lines().next()?;
    Some(line.strip_prefix("GET ")?.split(' ').next()?.to_owned())
}

fn callback_query(target: &str) -> Option<String> {
    Some(target.strip_prefix(PATH)?.strip_prefix('?')?.to_owned())
}

/// Answers the browser. It may be gone already.
async fn answer(stream: &mut TcpStream, is_callback: bool) {
    let (status, text) = if is_callback {
        ("200 OK", "The login is finished. You can close this window.")
    } else {
        ("404 Not Found", "There is nothing here.")
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    let _sent = stream.write_all(reply.as_bytes()).await;
    let _closed = stream.shutdown().await;
}
