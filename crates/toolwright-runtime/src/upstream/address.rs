//! The base URL of an upstream, and the URI of each request.

use http::uri::{Authority, InvalidUri, PathAndQuery, Scheme};
use http::{Uri, uri};
use toolwright_dialects::dialect::Dialect;

/// The default port of Ollama.
const OLLAMA_PORT: u16 = 11434;

/// A parsed base URL, so that a request parses only its path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Address {
    scheme: Scheme,
    authority: Authority,
    /// The path before the codec's, without a trailing slash
    prefix: Box<str>,
}

impl Address {
    /// Parses a base URL, or says what is wrong with it.
    pub(crate) fn parse(text: &str, dialect: Dialect) -> Result<Address, &'static str> {
        let text = text.trim();
        let spelled = (dialect == Dialect::Ollama).then(|| ollama(text));
        let text = spelled.as_deref().unwrap_or(text);
        if !text.contains("://") {
            return Err("has no scheme; begin it with https:// (or http://)");
        }
        if text.contains(['?', '#']) {
            return Err("has a query or a fragment; leave them out");
        }
        let parts = Uri::try_from(text).map_err(|_| "is not a URL")?.into_parts();
        let scheme = parts.scheme.ok_or("is not a URL")?;
        if scheme != Scheme::HTTPS && scheme != Scheme::HTTP {
            return Err("must begin with https:// or http://");
        }
        let authority = parts.authority.ok_or("names no host")?;
        if authority.as_str().contains('@') {
            return Err("has a user or a password in it; give them as the upstream's key");
        }
        let path = parts.path_and_query.as_ref().map_or("", PathAndQuery::path);
        let prefix = path.trim_end_matches('/').into();
        Ok(Address { authority: without_default_port(authority, &scheme)?, scheme, prefix })
    }

    /// The value of the `Host` header: the host, with its port unless it is the scheme's default.
    pub(crate) fn host(&self) -> &str {
        self.authority.as_str()
    }

    /// The URI with the path `/`.
    pub(crate) fn root(&self) -> Uri {
        self.target("/".to_owned()).unwrap_or_default()
    }

    /// The URI of a request, for the path that the codec wrote.
    pub(crate) fn target(&self, path: String) -> Result<Uri, InvalidUri> {
        let path = PathAndQuery::from_maybe_shared(bytes::Bytes::from(self.join(path)))?;
        let mut parts = uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        // All three parts are there, which is all that this asks for.
        Ok(Uri::from_parts(parts).unwrap_or_default())
    }

    /// Puts the prefix before a path. The base URL may or may not end with the version that the codec's
    /// path begins with, since SDKs differ in it.
    fn join(&self, path: String) -> String {
        let prefix = &*self.prefix;
        if prefix.is_empty() {
            return path;
        }
        // `/api/v1` and `/v1/chat`, `/beta` and `/beta/chat`.
        for (at, _) in prefix.match_indices('/') {
            if let Some(rest) = path.strip_prefix(&prefix[at..])
                && (rest.is_empty() || rest.starts_with(['/', '?']))
            {
                return [prefix, rest].concat();
            }
        }
        let (front, last) = prefix.rsplit_once('/').unwrap_or_default();
        let bare = path.strip_prefix('/').unwrap_or(&path);
        let first = &bare[..bare.find(['/', '?']).unwrap_or(bare.len())];
        match (is_version(last), is_version(first)) {
            // DeepSeek's strict tools are at `/beta` only, whatever version is usual.
            (true, true) if first == "beta" => [front, &path].concat(),
            // `/api/v3` and `/v1/chat`: the version of the base URL takes precedence.
            (true, true) => [prefix, &bare[first.len()..]].concat(),
            _ => [prefix, &path].concat(),
        }
    }
}

/// Whether a path segment is a version: `v1`, `v1beta`, `beta`.
fn is_version(segment: &str) -> bool {
    let after = segment.strip_prefix('v');
    segment == "beta" || after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

/// Removes the default port of the scheme: a signature covers the host, and the two sides would write it
/// differently.
fn without_default_port(authority: Authority, scheme: &Scheme) -> Result<Authority, &'static str> {
    let default = if *scheme == Scheme::HTTPS { 443 } else { 80 };
    let text = authority.as_str();
    if authority.host().is_empty() {
        return Err("names no host");
    }
    // What follows the host is `:` and digits that fit a port, or the port is wrong.
    let named = text.len() > authority.host().len();
    match authority.port_u16() {
        Some(port) if port == default => {
            Authority::try_from(authority.host()).map_err(|_| "is not a URL")
        }
        None if named => Err("has an invalid port"),
        _ => Ok(authority),
    }
}

