//! Files that list agents: a catalog, a JSON array of cards, or one card.

mod credentials;

use std::collections::HashMap;

use document::{Diagnostic, Entry as Field, Limits, Node, Problems, Source, Span, Value};
use jiff::civil::Date;
use url::Url;

use crate::form::{Codes, Reader};
use crate::{Details, name};

const CODES: Codes =
    Codes { wrong_type: "catalog::wrong-type", unknown_key: "catalog::unknown-key" };

/// One agent as a file lists it.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The name it asks for; without one, its card's name gives it.
    pub name: Option<String>,
    /// Where its card is.
    pub card: CardAt,
    /// What the file says beside the card.
    pub details: Details,
    /// Where in the file.
    pub span: Span,
}

/// Where the card of an entry is.
#[derive(Clone, PartialEq, Debug)]
pub enum CardAt {
    /// At a URL.
    Url(String),
    /// In the entry itself, with the pointer to it in the file.
    Here {
        /// The card as JSON.
        card: serde_json::Value,
        /// Its JSON pointer.
        pointer: String,
    },
    /// In a file of its own, by a path relative to the folder of the listing file.
    File(String),
}

/// What a file lists.
#[derive(Clone, PartialEq, Debug)]
pub struct Listing {
    /// The file, for messages about its entries.
    pub source: Source,
    /// Its tree, for the places of pointers.
    pub root: Node,
    /// Whether it is a catalog, which says everything about its agents, and not only cards.
    pub is_catalog: bool,
    /// The agents in the order written.
    pub entries: Vec<Entry>,
    /// What the catalog calls itself, so that it is the same one wherever its file is kept.
    pub name: Option<String>,
}

/// Reads a catalog (`catalog?: NAME`, `agents: [{name?, url | card, tags, category, aliases, owner, notes,
/// notes_review_by, priority, credentials, origins, probe_message, public}]`), a list of cards, or one card; YAML or JSON.
///
/// # Errors
/// Everything the file is wrong about. Whether the cards can be fetched and read is found later.
pub fn read(source: Source) -> Result<Listing, Problems> {
    let root = match document::parse(&source, &Limits::default()) {
        Ok(root) => root,
        Err(diagnostics) => return Err(Problems { source_file: source, diagnostics }),
    };
    let mut reader = Reader::new(&source, CODES);
    let is_catalog = root.get("agents").is_some();
    let entries = match &root.value {
        Value::Mapping(fields) if is_catalog => reader.catalog(fields),
        Value::Mapping(_) if root.get("name").is_some() => vec![bare(&root, String::new())],
        Value::Sequence(cards) => reader.cards(cards),
        _ => {
            reader.problems.push(neither(&root));
            Vec::new()
        }
    };
    reader.repeated_names(&entries);
    let diagnostics = reader.problems;
    if diagnostics.is_empty() {
        let name = root.get("catalog").filter(|_| is_catalog).and_then(Node::as_str);
        let name = name.map(str::to_owned);
        return Ok(Listing { source, root, is_catalog, entries, name });
    }
    Err(Problems { source_file: source, diagnostics })
}

fn bare(card: &Node, pointer: String) -> Entry {
    Entry {
        name: None,
        card: CardAt::Here { card: card.to_json(), pointer },
        details: Details::default(),
        span: card.head_span(),
    }
}

fn neither(root: &Node) -> Diagnostic {
    Diagnostic::error("catalog::unknown-form", "this is neither a catalog nor an Agent Card")
        .at(root.head_span(), format!("{} without `agents` or `name`", root.kind()))
        .help(
            "a catalog begins with `agents:` and a list; an Agent Card is an object with a `name`",
        )
}

