//! Where a card says that its agent is.

use protocol::card::{Binding, interfaces_spoken};
use protocol::client::Interface;
use protocol::v1::{AgentCard, AgentInterface};
use url::{Host, ParseError, Url};

use super::Findings;

impl Findings {
    pub(super) fn interfaces(&mut self, card: &AgentCard, found_at: Option<&Url>) {
        let list = "/supportedInterfaces";
        if card.supported_interfaces.is_empty() {
            self.error(
                "card::no-interface",
                list,
                "the card names no interface",
                "without an address the agent cannot be called",
            );
            return;
        }
        for (at, interface) in card.supported_interfaces.iter().enumerate() {
            self.interface(&format!("{list}/{at}"), interface, found_at);
        }
        if interfaces_spoken(card).is_empty() {
            self.error(
                "card::no-spoken-interface",
                list,
                "none of the interfaces can be called from here",
                "the agent needs an interface with a binding and protocol version that is spoken here, such as JSONRPC 1.0",
            );
        }
    }

    fn interface(&mut self, pointer: &str, interface: &AgentInterface, found_at: Option<&Url>) {
        let name = &interface.protocol_binding;
        if !name.is_empty() && interface.binding().is_none() {
            self.warn(
                "card::unknown-binding",
                &format!("{pointer}/protocolBinding"),
                format!("the binding `{name}` is not one of JSONRPC, HTTP+JSON and GRPC"),
                "this interface is not used",
            );
        }
        let pointer = format!("{pointer}/url");
        if interface.url.is_empty() {
            return;
        }
        if interface.binding() == Some(Binding::Grpc) && !is_grpc_address(&interface.url) {
            self.error(
                "card::grpc-address",
                &pointer,
                format!("the gRPC address `{}` is neither `host:port` nor a URL", interface.url),
                "the agent's author has to write it as in `agent.example:443` or `https://agent.example`",
            );
            return;
        }
        // What gRPC's `host:port` means is a URL like the others.
        let address = Interface::of(interface).map_or(interface.url.clone(), |it| it.address());
        self.url(&pointer, &address, found_at);
    }

    fn url(&mut self, pointer: &str, address: &str, found_at: Option<&Url>) {
        match Url::parse(address) {
            Ok(url) if !url.username().is_empty() || url.password().is_some() => self.error(
                "card::credentials-in-url",
                pointer,
                "the interface URL holds credentials, and is not called",
                "the agent's author has to take them out of the card, and to change them",
            ),
            Ok(url) if matches!(url.scheme(), "http" | "https") => {
                self.address(pointer, &url, found_at);
            }
            Err(ParseError::RelativeUrlWithoutBase) => self.error(
                "card::relative-url",
                pointer,
                format!("the interface URL `{address}` is relative"),
                "the agent's author has to write the whole URL, with `https://` and the host",
            ),
            _ => self.error(
                "card::invalid-url",
                pointer,
                format!("the interface URL `{address}` is not an http or https URL"),
                "the agent's author has to correct it",
            ),
        }
    }

    fn address(&mut self, pointer: &str, url: &Url, found_at: Option<&Url>) {
        if url.scheme() == "http" && !is_local(url) {
            self.warn(
                "card::plain-http",
                pointer,
                format!("the interface `{url}` is not encrypted"),
                "ask for an https address: what is sent there can be read and changed on the way",
            );
        }
        let Some(card) = found_at else { return };
        if is_local(url) && !is_local(card) {
            self.warn(
                "card::private-url",
                pointer,
                format!("the interface `{url}` is on a private network, the card on a public host"),
                "it is not called unless the configuration allows its network; ask for an address that others can reach",
            );
        }
        if card.origin() != url.origin() {
            let [here, there] = [url, card].map(|url| url.origin().ascii_serialization());
            self.warn(
                "card::other-origin",
                pointer,
                format!("the interface is on `{here}`, the card on `{there}`"),
                "approve it only when both belong to the same operator; credentials go there only when `origins` names it",
            );
        }
    }
}

/// Whether a text is a gRPC address: `host:port`, or an http or https URL. A2A leaves the form
/// open; these are the ones that can be called.
fn is_grpc_address(text: &str) -> bool {
    if text.contains("://") {
        return Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    }
    let is_authority = !text.contains(|c: char| "/?#\\".contains(c) || c.is_whitespace());
    let has_port = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    is_authority && has_port && Url::parse(&format!("http://{text}")).is_ok()
}

/// Whether what is sent there stays on this machine or a private network.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => is_local_v4(address),
        Some(Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(address) => is_local_v4(address),
            None => {
                address.is_loopback()
                    || address.is_unspecified()
                    || address.is_unique_local()
                    || address.is_unicast_link_local()
            }
        },
        Some(Host::Domain(name)) => {
            name == "localhost" || name.ends_with(".localhost") || !name.contains('.')
        }
        None => false,
    }
}

fn is_local_v4(address: std::net::Ipv4Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_private()
        || address.is_link_local()
}
