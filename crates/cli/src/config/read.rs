//! From written values to settings; everything that is wrong is reported, not only the first.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use document::{Diagnostic, Node, Value};
use protocol::outbound::Network;
use server::{Delegation, PublicSkills, Publish};
use url::{Host, Url};

use super::Layers;

const DURATION: &str =
    "write a number with its unit: ms, s, m, h or d, as in 500ms, 30s, 5m or 1h30m";

/// Reads settings, `None` where a value cannot be used.
pub(super) struct Reader<'a> {
    layers: &'a mut Layers,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layers: &'a mut Layers) -> Self {
        Self { layers }
    }

    /// An address with a port.
    pub(super) fn address(&mut self, key: &str) -> Option<SocketAddr> {
        let text = self.string(key)?;
        match text.parse::<SocketAddr>() {
            Ok(address) => Some(address),
            Err(_) => self.invalid(
                key,
                &format!("`{text}` is no address with a port"),
                "write it as in 127.0.0.1:8100 or \"[::1]:8100\"",
            ),
        }
    }

    /// A URL that can stand on a card, or nothing.
    pub(super) fn public_url(&mut self, key: &str) -> Option<Option<Url>> {
        if self.node(key).value == Value::Null {
            return Some(None);
        }
        let text = self.string(key)?;
        let is_plain = |url: &Url| {
            matches!(url.scheme(), "http" | "https")
                && url.host().is_some()
                && url.query().is_none()
                && url.fragment().is_none()
                && url.username().is_empty()
                && url.password().is_none()
        };
        match text.parse::<Url>() {
            Ok(url) if is_plain(&url) => Some(Some(url)),
            _ => self.invalid(
                key,
                "this cannot be the URL of an agent",
                "write http:// or https://, a host, and no user, query or fragment",
            ),
        }
    }

    /// A URL that nobody on the way can change the answers of, or nothing.
    pub(super) fn protected_url(&mut self, key: &str) -> Option<Option<Url>> {
        let Some(text) = self.optional(key)? else { return Some(None) };
        let is_here = |url: &Url| match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        let is_protected = |url: &Url| match url.scheme() {
            "https" => url.host().is_some(),
            "http" => is_here(url),
            _ => false,
        };
        match text.parse::<Url>() {
            Ok(url) if is_protected(&url) => Some(Some(url)),
            Ok(_) => self.invalid(key, "this is not protected on its way", "write https://"),
            Err(_) => {
                self.invalid(key, &format!("`{text}` is no URL"), "write https:// and a host")
            }
        }
    }

    /// A text, or nothing.
    pub(super) fn optional(&mut self, key: &str) -> Option<Option<String>> {
        match self.node(key).value {
            Value::Null => Some(None),
            _ => self.text(key).map(Some),
        }
    }

    /// A text that is not empty.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let text = self.string(key)?;
        if text.is_empty() {
            return self.invalid(key, &format!("`{key}` is empty"), "write something");
        }
        Some(text)
    }

    /// `all`, `none`, or names of workflows; in plain text with commas between.
    pub(super) fn public_skills(&mut self, key: &str) -> Option<PublicSkills> {
        let node = self.node(key);
        let names: Option<Vec<&str>> = match &node.value {
            Value::String(text) if text == "all" => return Some(PublicSkills::All),
            Value::String(text) if text == "none" => return Some(PublicSkills::None),
            Value::String(text) => Some(text.split(',').map(str::trim).collect()),
            Value::Sequence(items) => items.iter().map(Node::as_str).collect(),
            _ => None,
        };
        match names {
            Some(names) if !names.iter().any(|name| name.is_empty()) => {
                Some(PublicSkills::Named(names.into_iter().map(str::to_owned).collect()))
            }
            _ => self.wrong_type(key, "all, none, or a list of workflows"),
        }
    }

    /// Networks in CIDR notation.
    pub(super) fn networks(&mut self, key: &str) -> Option<Vec<Network>> {
        let node = self.node(key);
        let Value::Sequence(items) = node.value else {
            return self.wrong_type(key, "a list of networks");
        };
        let mut networks = Some(Vec::new());
        for item in items {
            let network = item.as_str().and_then(|text| text.parse::<Network>().ok());
            if network.is_none() {
                let problem = Diagnostic::error("config::invalid-value", "this is no network")
                    .at(item.head_span(), "")
                    .help("write an address and the length of its prefix, as in 10.1.0.0/16");
                self.layers.report(key, problem);
            }
            networks = networks.zip(network).map(|(mut networks, network)| {
                networks.push(network);
                networks
            });
        }
        networks
    }

    pub(super) fn path(&mut self, key: &str) -> Option<PathBuf> {
        let text = self.string(key)?;
        if text.is_empty() {
            return self.invalid(key, &format!("`{key}` is empty"), "name a folder");
        }
        Some(text.into())
    }

    /// Names and addresses without a port.
    pub(super) fn hosts(&mut self, key: &str) -> Option<Vec<String>> {
        let help = "write a name or an address, without a scheme, a port or a path";
        self.list(key, "host", is_host, help)
    }

    /// URIs of protocol extensions.
    pub(super) fn extensions(&mut self, key: &str) -> Option<Vec<String>> {
        let help = "write the URI of the extension as its specification has it, such as https://example.com/ext/v1";
        self.list(key, "URI of an extension", is_extension, help)
    }

    /// A list of texts, each of which has to be something.
    fn list(
        &mut self,
        key: &str,
        what: &str,
        is_it: fn(&str) -> bool,
        help: &str,
    ) -> Option<Vec<String>> {
        let node = self.node(key);
        let Value::Sequence(items) = node.value else {
            return self.wrong_type(key, &format!("a list, each item a {what}"));
        };
        let mut list = Some(Vec::new());
        for item in items {
            let text = item.as_str().filter(|text| is_it(text)).map(str::to_owned);
            if text.is_none() {
                let found =
                    item.as_str().map_or_else(|| item.kind().to_owned(), |it| format!("`{it}`"));
                let problem =
                    Diagnostic::error("config::invalid-value", format!("{found} is no {what}"))
                        .at(item.head_span(), "")
                        .help(help);
                self.layers.report(key, problem);
            }
            list = list.zip(text).map(|(mut list, text)| {
                list.push(text);
                list
            });
        }
        list
    }

    /// `on`, `off`, or the name of an agent.
    pub(super) fn delegation(&mut self, key: &str) -> Option<Delegation> {
        Some(match self.string(key)?.as_str() {
            "off" => Delegation::Off,
            "on" => Delegation::Offered,
            "" => return self.invalid(key, "this names no agent", "write on, off, or a name"),
            agent => Delegation::To(agent.to_owned()),
        })
    }

    /// `off`, `own` or `public`.
    pub(super) fn publish(&mut self, key: &str) -> Option<Publish> {
        match self.string(key)?.as_str() {
            "off" => Some(Publish::Off),
            "own" => Some(Publish::Own),
            "public" => Some(Publish::Public),
            other => {
                let message = format!("`{key}` cannot be `{other}`");
                self.invalid(key, &message, "write off, own or public")
            }
        }
    }

    /// `on`, `off`, or `auto`, which is nothing.
    pub(super) fn switch_or_auto(&mut self, key: &str) -> Option<Option<bool>> {
        match self.string(key)?.as_str() {
            "auto" => Some(None),
            "on" => Some(Some(true)),
            "off" => Some(Some(false)),
            other => {
                let message = format!("`{key}` cannot be `{other}`");
                self.invalid(key, &message, "write auto, on or off")
            }
        }
    }

    /// A name, or nothing.
    pub(super) fn name(&mut self, key: &str) -> Option<Option<String>> {
        if self.node(key).value == Value::Null {
            return Some(None);
        }
        let name = self.string(key)?;
        if name.is_empty() {
            return self.invalid(key, &format!("`{key}` is empty"), "write a name, or null");
        }
        Some(Some(name))
    }

    /// Yes or no.
    pub(super) fn switch(&mut self, key: &str) -> Option<bool> {
        match self.node(key).value {
            Value::Bool(is_on) => Some(is_on),
            _ => self.wrong_type(key, "true or false"),
        }
    }

    /// A whole number from `least`.
    pub(super) fn number(&mut self, key: &str, least: u64) -> Option<usize> {
        let expected = format!("a whole number from {least}");
        let node = self.node(key);
        let Value::Number(number) = &node.value else { return self.wrong_type(key, &expected) };
        let number = number.as_u64().filter(|number| *number >= least);
        match number.and_then(|number| usize::try_from(number).ok()) {
            Some(number) => Some(number),
            None => self.invalid(key, &format!("`{key}` must be {expected}"), "change the number"),
        }
    }

    pub(super) fn boolean(&mut self, key: &str) -> Option<bool> {
        match self.node(key).value {
            Value::Bool(is_so) => Some(is_so),
            _ => self.wrong_type(key, "true or false"),
        }
    }

    pub(super) fn duration(&mut self, key: &str) -> Option<Duration> {
        let node = self.node(key);
        let Some(text) = node.as_str() else {
            return self.wrong_type(key, "a duration, as in 500ms, 30s, 5m or 1h30m");
        };
        match planner::parse_duration(text) {
            Ok(duration) => Some(duration),
            Err(why) => self.invalid(key, &format!("`{key}` is no duration: {why}"), DURATION),
        }
    }

    /// A duration, or `off`.
    pub(super) fn duration_or_off(&mut self, key: &str) -> Option<Option<Duration>> {
        if self.node(key).as_str() == Some("off") {
            return Some(None);
        }
        self.duration(key).map(Some)
    }

    fn node(&self, key: &str) -> Node {
        self.layers.setting(key).value.clone()
    }

    fn string(&mut self, key: &str) -> Option<String> {
        match self.node(key).value {
            Value::String(text) => Some(text),
            _ => self.wrong_type(key, "a string"),
        }
    }

    fn wrong_type<T>(&mut self, key: &str, expected: &str) -> Option<T> {
        let node = self.node(key);
        let message = format!("`{key}` must be {expected}, not {}", node.kind());
        let problem = Diagnostic::error("config::wrong-type", message);
        self.layers.report(key, problem.at(node.head_span(), format!("{expected} goes here")));
        None
    }

    /// Says what is wrong with the value of a setting.
    pub(super) fn invalid<T>(&mut self, key: &str, message: &str, help: &str) -> Option<T> {
        let problem = Diagnostic::error("config::invalid-value", message);
        self.layers.report(key, problem.at(self.node(key).span, "").help(help));
        None
    }
}

/// Whether a text is an absolute URI that can stand in a header with others.
fn is_extension(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    text.bytes().all(is_plain) && Url::parse(text).is_ok()
}

/// Whether a text is a name or an address, in brackets or not.
fn is_host(text: &str) -> bool {
    Host::parse(text).is_ok() || text.parse::<std::net::Ipv6Addr>().is_ok()
}
