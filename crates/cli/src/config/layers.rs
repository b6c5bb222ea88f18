//! Which value of a setting holds: the one of the strongest layer that has one.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use document::{Diagnostic, Entry, Limits, Node, Source, Span, Value, nearest, parse};
use serde_json::Map;

use crate::{failure::Failure, output};

/// The setting that names a folder: in a file it is meant from where the file is.
const FOLDER: &str = "workflows";

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    /// `file:line:column`
    File(String),
    Environment(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) | Self::Environment(place) | Self::Flag(place) => f.write_str(place),
        }
    }
}

/// A value, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) value: Node,
    pub(crate) origin: Origin,
    /// Which of the texts its place is in.
    text: usize,
}

/// All settings, each as its strongest layer has it, and everything that is wrong with any layer.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Keys such as `runs.queue`, in the order of the defaults.
    keys: Vec<String>,
    settings: BTreeMap<String, Setting>,
    /// As they came: what is written as plain text becomes what its default is.
    defaults: BTreeMap<String, Value>,
    /// Every text that was read, with what is wrong with it.
    texts: Vec<(Source, Vec<Diagnostic>)>,
}

impl Layers {
    /// Begins with the defaults, which name every setting there is.
    pub(crate) fn of_defaults(text: &str) -> Self {
        let source = Source::new("config.default.yaml", text);
        let root = parse(&source, &Limits::default()).expect("the defaults are tested");
        let (settings, defaults) = (BTreeMap::new(), BTreeMap::new());
        let mut layers =
            Self { keys: Vec::new(), settings, defaults, texts: vec![(source, Vec::new())] };
        layers.collect(&root, "");
        layers
    }

    fn collect(&mut self, node: &Node, prefix: &str) {
        for entry in node.as_mapping().unwrap_or_default() {
            let key = format!("{prefix}{}", entry.key);
            if entry.value.as_mapping().is_some() {
                self.collect(&entry.value, &format!("{key}."));
                continue;
            }
            let setting = Setting { value: entry.value.clone(), origin: Origin::Default, text: 0 };
            self.defaults.insert(key.clone(), entry.value.value.clone());
            self.settings.insert(key.clone(), setting);
            self.keys.push(key);
        }
    }

    /// Adds a file.
    pub(crate) fn add_file(&mut self, path: &Path) {
        let source = match Source::read(path, &Limits::default()) {
            Ok(source) => source,
            Err(problems) => {
                self.texts.push((problems.source_file, problems.diagnostics));
                return;
            }
        };
        let parsed = parse(&source, &Limits::default());
        self.texts.push((source, Vec::new()));
        match parsed {
            Ok(Node { value: Value::Null, .. }) => (),
            Ok(root) => self.take(&root, "", path.parent().unwrap_or(Path::new(""))),
            Err(problems) => self.last().1.extend(problems),
        }
    }

    /// Takes the values of a file below a prefix.
    fn take(&mut self, node: &Node, prefix: &str, folder: &Path) {
        let Some(entries) = node.as_mapping() else {
            let message = match prefix.strip_suffix('.') {
                Some(section) => format!("`{section}` must be a mapping, not {}", node.kind()),
                None => format!("a configuration must be a mapping, not {}", node.kind()),
            };
            let problem = Diagnostic::error("config::wrong-type", message)
                .at(node.head_span(), "`KEY: VALUE` goes here");
            self.last().1.push(problem);
            return;
        };
        for entry in entries {
            let key = format!("{prefix}{}", entry.key);
            if self.settings.contains_key(&key) {
                self.set_from_file(&key, entry, folder);
            } else if self.is_section(&key) {
                self.take(&entry.value, &format!("{key}."), folder);
            } else {
                let problem = self.unknown(&key, prefix).at(entry.key_span, "unknown key");
                self.last().1.push(problem);
            }
        }
    }

    fn set_from_file(&mut self, key: &str, entry: &Entry, folder: &Path) {
        let mut value = entry.value.clone();
        if key == FOLDER
            && let Value::String(path) = &mut value.value
            && !path.is_empty()
        {
            *path = folder.join(PathBuf::from(&*path)).display().to_string();
        }
        let text = self.texts.len() - 1;
        let source = &self.texts[text].0;
        let origin = Origin::File(source.place(entry.key_span));
        self.settings.insert(key.to_owned(), Setting { value, origin, text });
    }

