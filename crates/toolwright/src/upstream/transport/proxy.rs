//! Through whom an upstream is reached: directly, through the proxy that is configured, or through
//! the one that the usual variables name.
//!
//! `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` are read in small letters before large ones,
//! and mean what they mean to curl, with one exception: by variables, nobody reaches this machine
//! through another. Which proxy is meant is decided once, when an upstream is set up; `line` goes through it.

use std::fmt;
use std::net::IpAddr;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

use super::address::Address;
use crate::secret::SecretString;
use crate::upstream::environment::{self, Environment};
use crate::upstream::error::{ProviderError, RemoteError};

const HTTPS: &[&str] = &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const HTTP: &[&str] = &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const EXCEPT: &[&str] = &["no_proxy", "NO_PROXY"];
/// The port of a SOCKS proxy that names none.
const SOCKS_PORT: u16 = 1080;

/// Which proxy leads to an upstream, if any.
#[derive(Clone, Default)]
pub struct Proxy {
    http: Option<Hop>,
    https: Option<Hop>,
    /// Hosts that are reached directly, where variables are meant
    except: Option<String>,
}

impl Proxy {
    /// None: upstreams are reached directly.
    pub fn none() -> Proxy {
        Proxy::default()
    }

    /// One for every upstream: `http://`, `https://` or `socks5://`, with user and password if it
    /// asks for them.
    pub fn at(url: &str) -> Result<Proxy, RemoteError> {
        let hop = Hop::parse(url).map_err(|why| RemoteError::Proxy { why })?;
        Ok(Proxy { http: Some(hop.clone()), https: Some(hop), except: None })
    }

    /// The one that the usual variables name.
    pub fn from_env(variables: Environment<'_>) -> Result<Proxy, ProviderError> {
        let hop = |names: &'static [&'static str]| {
            let Some((variable, url)) = environment::first(names, variables) else {
                return Ok(None);
            };
            let wrong =
                |why| ProviderError::Variable { variable, source: RemoteError::Proxy { why } };
            Hop::parse(&url).map(Some).map_err(wrong)
        };
        let except = environment::first(EXCEPT, variables).map(|(_, hosts)| hosts);
        let except = Some(except.unwrap_or_default());
        Ok(Proxy { http: hop(HTTP)?, https: hop(HTTPS)?, except })
    }

    /// The way to an address.
    pub(crate) fn hop(&self, address: &Address) -> Option<Hop> {
        let hop = if address.is_https() { &self.https } else { &self.http };
        let direct = self
            .except
            .as_ref()
            .is_some_and(|except| is_here(address.name()) || is_among(&address.root(), except));
        hop.clone().filter(|_| !direct)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = self.http.is_some() || self.https.is_some();
        formatter.write_str(if some { "Proxy(…)" } else { "Proxy(none)" })
    }
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let named = host == "localhost" || host.ends_with(".localhost");
    named || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a place is among those that are reached directly: hosts with all below them, addresses,
/// networks, or `*`.
fn is_among(place: &Uri, hosts: &str) -> bool {
    let matcher = Matcher::builder().all("http://proxy").no(hosts).build();
    matcher.intercept(place).is_none()
}

/// A proxy in the form in which connections use it.
#[derive(Clone)]
pub(crate) struct Hop {
    /// Where it is
    pub(crate) uri: Uri,
    /// What it speaks, and who we are to it
    pub(crate) kind: Kind,
    /// What it was made of
    url: SecretString,
}

/// What a proxy speaks, and who we are to it.
#[derive(Clone)]
pub(crate) enum Kind {
    /// HTTP, with a value for `proxy-authorization`
    Http(Option<HeaderValue>),
    /// SOCKS 5, with user and password
    Socks(Option<(String, SecretString)>),
}

impl Hop {
    /// Reads the address of a proxy, or says what is wrong with it. One without a scheme speaks
    /// HTTP.
    fn parse(url: &str) -> Result<Hop, &'static str> {
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
            _ if !scheme.starts_with("socks") => Kind::Http(found.basic_auth().cloned()),
            None => Kind::Socks(None),
            Some((user, word)) => Kind::Socks(Some((user.to_owned(), word.into()))),
        };
        let uri = match (&kind, uri.port_u16(), uri.host()) {
            (_, _, None | Some("")) => return Err("names no host"),
            (Kind::Socks(_), None, Some(host)) => format!("{scheme}://{host}:{SOCKS_PORT}/")
                .parse()
                .map_err(|_| "is not a URL, such as socks5://proxy:1080")?,
            _ => uri.clone(),
        };
        Ok(Hop { uri, kind, url: url.into() })
    }

    /// Whether it takes requests for an upstream as they are, instead of a tunnel to it.
    pub(crate) fn forwards(&self, scheme: &Scheme) -> bool {
        matches!(self.kind, Kind::Http(_)) && *scheme == Scheme::HTTP
    }

    /// What a request that it forwards shows it.
    pub(crate) fn credential(&self) -> Option<&HeaderValue> {
        match &self.kind {
            Kind::Http(credential) => credential.as_ref(),
            Kind::Socks(_) => None,
        }
    }
}

