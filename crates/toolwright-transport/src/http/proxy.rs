//! The proxy of an upstream: none, a configured one, or the one that environment variables name.
//!
//! `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` have precedence over their uppercase forms and
//! mean what they mean to curl, except that loopback addresses are always reached directly. The proxy is
//! chosen for each URL; `connector` connects through it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

use super::error::TransportError;
use crate::environment::{self, Environment};
use crate::secret::SecretString;

const HTTPS: &[&str] = &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const HTTP: &[&str] = &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const NO_PROXY: &[&str] = &["no_proxy", "NO_PROXY"];
/// The default port of a SOCKS proxy.
const SOCKS_PORT: u16 = 1080;

/// The proxies for http and https upstreams.
#[derive(Clone, Default, PartialEq)]
pub struct Proxy {
    http: Option<ProxyTarget>,
    https: Option<ProxyTarget>,
    /// Hosts that are reached directly; set if the proxies come from variables
    direct: Option<DirectHosts>,
}

/// The hosts of `no_proxy`: host names, which include their subdomains, addresses, networks, or `*`.
#[derive(Clone)]
struct DirectHosts {
    list: String,
    matcher: Arc<Matcher>,
}

impl DirectHosts {
    fn new(list: String) -> DirectHosts {
        let matcher = Matcher::builder().all("http://proxy").no(list.as_str()).build();
        DirectHosts { list, matcher: Arc::new(matcher) }
    }

    fn contains(&self, uri: &Uri) -> bool {
        is_loopback_host(uri.host().unwrap_or_default()) || self.matcher.intercept(uri).is_none()
    }
}

impl PartialEq for DirectHosts {
    fn eq(&self, other: &DirectHosts) -> bool {
        self.list == other.list
    }
}

impl Proxy {
    /// No proxy: upstreams are reached directly.
    pub fn none() -> Proxy {
        Proxy::default()
    }

    /// One proxy for every upstream: `http://`, `https://` or `socks5://`, with user and password if it
    /// requires them.
    pub fn new(url: &str) -> Result<Proxy, TransportError> {
        let target = ProxyTarget::parse(url).map_err(|why| TransportError::Proxy { why })?;
        Ok(Proxy { http: Some(target.clone()), https: Some(target), direct: None })
    }

    /// The proxies that environment variables name.
    pub fn from_env(variables: Environment<'_>) -> Result<Proxy, TransportError> {
        let target = |names: &'static [&'static str]| {
            let Some((variable, url)) = environment::first(names, variables) else {
                return Ok(None);
            };
            let wrong = |why| TransportError::ProxyVariable { variable, why };
            ProxyTarget::parse(&url).map(Some).map_err(wrong)
        };
        let direct = environment::first(NO_PROXY, variables).map(|(_, hosts)| hosts);
        let direct = Some(DirectHosts::new(direct.unwrap_or_default()));
        Ok(Proxy { http: target(HTTP)?, https: target(HTTPS)?, direct })
    }

    /// Whether no proxy is configured.
    pub(super) fn is_none(&self) -> bool {
        self.http.is_none() && self.https.is_none()
    }

    /// The proxy on the way to the host of a URI.
    pub(super) fn target_for(&self, uri: &Uri) -> Option<&ProxyTarget> {
        let target = if uri.scheme() == Some(&Scheme::HTTPS) { &self.https } else { &self.http };
        let target = target.as_ref()?;
        let is_direct = self.direct.as_ref().is_some_and(|hosts| hosts.contains(uri));
        (!is_direct).then_some(target)
    }

    /// The proxy of one host, so that it need not be looked up for each request.
    #[must_use]
    pub fn for_host(&self, uri: &Uri) -> Proxy {
        match self.target_for(uri).cloned() {
            Some(target) => Proxy { http: Some(target.clone()), https: Some(target), direct: None },
            None => Proxy::none(),
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = self.http.is_some() || self.https.is_some();
        formatter.write_str(if some { "Proxy(…)" } else { "Proxy(none)" })
    }
}

/// Whether a host name or address is that of this machine.
fn is_loopback_host(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let named = host == "localhost" || host.ends_with(".localhost");
    named || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// One proxy: its address and its credential.
#[derive(Clone)]
pub(crate) struct ProxyTarget {
    /// Its address
    pub(crate) uri: Uri,
    /// Its protocol and credential
    pub(crate) kind: ProxyProtocol,
    /// The URL that it was parsed from
    url: SecretString,
}

/// The protocol of a proxy, with its credential.
#[derive(Clone)]
pub(crate) enum ProxyProtocol {
    /// HTTP, with a value for `proxy-authorization`
    Http(Option<HeaderValue>),
    /// SOCKS 5, with user and password
    Socks(Option<(String, SecretString)>),
}

impl ProxyTarget {
    /// Parses the URL of a proxy, or says what is wrong with it. The default scheme is http.
    fn parse(url: &str) -> Result<ProxyTarget, &'static str> {
        let url = url.trim();
        let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
        if !["http", "https", "socks5", "socks5h"].contains(&scheme) {
            return Err("must begin with http://, https:// or socks5://");
        }
        let matcher = Matcher::builder().all(url).build();
        let place = Uri::from_static("https://anywhere");
        let found = matcher.intercept(&place).ok_or("is not a URL, such as http://proxy:3128")?;
        let uri = found.uri();
        let kind = match found.raw_auth() {
            _ if !scheme.starts_with("socks") => ProxyProtocol::Http(found.basic_auth().cloned()),
            None => ProxyProtocol::Socks(None),
            Some((user, word)) => ProxyProtocol::Socks(Some((user.to_owned(), word.into()))),
        };
        let uri = match (&kind, uri.port_u16(), uri.host()) {
            (_, _, None | Some("")) => return Err("names no host"),
            (ProxyProtocol::Socks(_), None, Some(host)) => {
                format!("{scheme}://{host}:{SOCKS_PORT}/")
                    .parse()
                    .map_err(|_| "is not a URL, such as socks5://proxy:1080")?
            }
            _ => uri.clone(),
        };
        Ok(ProxyTarget { uri, kind, url: url.into() })
    }

    /// Whether the proxy forwards requests to a URI; otherwise it opens a tunnel.
    pub(super) fn forwards(&self, uri: &Uri) -> bool {
        matches!(self.kind, ProxyProtocol::Http(_)) && uri.scheme() == Some(&Scheme::HTTP)
    }

    /// The `proxy-authorization` value of a request, if the proxy forwards it.
    pub(super) fn credential_for(&self, uri: &Uri) -> Option<&HeaderValue> {
        match &self.kind {
            ProxyProtocol::Http(credential) if self.forwards(uri) => credential.as_ref(),
            _ => None,
        }
    }
}

