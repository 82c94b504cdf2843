//! Which addresses a client may connect to.
//!
//! An address that an operator configured is trusted. One that comes from elsewhere (a manifest, an imported
//! document, an argument of a call, a redirect) must not reach the machine or the network that the client runs
//! in. The address that is checked is the one that is connected to: `connector` checks IP literals,
//! `resolver` the addresses that a name resolves to, so that a second, different answer of a name server is
//! never used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;
use http::uri::Scheme;
use ipnet::IpNet;

use super::error::TransportError;

/// The addresses that a client may connect to.
///
/// ```
/// use toolwright::transport::AddressPolicy;
///
/// # fn main() -> Result<(), toolwright::transport::TransportError> {
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

/// What an address is, with its article, if it is not a public one. IPv6 addresses that carry an IPv4 address
/// are what that one is.
fn special_purpose(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_purpose_v4(address),
        IpAddr::V6(address) => special_purpose_v6(address),
    }
}

/// After IANA's registry of special-purpose addresses.
fn special_purpose_v4(address: Ipv4Addr) -> Option<&'static str> {
    let kind = match address.octets() {
        [0, ..] => "an unspecified",
        [127, ..] => "a loopback",
        [10, ..] | [172, 16..32, ..] | [192, 168, ..] => "a private",
        [100, 64..128, ..] => "a shared (carrier-grade NAT)",
        [169, 254, ..] => "a link-local",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "a documentation",
        [198, 18..20, ..] => "a benchmark",
        [255, 255, 255, 255] => "a broadcast",
        [224..240, ..] => "a multicast",
        [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => "a reserved",
        // Azure's virtual machines reach their host at it.
        [168, 63, 129, 16] => "a cloud platform's",
        _ => return None,
    };
    Some(kind)
}