/// Expands the forms that Ollama's own client accepts in `OLLAMA_HOST`: a bare host, a bare port, and the
/// address that a server listens on.
fn ollama(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    let port = match (port, scheme) {
        (Some(port), _) => format!(":{port}"),
        (None, "") => format!(":{OLLAMA_PORT}"),
        (None, _) => String::new(),
    };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    format!("{scheme}://{name}{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(base: &str, dialect: Dialect, path: &str) -> String {
        let address = Address::parse(base, dialect).unwrap();
        address.target(path.to_owned()).unwrap().to_string()
    }

    #[test]
    fn the_base_url_may_end_with_a_version() {
        let cases = [
            ("https://api.openai.com", "/v1/chat/completions", "/v1/chat/completions"),
            ("https://api.openai.com/", "/v1/chat/completions", "/v1/chat/completions"),
            ("https://api.openai.com/v1", "/v1/chat/completions", "/v1/chat/completions"),
            ("https://api.openai.com/v1/", "/v1/chat/completions", "/v1/chat/completions"),
            ("https://api.openai.com/v1", "/v10/chat", "/v1/chat"),
            (
                "https://api.openai.com/openai",
                "/v1/chat/completions",
                "/openai/v1/chat/completions",
            ),
            ("https://api.openai.com/api/v3", "/v1/chat/completions", "/api/v3/chat/completions"),
            ("https://api.openai.com/api/paas/v4", "/v4/chat", "/api/paas/v4/chat"),
            ("https://api.openai.com/beta", "/chat/completions", "/beta/chat/completions"),
            ("https://api.openai.com/beta", "/beta/chat/completions", "/beta/chat/completions"),
            ("https://api.openai.com/v1", "/beta/chat/completions", "/beta/chat/completions"),
            ("https://api.openai.com/v1", "/chat/completions", "/v1/chat/completions"),
            (
                "https://api.openai.com/v1beta",
                "/v1beta/models/m:x?alt=sse",
                "/v1beta/models/m:x?alt=sse",
            ),
            ("https://api.openai.com/v1", "/v1?x=/v1", "/v1?x=/v1"),
            (
                "https://api.openai.com/a",
                "/model/a%3Ab%2Fc/converse",
                "/a/model/a%3Ab%2Fc/converse",
            ),
        ];
        for (base, path, wanted) in cases {
            let got = target(base, Dialect::OpenaiChat, path);
            assert_eq!(got, format!("https://api.openai.com{wanted}"), "{base} {path}");
        }
    }

    #[test]
    fn every_form_of_ollama_host_is_understood() {
        let cases = [
            ("127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("127.0.0.1", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            (":9000", "http://127.0.0.1:9000"),
            ("[::]:9000", "http://[::1]:9000"),
            ("[::1]", "http://[::1]:11434"),
            ("http://ollama", "http://ollama"),
            ("http://ollama:80", "http://ollama"),
            ("https://ollama.com/", "https://ollama.com"),
            ("ollama.internal/proxy", "http://ollama.internal:11434/proxy"),
        ];
        for (base, wanted) in cases {
            let got = target(base, Dialect::Ollama, "/api/chat");
            assert_eq!(got, format!("{wanted}/api/chat"), "{base}");
        }
    }

    #[test]
    fn the_port_of_the_scheme_is_left_out_of_the_host() {
        let host = |base| Address::parse(base, Dialect::Bedrock).unwrap().host().to_owned();
        assert_eq!(host("https://bedrock.test:443"), "bedrock.test");
        assert_eq!(host("https://bedrock.test:80"), "bedrock.test:80");
        assert_eq!(host("http://[::1]:80/x"), "[::1]");
    }

    #[test]
    fn an_invalid_base_url_is_refused() {
        for base in [
            "",
            "api.openai.com",
            "ftp://api.openai.com",
            "https://",
            "https://user:word@api.openai.com",
            "https://api.openai.com?key=1",
            "https://api.openai.com/#x",
            "https://api.openai.com:99999",
            "https://api openai.com",
        ] {
            assert!(Address::parse(base, Dialect::OpenaiChat).is_err(), "{base}");
        }
    }
}
