//! Which addresses a client may connect to.
//!
//! An address that an operator configured is trusted. One that comes from elsewhere (a manifest, an imported
//! document, an argument of a call, a redirect) must not reach the machine or the network that the client runs
//! in. The address that is checked is the one that is connected to: `connector` checks IP literals,
//! `resolver` the addresses that a name resolves to, so that a second, different answer of a name server is
//! never used.

use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use ipnet::IpNet;

use super::address_class::special_purpose;
use super::error::TransportError;

/// The addresses that a client may connect to.
///
/// ```
/// use toolwright_transport::AddressPolicy;
///
/// # fn main() -> Result<(), toolwright_transport::TransportError> {
/// let policy = AddressPolicy::public()
///     .with_allowed("billing.corp.example:8443")?
///     .with_allowed("10.20.0.0/16")?;
/// # drop(policy);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPolicy {
    /// The listed addresses; `None` if every address is allowed
    allowed: Option<Vec<Allowed>>,
}

/// A listed address, at one port or at all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    host: AllowedHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedHost {
    Name(String),
    /// Every name that ends with this, which begins with a dot
    Subdomains(String),
    Network(IpNet),
}

/// The decision about a host, before it is resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HostDecision {
    /// The host is allowed, whatever it resolves to
    Allowed,
    /// The addresses that a name resolves to must be checked; an address has been
    CheckAddresses,
}

/// Why an address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{host}` {why}, and it was not configured by the operator, who can allow the host, its IP \
     address or its network"
)]
pub(crate) struct AddressRefused {
    host: String,
    why: String,
}

impl AddressPolicy {
    /// Every address, for clients of a URL that an operator configured. Redirects are followed within the
    /// origin of the request only.
    pub fn any() -> AddressPolicy {
        AddressPolicy { allowed: None }
    }

    /// Public addresses and listed ones, for clients of URLs that come from elsewhere. Through a proxy only
    /// listed hosts are reached, since the proxy resolves their names.
    pub fn public() -> AddressPolicy {
        AddressPolicy { allowed: Some(Vec::new()) }
    }

    /// Lists an address: a host name, `*.` and a domain for its subdomains, or an IP address, each with a port
    /// or for all ports; or a network in CIDR notation.
    pub fn with_allowed(self, entry: &str) -> Result<AddressPolicy, TransportError> {
        let invalid = || TransportError::AllowedAddress { entry: entry.to_owned() };
        let allowed = Allowed::parse(entry.trim()).ok_or_else(invalid)?;
        Ok(self.with(allowed))
    }

    /// Lists the host and port of a URL that an operator configured.
    #[must_use]
    pub fn with_allowed_url(self, url: &Uri) -> AddressPolicy {
        let host = normalize(url.host().unwrap_or_default());
        let host = match host.parse::<IpAddr>() {
            Ok(address) => AllowedHost::Network(address.to_canonical().into()),
            Err(_) => AllowedHost::Name(host),
        };
        self.with(Allowed { host, port: Some(port(url)) })
    }

    fn with(mut self, entry: Allowed) -> AddressPolicy {
        if let Some(allowed) = &mut self.allowed {
            allowed.push(entry);
        }
        self
    }

    /// Whether every address is allowed.
    pub(super) fn is_any(&self) -> bool {
        self.allowed.is_none()
    }

    /// Decides about the host of a URI, which a proxy may resolve.
    pub(super) fn check_host(
        &self,
        uri: &Uri,
        is_proxied: bool,
    ) -> Result<HostDecision, AddressRefused> {
        let Some(allowed) = &self.allowed else { return Ok(HostDecision::Allowed) };
        let (host, port) = (normalize(uri.host().unwrap_or_default()), port(uri));
        if allowed.iter().any(|entry| entry.has_name(&host, port)) {
            return Ok(HostDecision::Allowed);
        }
        let address = host.parse::<IpAddr>();
        let is_listed = address
            .as_ref()
            .is_ok_and(|address| allowed.iter().any(|entry| entry.has_address(*address, port)));
        if is_proxied && !is_listed {
            let why = "would be resolved by the proxy".to_owned();
            return Err(AddressRefused { host, why });
        }
        if let Ok(address) = address {
            self.check_address(&host, address, port)?;
        }
        // An address with the dot of the root is resolved as a name.
        Ok(HostDecision::CheckAddresses)
    }

    /// Decides about an address that a host has.
    pub(super) fn check_address(
        &self,
        host: &str,
        address: IpAddr,
        port: u16,
    ) -> Result<(), AddressRefused> {
        let Some(allowed) = &self.allowed else { return Ok(()) };
        let Some(kind) = special_purpose(address) else { return Ok(()) };
        if allowed.iter().any(|entry| entry.has_address(address, port)) {
            return Ok(());
        }
        let is = if host.parse::<IpAddr>().is_ok() { "is" } else { "resolves to" };
        Err(AddressRefused { host: host.to_owned(), why: format!("{is} {kind} address") })
    }
}