impl PartialEq for Hop {
    fn eq(&self, other: &Hop) -> bool {
        self.url.expose() == other.url.expose()
    }
}

#[cfg(test)]
mod tests {
    use toolwright_core::dialect::Dialect;

    use super::*;

    fn way(variables: &[(&str, &str)], base: &str) -> Option<String> {
        let environment = |name: &str| {
            let own = variables.iter().find(|(own, _)| *own == name);
            own.map(|(_, value)| (*value).to_owned())
        };
        let proxy = Proxy::from_env(&environment).unwrap();
        let address = Address::parse(base, Dialect::OpenaiChat).unwrap();
        proxy.hop(&address).map(|hop| hop.uri.to_string())
    }

    #[test]
    fn variables_name_a_proxy_by_scheme() {
        let both = [("HTTPS_PROXY", "http://secure:1"), ("http_proxy", "plain:2")];
        assert_eq!(way(&both, "https://api.test").as_deref(), Some("http://secure:1/"));
        assert_eq!(way(&both, "http://api.test").as_deref(), Some("http://plain:2/"));
        let all = [("ALL_PROXY", "socks5h://all"), ("https_proxy", "https://small")];
        assert_eq!(way(&all, "https://api.test").as_deref(), Some("https://small/"));
        assert_eq!(way(&all, "http://api.test").as_deref(), Some("socks5h://all:1080/"));
        let cases = [("https_proxy", "small:1"), ("HTTPS_PROXY", "large:1")];
        assert_eq!(way(&cases, "https://api.test").as_deref(), Some("http://small:1/"));
        assert_eq!(way(&[("HTTPS_PROXY", "")], "https://api.test"), None);
    }

    #[test]
    fn some_hosts_are_reached_directly() {
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
            assert_eq!(way(&some, direct), None, "{direct}");
        }
        for far in ["https://another.test", "http://11.1.2.3", "https://localhost.test"] {
            assert!(way(&some, far).is_some(), "{far}");
        }
        assert_eq!(way(&[("all_proxy", "proxy:1"), ("no_proxy", "*")], "https://api.test"), None);
    }

    #[test]
    fn what_is_configured_holds_for_all() {
        let address = Address::parse("http://127.0.0.1:11434", Dialect::Ollama).unwrap();
        assert!(Proxy::at("http://proxy:3128").unwrap().hop(&address).is_some());
        assert!(Proxy::none().hop(&address).is_none());
    }

    #[test]
    fn credentials_are_taken_out_of_the_address_and_shown_nowhere() {
        let hop = Hop::parse("http://user:p%40ss@proxy:3128").unwrap();
        assert_eq!(hop.uri, "http://proxy:3128/");
        assert_eq!(hop.credential().unwrap(), "Basic dXNlcjpwQHNz");
        assert!(hop.credential().unwrap().is_sensitive());
        let Kind::Socks(Some((user, word))) = Hop::parse("socks5://user:pass@proxy").unwrap().kind
        else {
            panic!("a user was named");
        };
        assert_eq!((user.as_str(), word.expose().as_str()), ("user", "pass"));
        let text = format!("{:?}", Proxy::at("http://user:pass@proxy").unwrap());
        assert_eq!(text, "Proxy(…)");
    }

    #[test]
    fn an_address_that_cannot_do_is_refused() {
        for url in ["", "http://", "ftp://proxy", "socks4://proxy", "http://pro xy", "http://:1"] {
            let error = Proxy::at(url).unwrap_err().to_string();
            assert!(error.starts_with("the proxy's address "), "{url}: {error}");
        }
        let environment = |name: &str| (name == "HTTPS_PROXY").then(|| "ftp://hush".to_owned());
        let error = Proxy::from_env(&environment).unwrap_err().to_string();
        assert!(error.contains("HTTPS_PROXY") && !error.contains("hush"), "{error}");
    }
}
