//! The special-purpose ranges of IP addresses, which a public client must not reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is, with its article, if it is not a public one. IPv6 addresses that carry an IPv4 address
/// are what that one is.
pub(super) fn special_purpose(address: IpAddr) -> Option<&'static str> {
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
}
