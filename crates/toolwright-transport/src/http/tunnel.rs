//! Opens a tunnel through an HTTP proxy with `CONNECT`.

use std::error::Error;

use http::HeaderValue;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zeroize::Zeroizing;

/// Maximum size, in bytes, of the proxy's response head.
const MAX_RESPONSE_BYTES: usize = 16 << 10;

/// Why a proxy connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyError {
    /// The proxy cannot be reached
    #[error("the proxy cannot be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The proxy requires authentication
    #[error("the proxy requires authentication")]
    Credential,
    /// The proxy refused the request
    #[error("the proxy refused the CONNECT request with status {0}")]
    Refused(u16),
    /// The response is not that of an HTTP proxy
    #[error("the response to CONNECT is not that of an HTTP proxy")]
    InvalidResponse,
    /// The SOCKS proxy cannot be reached, or refused the connection
    #[error("the SOCKS proxy cannot be reached, or refused the connection")]
    Socks,
}

/// Opens a tunnel to a host and port through the proxy at the other end of a stream.
pub(crate) async fn open<S: Read + Write + Unpin>(
    stream: S,
    destination: &str,
    credential: Option<&HeaderValue>,
) -> Result<S, ProxyError> {
    let mut head = Zeroizing::new(Vec::with_capacity(256));
    head.extend_from_slice(
        format!("CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n").as_bytes(),
    );
    if let Some(credential) = credential {
        head.extend_from_slice(b"Proxy-Authorization: ");
        head.extend_from_slice(credential.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let mut stream = TokioIo::new(stream);
    let broken = |error: std::io::Error| ProxyError::Unreachable(error.into());
    stream.write_all(&head).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;
    let mut answer = Vec::with_capacity(512);
    while !answer.ends_with(b"\r\n\r\n") {
        // Bytes after the head are not from the upstream, which waits for the client. A refusal may
        // have a body.
        let ended = answer.windows(4).any(|four| four == b"\r\n\r\n");
        if ended || answer.len() > MAX_RESPONSE_BYTES {
            return Err(status(&answer).err().unwrap_or(ProxyError::InvalidResponse));
        }
        if stream.read_buf(&mut answer).await.map_err(broken)? == 0 {
            return Err(ProxyError::InvalidResponse);
        }
    }
    status(&answer)?;
    Ok(stream.into_inner())
}

/// Parses the status line.
fn status(answer: &[u8]) -> Result<(), ProxyError> {
    let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words = std::str::from_utf8(line).unwrap_or_default();
    let mut words = words.split(' ');
    let begins = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    match words.next().and_then(|code| code.parse().ok()) {
        Some(200..300) if begins => Ok(()),
        Some(407) if begins => Err(ProxyError::Credential),
        Some(code) if begins => Err(ProxyError::Refused(code)),
        _ => Err(ProxyError::InvalidResponse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answered(answer: &'static str) -> String {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let proxy = async move {
            let mut head = vec![0; 4096];
            let length = theirs.read(&mut head).await.unwrap();
            theirs.write_all(answer.as_bytes()).await.unwrap();
            theirs.shutdown().await.unwrap();
            String::from_utf8(head[..length].to_vec()).unwrap()
        };
        let credential = HeaderValue::from_static("Basic eDp5");
        let opened = open(TokioIo::new(ours), "api.test:443", Some(&credential));
        let (opened, head) = tokio::join!(opened, proxy);
        assert_eq!(
            head,
            "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\
             Proxy-Authorization: Basic eDp5\r\n\r\n"
        );
        opened.map_or_else(|error| error.to_string(), |_| "open".to_owned())
    }

    #[tokio::test]
    async fn only_a_success_without_a_body_opens_a_tunnel() {
        const INVALID: &str = "the response to CONNECT is not that of an HTTP proxy";
        let page = Box::leak(format!("HTTP/1.1 403 No\r\nx: y\r\n\r\n{}", "x".repeat(99)).into());
        let flood =
            Box::leak(format!("HTTP/1.1 200 Yes\r\nx: {}", "x".repeat(MAX_RESPONSE_BYTES)).into());
        for (answer, said) in [
            ("HTTP/1.1 200 Connection established\r\n\r\n", "open"),
            ("HTTP/1.0 200 OK\r\nvia: x\r\n\r\n", "open"),
            ("HTTP/1.1 407 Who?\r\n\r\n", "the proxy requires authentication"),
            (page, "the proxy refused the CONNECT request with status 403"),
            ("HTTP/1.1 200 OK\r\n\r\nhello", INVALID),
            ("SSH-2.0-x\r\n\r\n", INVALID),
            ("HTTP/1.1 200 OK\r\n", INVALID),
            ("", INVALID),
            (flood, INVALID),
        ] {
            assert_eq!(answered(answer).await, said, "{}", &answer[..answer.len().min(40)]);
        }
    }
}
