//! Which addresses are not the public internet, and why.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::Policy;

/// A block of addresses that a card, a redirect or a DNS answer must not lead us to.
struct Special {
    network: u128,
    prefix: u32,
    name: &'static str,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u32, name: &'static str) -> Special {
    Special { network: Ipv4Addr::new(a, b, c, d).to_bits() as u128, prefix, name }
}

const fn v6(start: [u16; 3], prefix: u32, name: &'static str) -> Special {
    let [a, b, c] = start;
    Special { network: Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0).to_bits(), prefix, name }
}

/// The special-purpose blocks of IPv4 (RFC 6890 and later), and the one public address behind which
/// a cloud keeps its instance metadata.
static SPECIAL_V4: [Special; 18] = [
    v4(0, 0, 0, 0, 8, "this network"),
    v4(10, 0, 0, 0, 8, "private"),
    v4(100, 64, 0, 0, 10, "carrier-grade NAT"),
    v4(127, 0, 0, 0, 8, LOOPBACK),
    v4(169, 254, 169, 254, 32, "cloud metadata"),
    v4(169, 254, 0, 0, 16, "link-local"),
    v4(168, 63, 129, 16, 32, "cloud metadata"),
    v4(172, 16, 0, 0, 12, "private"),
    v4(192, 0, 0, 0, 24, "protocol assignments"),
    v4(192, 0, 2, 0, 24, "documentation"),
    v4(192, 88, 99, 0, 24, "6to4 relay"),
    v4(192, 168, 0, 0, 16, "private"),
    v4(198, 18, 0, 0, 15, "benchmarking"),
    v4(198, 51, 100, 0, 24, "documentation"),
    v4(203, 0, 113, 0, 24, "documentation"),
    v4(224, 0, 0, 0, 4, "multicast"),
    v4(255, 255, 255, 255, 32, "broadcast"),
    v4(240, 0, 0, 0, 4, "reserved"),
];

/// The special-purpose blocks of IPv6 that lie inside 2000::/3, then the named ones outside it.
static SPECIAL_V6: [Special; 12] = [
    v6([0x2001, 0xdb8, 0], 32, "documentation"),
    v6([0x2001, 0, 0], 23, "protocol assignments"),
    v6([0x2002, 0, 0], 16, "6to4"),
    v6([0x3fff, 0, 0], 20, "documentation"),
    v6([0x64, 0xff9b, 1], 48, "local NAT64"),
    v6([0x100, 0, 0], 64, "discard-only"),
    v6([0x5f00, 0, 0], 16, "segment routing"),
    v6([0xfd00, 0xec2, 0], 64, "cloud metadata"),
    v6([0xfc00, 0, 0], 7, "unique-local"),
    v6([0xfe80, 0, 0], 10, "link-local"),
    v6([0xfec0, 0, 0], 10, "site-local"),
    v6([0xff00, 0, 0], 8, "multicast"),
];

const LOOPBACK: &str = "loopback";

impl Policy {
    /// Says why an address may not be called, or nothing when it may.
    pub(super) fn refusal(&self, address: IpAddr) -> Option<&'static str> {
        let address = embedded(address);
        let name = special(address)?;
        let is_allowed = (name == LOOPBACK && self.allow_loopback)
            || self.allow_networks.iter().any(|network| network.contains(&address));
        (!is_allowed).then_some(name)
    }
}

/// Unwraps the IPv6 forms that reach an IPv4 address, so that the one inside is judged.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let low = Ipv4Addr::from_bits((v6.to_bits() & 0xffff_ffff) as u32);
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => low.into(),
        // The deprecated IPv4-compatible form; `::` and `::1` are not of it.
        [0, 0, 0, 0, 0, 0, ..] if v6.to_bits() > 1 => low.into(),
        _ => address,
    }
}

fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => find(&SPECIAL_V4, v4.to_bits().into(), 32),
        IpAddr::V6(v6) if v6.is_loopback() => Some(LOOPBACK),
        IpAddr::V6(v6) if v6.is_unspecified() => Some("this network"),
        IpAddr::V6(v6) => {
            find(&SPECIAL_V6, v6.to_bits(), 128).or_else(|| outside_global_unicast(v6))
        }
    }
}

fn find(table: &[Special], bits: u128, width: u32) -> Option<&'static str> {
    let holds = |one: &&Special| (bits ^ one.network) >> (width - one.prefix) == 0;
    table.iter().find(holds).map(|one| one.name)
}

/// Everything outside 2000::/3 is unassigned: refused until it means something.
fn outside_global_unicast(address: Ipv6Addr) -> Option<&'static str> {
    (address.segments()[0] & 0xe000 != 0x2000).then_some("unassigned")
}