    /// Adds what the environment says: `runs.queue` is `CONVOKE_RUNS_QUEUE`.
    pub(crate) fn add_environment(&mut self, variable: impl Fn(&str) -> Option<OsString>) {
        for key in self.keys.clone() {
            let name = format!("CONVOKE_{}", key.to_uppercase().replace('.', "_"));
            let Some(value) = variable(&name).filter(|value| !value.is_empty()) else { continue };
            let text = value.to_string_lossy().into_owned();
            self.add_text(&key, &name, &text, Origin::Environment(name.clone()));
        }
    }

    /// Adds the value of a flag.
    pub(crate) fn add_flag(&mut self, key: &str, flag: &str, value: &str) {
        self.add_text(key, flag, value, Origin::Flag(flag.to_owned()));
    }

    /// Adds a flag of the form `--set KEY=VALUE`.
    pub(crate) fn add_set(&mut self, written: &str) {
        let (key, value) = written.split_once('=').unwrap_or((written, ""));
        if self.settings.contains_key(key) {
            self.add_text(key, &format!("--set {key}"), value, Origin::Flag("--set".to_owned()));
            return;
        }
        let source = Source::new("--set", written);
        let prefix = if self.is_section(key) { format!("{key}.") } else { String::new() };
        let whole = Span::new(0, key.len());
        let problem = self.unknown(key, &prefix).at(whole, "unknown key");
        self.texts.push((source, vec![problem]));
    }

    /// Adds a value that was written as plain text, of the type that the default has.
    fn add_text(&mut self, key: &str, name: &str, text: &str, origin: Origin) {
        let span = Span::new(0, text.len());
        let string = |text: &str| Node { span, value: Value::String(text.to_owned()) };
        let value = match &self.defaults[key] {
            Value::Sequence(_) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Node { span, value: Value::Sequence(items.map(string).collect()) }
            }
            Value::Bool(_) => match text.parse() {
                Ok(is_on) => Node { span, value: Value::Bool(is_on) },
                Err(_) => string(text),
            },
            Value::Number(_) => match text.parse::<u64>() {
                Ok(number) => Node { span, value: Value::Number(number.into()) },
                Err(_) => string(text),
            },
            _ => string(text),
        };
        self.texts.push((Source::new(name, text), Vec::new()));
        let text = self.texts.len() - 1;
        self.settings.insert(key.to_owned(), Setting { value, origin, text });
    }

    /// A setting that there is.
    pub(crate) fn setting(&self, key: &str) -> &Setting {
        self.settings.get(key).unwrap_or_else(|| panic!("`{key}` has a default"))
    }

    /// Says what is wrong with the value of a setting.
    pub(crate) fn report(&mut self, key: &str, problem: Diagnostic) {
        let text = self.setting(key).text;
        self.texts[text].1.push(problem);
    }

    /// Fails when anything is wrong, with all of it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let wrong = self.texts.iter().filter(|(_, problems)| !problems.is_empty());
        let shown: Vec<String> =
            wrong.map(|(source, problems)| output::diagnostics(source, problems)).collect();
        if shown.is_empty() { Ok(()) } else { Err(Failure::file(shown.join("\n"))) }
    }

    /// The settings in the order of the defaults.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.keys.iter().map(|key| (key.as_str(), &self.settings[key]))
    }

    /// What holds, as a configuration file in JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let mut root = Map::new();
        for (key, setting) in self.iter() {
            let value = setting.value.to_json();
            insert(&mut root, key, value);
        }
        root.into()
    }

    fn is_section(&self, key: &str) -> bool {
        let prefix = format!("{key}.");
        self.keys.iter().any(|known| known.starts_with(&prefix))
    }

    /// A key below a prefix that there is not.
    fn unknown(&self, key: &str, prefix: &str) -> Diagnostic {
        let known = || self.keys.iter().map(String::as_str);
        let sections = self.keys.iter().filter_map(|key| Some(key.rsplit_once('.')?.0));
        let help = match nearest(key, known().chain(sections)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let here: Vec<&str> = known().filter(|known| known.starts_with(prefix)).collect();
                format!("known settings: {}", here.join(", "))
            }
        };
        Diagnostic::error("config::unknown-key", format!("`{key}` is no setting")).help(help)
    }

    fn last(&mut self) -> &mut (Source, Vec<Diagnostic>) {
        self.texts.last_mut().expect("the defaults are there from the start")
    }
}

/// Puts a value under a key such as `auth.jwt.issuer`.
fn insert(map: &mut Map<String, serde_json::Value>, key: &str, value: serde_json::Value) {
    let Some((section, rest)) = key.split_once('.') else {
        map.insert(key.to_owned(), value);
        return;
    };
    let section = map.entry(section).or_insert_with(|| Map::new().into());
    if let Some(section) = section.as_object_mut() {
        insert(section, rest, value);
    }
}