impl Reader<'_> {
    fn catalog(&mut self, fields: &[Field]) -> Vec<Entry> {
        let mut entries = Vec::new();
        for field in fields {
            match (field.key.as_str(), &field.value.value) {
                ("agents", Value::Sequence(items)) => {
                    let items = items.iter().enumerate();
                    entries = items.filter_map(|(at, item)| self.entry(at, item)).collect();
                }
                ("agents", Value::Null) => {}
                ("agents", _) => self.wrong_type(field, "a list of agents"),
                ("catalog", _) => _ = self.name(field),
                _ => self.unknown_key(field, "a catalog", &["agents", "catalog"]),
            }
        }
        entries
    }

    fn cards(&mut self, cards: &[Node]) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (at, card) in cards.iter().enumerate() {
            match card.get("name") {
                Some(_) => entries.push(bare(card, format!("/{at}"))),
                None => self.problems.push(neither(card)),
            }
        }
        entries
    }

    fn entry(&mut self, at: usize, item: &Node) -> Option<Entry> {
        const KEYS: [&str; 14] = [
            "name",
            "url",
            "card",
            "tags",
            "category",
            "aliases",
            "owner",
            "notes",
            "notes_review_by",
            "priority",
            "credentials",
            "origins",
            "probe_message",
            "public",
        ];
        let Some(fields) = item.as_mapping() else {
            let diagnostic =
                Diagnostic::error("catalog::wrong-type", "an agent of a catalog is a mapping")
                    .at(item.head_span(), format!("this is {}", item.kind()))
                    .help("write `- url: https://…` or `- card: …`");
            self.problems.push(diagnostic);
            return None;
        };
        let mut entry = Draft::default();
        for field in fields {
            match field.key.as_str() {
                "name" => entry.name = self.name(field),
                "url" => entry.url = self.url(field),
                "card" => entry.card = self.card(at, field),
                "tags" => entry.details.tags = self.texts(field),
                "category" => entry.details.category = self.text(field),
                "aliases" => entry.details.aliases = self.names(field),
                "owner" => entry.details.owner = self.text(field),
                "notes" => entry.details.notes = self.text(field),
                "notes_review_by" => entry.details.notes_review_by = self.day(field),
                "priority" => entry.details.priority = self.priority(field),
                "credentials" => entry.details.credentials = self.credentials(field),
                "origins" => entry.details.origins = self.origins(field),
                "probe_message" => entry.details.probe_message = self.probe_message(field),
                "public" => entry.details.public = self.flag(field),
                _ => self.unknown_key(field, "an agent of a catalog", &KEYS),
            }
        }
        let card = self.one_card(item, entry.url, entry.card)?;
        Some(Entry { name: entry.name, card, details: entry.details, span: item.head_span() })
    }

    fn one_card(
        &mut self,
        item: &Node,
        url: Option<String>,
        card: Option<CardAt>,
    ) -> Option<CardAt> {
        let is_written = |key| item.entry(key).map(|field| field.key_span);
        let diagnostic = match (is_written("url"), is_written("card")) {
            (Some(url), Some(card)) => {
                Diagnostic::error("catalog::two-cards", "an agent has `url` or `card`, not both")
                    .at(card, "the card is here").at(url, "and here").help("remove one of the two")
            }
            (None, None) => Diagnostic::error("catalog::no-card", "the agent has neither `url` nor `card`")
                .at(item.head_span(), "this agent")
                .help("say where its card is: `url: https://…`, or `card:` with a path or the card itself"),
            // One that is there and no good was reported.
            _ => return card.or(url.map(CardAt::Url)),
        };
        self.problems.push(diagnostic);
        None
    }

    fn card(&mut self, at: usize, field: &Field) -> Option<CardAt> {
        match &field.value.value {
            Value::Mapping(_) => Some(CardAt::Here {
                card: field.value.to_json(),
                pointer: format!("/agents/{at}/card"),
            }),
            Value::String(path) if !path.is_empty() => Some(CardAt::File(path.clone())),
            _ => {
                self.wrong_type(field, "a card or the path of one");
                None
            }
        }
    }

    fn url(&mut self, field: &Field) -> Option<String> {
        let Some(text) = field.value.as_str() else {
            self.wrong_type(field, "a URL");
            return None;
        };
        let (problem, help) = match Url::parse(text) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => (
                format!("`{text}` is not the URL of a card"),
                "it begins with `https://` or `http://`",
            ),
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                ("the URL holds credentials".to_owned(), "take `user:password@` out of it")
            }
            Ok(_) => return Some(text.to_owned()),
            Err(_) => (
                format!("`{text}` is not the URL of a card"),
                "write it in full, as in `https://agents.example.com`",
            ),
        };
        let diagnostic = Diagnostic::error("catalog::url", problem).at(field.value.span, "");
        self.problems.push(diagnostic.help(help));
        None
    }

    fn name(&mut self, field: &Field) -> Option<String> {
        let text = self.text(field)?;
        if let Some(problem) = name::problem(&text) {
            self.problems
                .push(Diagnostic::error("catalog::name", problem).at(field.value.span, ""));
        }
        Some(text)
    }

    fn names(&mut self, field: &Field) -> Vec<String> {
        let names = self.texts(field);
        for problem in names.iter().filter_map(|alias| name::problem(alias)) {
            self.problems.push(Diagnostic::error("catalog::name", problem).at(field.key_span, ""));
        }
        names
    }

    /// A text, or `false`, which is an empty one.
    fn probe_message(&mut self, field: &Field) -> Option<String> {
        match &field.value.value {
            Value::Bool(false) => Some(String::new()),
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => {
                self.wrong_type(field, "the text of a Message, or false");
                None
            }
        }
    }

    fn day(&mut self, field: &Field) -> Option<Date> {
        let day = field.value.as_str().and_then(|text| text.parse().ok());
        if day.is_none() {
            self.wrong_type(field, "a day, as in 2027-06-30");
        }
        day
    }

    fn priority(&mut self, field: &Field) -> i32 {
        let number = match &field.value.value {
            Value::Number(number) => number.as_i64().and_then(|number| i32::try_from(number).ok()),
            _ => None,
        };
        number.unwrap_or_else(|| {
            self.wrong_type(field, "a whole number");
            0
        })
    }

    /// Every name and alias may be there once.
    fn repeated_names(&mut self, entries: &[Entry]) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for entry in entries {
            for name in entry.name.iter().chain(&entry.details.aliases) {
                if let Some(first) = seen.insert(name, entry.span) {
                    self.problems.push(
                        Diagnostic::error(
                            "catalog::repeated-name",
                            format!("two agents are called `{name}`"),
                        )
                        .at(entry.span, "this one")
                        .at(first, "and this one")
                        .help("give one of them another name or alias"),
                    );
                }
            }
        }
    }
}

#[derive(Default)]
struct Draft {
    name: Option<String>,
    url: Option<String>,
    card: Option<CardAt>,
    details: Details,
}

#[cfg(test)]
mod tests;
