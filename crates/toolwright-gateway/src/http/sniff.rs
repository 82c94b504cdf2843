//! Detects the HTTP version by the first bytes: HTTP/2 begins with a fixed preface.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The connection preface of HTTP/2.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The HTTP version of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVersion {
    /// HTTP/1.1 or 1.0
    Http1,
    /// HTTP/2
    Http2,
}

/// Reads until the version is known; returns it with the bytes that were read.
pub(super) async fn sniff(io: &mut (impl AsyncRead + Unpin)) -> io::Result<(HttpVersion, Bytes)> {
    let mut first = [0; PREFACE.len()];
    let mut filled = 0;
    while filled < first.len() {
        let read = io.read(&mut first[filled..]).await?;
        filled += read;
        if read == 0 || first[..filled] != PREFACE[..filled] {
            return Ok((HttpVersion::Http1, Bytes::copy_from_slice(&first[..filled])));
        }
    }
    Ok((HttpVersion::Http2, Bytes::copy_from_slice(&first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_preface_is_known_on_any_split() {
        for split in 0..PREFACE.len() {
            let (one, two) = PREFACE.split_at(split);
            let mut io = one.chain(two).chain(&b"rest"[..]);
            assert_eq!(
                sniff(&mut io).await.unwrap(),
                (HttpVersion::Http2, Bytes::from_static(PREFACE))
            );
        }
    }

    #[tokio::test]
    async fn all_else_is_left_to_http1() {
        for text in ["", "P", "PRI * HTTP/2.0\r\n", "POST / HTTP/1.1\r\nhost: a\r\n\r\n"] {
            let (spoken, first) = sniff(&mut text.as_bytes()).await.unwrap();
            assert_eq!(spoken, HttpVersion::Http1);
            assert!(text.as_bytes().starts_with(&first));
        }
    }
}