/// After IANA's registries. Only `2000::/3` is global unicast.
fn special_purpose_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        special_purpose_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("an unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback"),
        // IPv4-mapped, NAT64, and 6to4
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        // IPv4-compatible and IPv4-translated, which are not in use
        [0, 0, 0, 0, 0 | 0xffff, 0, high, low] => v4(high, low).or(Some("a reserved")),
        [0x64, 0xff9b, 1, ..] | [0xfec0..=0xfeff, ..] => Some("a private"),
        [0xfc00..=0xfdff, ..] => Some("a unique local"),
        [0xfe80..=0xfebf, ..] => Some("a link-local"),
        [0xff00..=0xffff, ..] => Some("a multicast"),
        // Teredo: the server, and the client with inverted bits
        [0x2001, 0, high, low, _, _, client_high, client_low] => {
            v4(high, low).or_else(|| v4(!client_high, !client_low))
        }
        [0x2001, 0xdb8, ..] | [0x3fff, 0..0x1000, ..] => Some("a documentation"),
        [0x2001, 2, 0, ..] => Some("a benchmark"),
        [0x2001, 1..0x200, ..] => Some("a reserved"),
        [0x2000..0x4000, _, _, _, interface_high, interface_low, high, low] => {
            let is_isatap = matches!((interface_high, interface_low), (0 | 0x200, 0x5efe));
            is_isatap.then(|| v4(high, low)).flatten()
        }
        _ => Some("a reserved"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PUBLIC_V4: [&str; 8] = [
        "1.1.1.1",
        "9.255.255.255",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "198.20.0.0",
        "223.255.255.255",
    ];
    const SPECIAL_V4: [(&str, &str); 25] = [
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.0.0.0", "private"),
        ("10.255.255.255", "private"),
        ("100.64.0.0", "carrier"),
        ("100.127.255.255", "carrier"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"),
        ("168.63.129.16", "cloud"),
        ("169.254.169.254", "link-local"),
        ("172.16.0.0", "private"),
        ("172.31.255.255", "private"),
        ("192.0.0.192", "reserved"),
        ("192.0.2.1", "documentation"),
        ("192.88.99.1", "reserved"),
        ("192.168.0.1", "private"),
        ("198.18.0.0", "benchmark"),
        ("198.19.255.255", "benchmark"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.254", "reserved"),
        ("255.255.255.255", "broadcast"),
    ];

    /// IPv6 addresses that carry an IPv4 address and reach it.
    fn carriers(v4: Ipv4Addr) -> [String; 6] {
        let [a, b, c, d] = v4.octets();
        let (high, low) = (format!("{a:02x}{b:02x}"), format!("{c:02x}{d:02x}"));
        let inverted = Ipv4Addr::from(!u32::from(v4));
        [
            format!("::ffff:{v4}"),
            format!("64:ff9b::{v4}"),
            format!("2002:{high}:{low}::1"),
            format!("2001:0:{high}:{low}::fefe:fefe"),
            format!("2001:0:101:101::{inverted}"),
            format!("2600::5efe:{high}:{low}"),
        ]
    }

    fn kind(address: &str) -> Option<&'static str> {
        special_purpose(address.parse().unwrap())
    }

    #[test]
    fn every_special_purpose_range_is_known_in_every_form() {
        for (address, wanted) in SPECIAL_V4 {
            let found = |text: &str| kind(text).is_some_and(|kind| kind.contains(wanted));
            assert!(found(address), "{address}");
            for carrier in carriers(address.parse().unwrap()) {
                assert!(found(&carrier), "{carrier} is {:?}", kind(&carrier));
            }
            // These are refused whatever they carry.
            assert!(kind(&format!("::{address}")).is_some(), "::{address}");
            assert!(kind(&format!("::ffff:0:{address}")).is_some(), "::ffff:0:{address}");
        }
        for address in PUBLIC_V4 {
            assert_eq!(kind(address), None, "{address}");
            for carrier in carriers(address.parse().unwrap()) {
                assert_eq!(kind(&carrier), None, "{carrier}");
            }
        }
        for (address, wanted) in [
            ("::", Some("an unspecified")),
            ("::1", Some("a loopback")),
            ("::8.8.8.8", Some("a reserved")),
            ("64:ff9b:1::1", Some("a private")),
            ("100::1", Some("a reserved")),
            ("2001:2::1", Some("a benchmark")),
            ("2001:20::1", Some("a reserved")),
            ("2001:1ff::1", Some("a reserved")),
            ("2001:db8::1", Some("a documentation")),
            ("3fff:fff::1", Some("a documentation")),
            ("5f00::1", Some("a reserved")),
            ("fc00::1", Some("a unique local")),
            ("fd00:ec2::254", Some("a unique local")),
            ("fe80::1", Some("a link-local")),
            ("fec0::1", Some("a private")),
            ("ff02::1", Some("a multicast")),
            ("2001:200::1", None),
            ("2606:4700:4700::1111", None),
            ("2a00:1450:4001::1", None),
            ("3fff:1000::1", None),
        ] {
            assert_eq!(kind(address), wanted, "{address}");
        }
    }

    proptest! {
        #[test]
        fn what_carries_an_address_is_as_that_address(bits: u32) {
            let v4 = Ipv4Addr::from(bits);
            let plain = special_purpose_v4(v4);
            for carrier in carriers(v4) {
                prop_assert_eq!(kind(&carrier), plain, "{}", carrier);
            }
        }

        #[test]
        fn no_public_address_is_one_that_std_calls_special(bits: u128) {
            let v6 = Ipv6Addr::from(bits);
            if special_purpose_v6(v6).is_none() {
                prop_assert!(!v6.is_loopback() && !v6.is_multicast() && !v6.is_unspecified());
                prop_assert!(!v6.is_unique_local() && !v6.is_unicast_link_local());
            }
            #[expect(clippy::cast_possible_truncation, reason = "the low bits are an address")]
            let v4 = Ipv4Addr::from(bits as u32);
            let special = v4.is_private() || v4.is_loopback() || v4.is_link_local();
            let special = special || v4.is_multicast() || v4.is_broadcast() || v4.is_documentation();
            if special || v4.is_unspecified() {
                prop_assert!(special_purpose_v4(v4).is_some());
            }
        }
    }

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
