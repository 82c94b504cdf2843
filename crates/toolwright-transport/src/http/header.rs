//! Headers that belong to the connection, and headers that hold secrets.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::error::TransportError;

/// Headers that control the framing or routing of a message: hop-by-hop ones (RFC 9110 §7.6.1), and those
/// that hyper writes itself.
pub const FRAMING: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
    header::HOST,
    header::CONTENT_LENGTH,
];

/// Removes the headers of [`FRAMING`], and the hop-by-hop headers that `Connection` names.
pub fn remove_connection_headers(headers: &mut HeaderMap) {
    let lines: Vec<HeaderValue> = headers.get_all(header::CONNECTION).iter().cloned().collect();
    for name in lines.iter().flat_map(|line| line.to_str().unwrap_or_default().split(',')) {
        headers.remove(name.trim());
    }
    for name in &FRAMING {
        headers.remove(name);
    }
}

/// A header value that `Debug` does not print and HTTP/2 does not index.
pub fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Parses a configured header, as one whose value is a secret.
pub(super) fn configured(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), TransportError> {
    let invalid = |why| TransportError::Header { name: name.to_owned(), why };
    let header = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| invalid("is not a valid header name"))?;
    if FRAMING.contains(&header) {
        return Err(invalid("cannot be configured; it belongs to the connection"));
    }
    let why = "has characters that are not valid in an HTTP header";
    Ok((header, sensitive(value).ok_or_else(|| invalid(why))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_any_line_of_connection_names_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("connection", "close, x-a"), ("connection", "x-b"), ("x-a", "1"), ("x-b", "2")]
        {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.insert("upgrade", HeaderValue::from_static("h2c"));
        headers.insert("x-c", HeaderValue::from_static("3"));
        remove_connection_headers(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-c"]);
    }
}