impl PartialEq for ProxyTarget {
    fn eq(&self, other: &ProxyTarget) -> bool {
        self.url.expose() == other.url.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy_for(variables: &[(&str, &str)], base: &str) -> Option<String> {
        let environment = |name: &str| {
            let own = variables.iter().find(|(own, _)| *own == name);
            own.map(|(_, value)| (*value).to_owned())
        };
        let proxy = Proxy::from_env(&environment).unwrap();
        proxy.target_for(&base.parse().unwrap()).map(|target| target.uri.to_string())
    }

    #[test]
    fn variables_name_a_proxy_for_each_scheme() {
        let both = [("HTTPS_PROXY", "http://secure:1"), ("http_proxy", "plain:2")];
        assert_eq!(proxy_for(&both, "https://api.test").as_deref(), Some("http://secure:1/"));
        assert_eq!(proxy_for(&both, "http://api.test").as_deref(), Some("http://plain:2/"));
        let all = [("ALL_PROXY", "socks5h://all"), ("https_proxy", "https://small")];
        assert_eq!(proxy_for(&all, "https://api.test").as_deref(), Some("https://small/"));
        assert_eq!(proxy_for(&all, "http://api.test").as_deref(), Some("socks5h://all:1080/"));
        let cases = [("https_proxy", "small:1"), ("HTTPS_PROXY", "large:1")];
        assert_eq!(proxy_for(&cases, "https://api.test").as_deref(), Some("http://small:1/"));
        assert_eq!(proxy_for(&[("HTTPS_PROXY", "")], "https://api.test"), None);
    }

    #[test]
    fn no_proxy_and_loopback_hosts_are_reached_directly() {
        let list = ".corp.test, other.test,10.0.0.0/8, [::2]";
        let some = [("all_proxy", "proxy:1"), ("NO_PROXY", list)];
        for direct in [
            "https://corp.test",
            "https://a.corp.test",
            "https://OTHER.test:8443",
            "http://10.1.2.3",
            "http://localhost:11434",
            "http://127.0.0.9",
            "http://[::1]:80",
            "http://ollama.localhost",
        ] {
            assert_eq!(proxy_for(&some, direct), None, "{direct}");
        }
        for far in ["https://another.test", "http://11.1.2.3", "https://localhost.test"] {
            assert!(proxy_for(&some, far).is_some(), "{far}");
        }
        assert_eq!(
            proxy_for(&[("all_proxy", "proxy:1"), ("no_proxy", "*")], "https://api.test"),
            None
        );
    }

    #[test]
    fn a_configured_proxy_serves_every_address() {
        let address = Uri::from_static("http://127.0.0.1:11434");
        assert!(Proxy::new("http://proxy:3128").unwrap().target_for(&address).is_some());
        assert!(Proxy::none().target_for(&address).is_none());
    }

    #[test]
    fn credentials_are_removed_from_the_address_and_from_debug_output() {
        let target = ProxyTarget::parse("http://user:p%40ss@proxy:3128").unwrap();
        assert_eq!(target.uri, "http://proxy:3128/");
        let credential = target.credential_for(&Uri::from_static("http://api.test")).unwrap();
        assert_eq!(credential, "Basic dXNlcjpwQHNz");
        assert!(credential.is_sensitive());
        assert!(target.credential_for(&Uri::from_static("https://api.test")).is_none());
        let ProxyProtocol::Socks(Some((user, word))) =
            ProxyTarget::parse("socks5://user:pass@proxy").unwrap().kind
        else {
            panic!("a user was named");
        };
        assert_eq!((user.as_str(), word.expose().as_str()), ("user", "pass"));
        let text = format!("{:?}", Proxy::new("http://user:pass@proxy").unwrap());
        assert_eq!(text, "Proxy(…)");
    }

    #[test]
    fn an_invalid_address_is_refused() {
        for url in ["", "http://", "ftp://proxy", "socks4://proxy", "http://pro xy", "http://:1"] {
            let error = Proxy::new(url).unwrap_err().to_string();
            assert!(error.starts_with("the proxy's address "), "{url}: {error}");
        }
        let environment = |name: &str| (name == "HTTPS_PROXY").then(|| "ftp://hush".to_owned());
        let error = Proxy::from_env(&environment).unwrap_err().to_string();
        assert!(error.contains("HTTPS_PROXY") && !error.contains("hush"), "{error}");
    }
}