/// Tells whether a URL says of itself that it leads to this machine: `localhost`, or a loopback
/// address. What it leads to is judged at the moment of connecting all the same.
#[must_use]
pub fn is_on_this_machine(url: &str) -> bool {
    let url = Url::parse(url).ok();
    url.as_ref().and_then(Url::host).is_some_and(|host| match host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(policy: &Policy, address: &str) -> Option<&'static str> {
        policy.refusal(address.parse().expect("the table holds addresses"))
    }

    #[test]
    fn every_special_range_is_refused_by_name_at_both_its_ends() {
        let table = [
            ("this network", "0.0.0.0", "0.255.255.255"),
            ("private", "10.0.0.0", "10.255.255.255"),
            ("carrier-grade NAT", "100.64.0.0", "100.127.255.255"),
            ("loopback", "127.0.0.1", "127.255.255.255"),
            ("cloud metadata", "169.254.169.254", "168.63.129.16"),
            ("link-local", "169.254.0.0", "169.254.255.255"),
            ("private", "172.16.0.0", "172.31.255.255"),
            ("protocol assignments", "192.0.0.0", "192.0.0.255"),
            ("documentation", "192.0.2.0", "192.0.2.255"),
            ("6to4 relay", "192.88.99.0", "192.88.99.255"),
            ("private", "192.168.0.0", "192.168.255.255"),
            ("benchmarking", "198.18.0.0", "198.19.255.255"),
            ("documentation", "198.51.100.0", "198.51.100.255"),
            ("documentation", "203.0.113.0", "203.0.113.255"),
            ("multicast", "224.0.0.0", "239.255.255.255"),
            ("reserved", "240.0.0.0", "255.255.255.254"),
            ("broadcast", "255.255.255.255", "255.255.255.255"),
            ("this network", "::", "::"),
            ("loopback", "::1", "::1"),
            ("loopback", "::ffff:127.0.0.1", "::ffff:7f00:1"),
            ("private", "::ffff:10.0.0.1", "::ffff:192.168.1.1"),
            ("cloud metadata", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"),
            ("private", "64:ff9b::10.0.0.1", "64:ff9b::192.168.0.1"),
            ("private", "::10.0.0.1", "::192.168.0.1"),
            ("this network", "::2", "::ff"),
            ("local NAT64", "64:ff9b:1::", "64:ff9b:1:ffff::1"),
            ("discard-only", "100::", "100::ffff:ffff:ffff:ffff"),
            ("protocol assignments", "2001::1", "2001:1ff:ffff::1"),
            ("documentation", "2001:db8::1", "2001:db8:ffff::1"),
            ("6to4", "2002:a00:1::", "2002:7f00:1::1"),
            ("documentation", "3fff::1", "3fff:fff::1"),
            ("segment routing", "5f00::", "5f00:ffff::1"),
            ("cloud metadata", "fd00:ec2::254", "fd00:ec2::23"),
            ("unique-local", "fc00::1", "fdff:ffff::1"),
            ("link-local", "fe80::1", "febf::1"),
            ("site-local", "fec0::1", "feff::1"),
            ("multicast", "ff00::", "ff02::1"),
            ("unassigned", "4000::1", "1fff::1"),
        ];
        for (name, first, last) in table {
            assert_eq!(refused(&Policy::default(), first), Some(name), "{first}");
            assert_eq!(refused(&Policy::default(), last), Some(name), "{last}");
        }
    }

    #[test]
    fn the_public_internet_is_not_refused() {
        let neighbours = [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "168.63.129.17",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:200::1",
            "2003::1",
            "3ffe::1",
        ];
        for address in neighbours {
            assert_eq!(refused(&Policy::default(), address), None, "{address}");
        }
    }

    #[test]
    fn loopback_by_policy_opens_loopback_alone() {
        let policy = Policy { allow_loopback: true, ..Policy::default() };
        for open in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(refused(&policy, open), None, "{open}");
        }
        for shut in ["0.0.0.0", "::", "10.0.0.1", "169.254.169.254", "fe80::1", "::ffff:10.0.0.1"] {
            assert!(refused(&policy, shut).is_some(), "{shut}");
        }
    }

    #[test]
    fn an_allowed_network_opens_itself_alone_in_every_spelling() {
        let network = |text: &str| text.parse().expect("a network");
        let policy = Policy {
            allow_networks: vec![network("10.1.0.0/16"), network("fd12::/32")],
            ..Policy::default()
        };
        for open in ["10.1.0.1", "::ffff:10.1.255.255", "64:ff9b::10.1.0.1", "fd12::1"] {
            assert_eq!(refused(&policy, open), None, "{open}");
        }
        for shut in ["10.2.0.1", "10.0.255.255", "fd13::1", "127.0.0.1", "169.254.169.254"] {
            assert!(refused(&policy, shut).is_some(), "{shut}");
        }
    }

    #[test]
    fn a_url_says_whether_it_leads_to_this_machine() {
        for near in ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]:1/x"] {
            assert!(is_on_this_machine(near), "{near}");
        }
        for far in ["https://a.test/", "http://localhost.a.test/", "http://10.0.0.1/", "no url"] {
            assert!(!is_on_this_machine(far), "{far}");
        }
    }
}