impl Allowed {
    fn parse(entry: &str) -> Option<Allowed> {
        if let Ok(network) = entry.parse::<IpNet>() {
            return Some(Allowed { host: AllowedHost::Network(network), port: None });
        }
        let (host, port) = match entry.rsplit_once(':') {
            // Not a part of an IPv6 address.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port.parse().ok()?))
            }
            _ => (entry, None),
        };
        let host = normalize(host);
        if let Ok(address) = host.parse::<IpAddr>() {
            let host = AllowedHost::Network(address.to_canonical().into());
            return Some(Allowed { host, port });
        }
        let (name, is_suffix) = match host.strip_prefix('*') {
            Some(suffix) => (suffix.strip_prefix('.')?, true),
            None => (host.as_str(), false),
        };
        let is_valid = |label: &str| {
            let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            !label.is_empty() && label.bytes().all(valid)
        };
        if !name.split('.').all(is_valid) {
            return None;
        }
        let host = if is_suffix {
            AllowedHost::Subdomains(format!(".{name}"))
        } else {
            AllowedHost::Name(host)
        };
        Some(Allowed { host, port })
    }

    fn has_name(&self, name: &str, port: u16) -> bool {
        let has_name = match &self.host {
            AllowedHost::Name(own) => own == name,
            AllowedHost::Subdomains(suffix) => name.ends_with(suffix.as_str()),
            AllowedHost::Network(_) => false,
        };
        has_name && self.has_port(port)
    }

    fn has_address(&self, address: IpAddr, port: u16) -> bool {
        let AllowedHost::Network(network) = &self.host else { return false };
        let has_address = network.contains(&address) || network.contains(&address.to_canonical());
        has_address && self.has_port(port)
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

/// The host in lowercase, without brackets and without the dot of the root.
fn normalize(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// The port of a URI, which may be that of its scheme.
pub(super) fn port(uri: &Uri) -> u16 {
    let default = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    uri.port_u16().unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &AddressPolicy, url: &str) -> Result<HostDecision, AddressRefused> {
        policy.check_host(&url.parse().unwrap(), false)
    }

    #[test]
    fn only_listed_hosts_ports_and_networks_are_allowed() {
        let list = ["Plain.test", "port.test:81", "*.wild.test", "10.1.0.0/16", "[fd00::1]:82"];
        let list = list.into_iter().chain(["127.0.0.1", "fd00:0:0:1::/64"]);
        let policy =
            list.fold(AddressPolicy::public(), |policy, entry| policy.with_allowed(entry).unwrap());
        for allowed in [
            "http://plain.test",
            "https://PLAIN.test.:444/x",
            "http://port.test:81",
            "http://a.wild.test",
            "http://a.b.wild.test:9",
        ] {
            assert_eq!(check(&policy, allowed), Ok(HostDecision::Allowed), "{allowed}");
        }
        for checked in [
            "http://port.test",
            "http://wild.test",
            "http://notplain.test",
            "http://localhost.",
            "http://2130706433",
            "http://0x7f.1",
            "http://127.1",
            "http://10.1.2.3:5",
            "http://[fd00::1]:82",
            "http://[::ffff:127.0.0.1]",
            "http://[fd00:0:0:1::9]",
            "http://1.1.1.1",
        ] {
            assert_eq!(check(&policy, checked), Ok(HostDecision::CheckAddresses), "{checked}");
        }
        for refused in ["http://10.2.0.0", "http://[fd00::1]", "http://[::1]", "http://127.0.0.2"] {
            assert!(check(&policy, refused).is_err(), "{refused}");
        }
        let any = AddressPolicy::any().with_allowed("a.test").unwrap();
        assert_eq!(check(&any, "http://127.0.0.1"), Ok(HostDecision::Allowed));
    }

    #[test]
    fn the_host_and_port_of_a_configured_url_are_listed() {
        let url = "http://127.0.0.1:8080/base".parse().unwrap();
        let policy = AddressPolicy::public().with_allowed_url(&url);
        assert!(check(&policy, "http://127.0.0.1:8080/other").is_ok());
        assert!(check(&policy, "http://127.0.0.1:6379").is_err());
        let policy = AddressPolicy::public().with_allowed_url(&"https://in.test".parse().unwrap());
        assert_eq!(check(&policy, "https://in.test/x"), Ok(HostDecision::Allowed));
        assert_eq!(check(&policy, "http://in.test/x"), Ok(HostDecision::CheckAddresses));
    }

    #[test]
    fn through_a_proxy_only_listed_hosts_are_allowed() {
        let policy = AddressPolicy::public().with_allowed("in.test").unwrap();
        let check = |url: &str| policy.check_host(&url.parse().unwrap(), true);
        assert_eq!(check("https://in.test"), Ok(HostDecision::Allowed));
        assert_eq!(
            check("https://out.test").unwrap_err().to_string(),
            "`out.test` would be resolved by the proxy, and it was not configured by the operator, \
             who can allow the host, its IP address or its network"
        );
        assert!(check("https://1.1.1.1").is_err());
    }

    #[test]
    fn an_invalid_entry_is_refused() {
        for entry in [
            "",
            "*",
            "*.",
            "a..b",
            "http://a.test",
            "a.test:x",
            "10.0.0.0/33",
            "a/b",
            "a b",
            "[::1",
        ] {
            let error = AddressPolicy::public().with_allowed(entry).unwrap_err().to_string();
            assert!(error.contains(&format!("`{entry}`")), "{error}");
        }
    }
}
