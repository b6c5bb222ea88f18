//! The tables of the workflow reference, written from the language's own.

use super::{Absent, Field, Keyword, Place, Type};

const OPEN: &str = "<!-- fields: ";
const CLOSE: &str = "<!-- end of fields -->";

/// Says why a reference cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// A mark names no mapping of the language.
    #[error(
        "line {line}: there are no fields of `{name}`; write `{OPEN}NAME -->`, NAME one of: {known}"
    )]
    Unknown {
        /// The line, from 1.
        line: usize,
        /// What it names.
        name: String,
        /// What there is.
        known: String,
    },
    /// A mark is not followed by the one that ends the table.
    #[error("line {line}: the table that begins here does not end; write `{CLOSE}` after it")]
    Open {
        /// The line, from 1.
        line: usize,
    },
    /// No mark asks for the fields of a mapping.
    #[error("no table has the fields of {0}; write `{OPEN}{0} -->` and `{CLOSE}` where it belongs")]
    Absent(&'static str),
}

/// Fills every table of a reference in Markdown: what stands between `<!-- fields: NAME -->` and
/// `<!-- end of fields -->` is replaced by the fields of that mapping.
///
/// # Errors
/// When a mark names no mapping or is not closed, or when the fields of a mapping are asked for nowhere.
pub fn fill_reference(markdown: &str) -> Result<String, ReferenceError> {
    let mut filled = String::new();
    let mut missing = Place::ALL.to_vec();
    let mut lines = (1..).zip(markdown.lines());
    while let Some((line, text)) = lines.next() {
        filled.push_str(text);
        filled.push('\n');
        let Some(name) = text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let place = Place::ALL.into_iter().find(|place| place.name() == name);
        let place = place.ok_or_else(|| ReferenceError::Unknown {
            line,
            name: name.to_owned(),
            known: Place::ALL.map(Place::name).join(", "),
        })?;
        missing.retain(|other| *other != place);
        filled.push_str(&format!("\n{}\n{CLOSE}\n", table(place)));
        if !lines.any(|(_, text)| text == CLOSE) {
            return Err(ReferenceError::Open { line });
        }
    }
    match missing.first() {
        Some(place) => Err(ReferenceError::Absent(place.name())),
        None => Ok(filled),
    }
}

fn table(place: Place) -> String {
    let mut text = "| key | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    for field in place.fields() {
        let row = [
            format!("`{}`", field.key),
            takes(field),
            default(field.absent),
            field.meaning.to_owned(),
        ];
        let cells = row.map(|cell| cell.replace('|', "\\|"));
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

fn default(absent: Absent) -> String {
    match absent {
        Absent::Wrong => "required".to_owned(),
        Absent::Nothing => "none".to_owned(),
        Absent::Value(value) => format!("`{value}`"),
        Absent::Otherwise(words) => words.to_owned(),
    }
}

fn takes(field: &Field) -> String {
    match &field.takes {
        Type::Version => "`1`".to_owned(),
        Type::WorkflowName | Type::Text | Type::Literal | Type::Template => "text".to_owned(),
        Type::Name => "a name".to_owned(),
        Type::Texts => "a list of texts".to_owned(),
        Type::Names => "a list of names".to_owned(),
        Type::AgentUrl | Type::TemplateUrl => "a URL".to_owned(),
        Type::Step => "a step".to_owned(),
        Type::MediaTypes => "a list of media types".to_owned(),
        Type::Flag => "`true` or `false`".to_owned(),
        Type::Join => "`all`, `any`, or a number".to_owned(),
        Type::Items => "an expression, or a list".to_owned(),
        Type::Cron => "five fields of cron".to_owned(),
        Type::TimeZone => "a time zone".to_owned(),
        Type::Given => "a mapping from inputs".to_owned(),
        Type::Declared => "a list".to_owned(),
        Type::Steps => "a list of steps".to_owned(),
        Type::Input | Type::FileInput => "an input".to_owned(),
        Type::Artifacts => "`STEP` or `STEP[\"name\"]`".to_owned(),
        Type::Integer(least, most) => format!("{least} to {most}"),
        Type::Number(least, most) => format!("a number, {least} to {most}"),
        Type::Duration => "a duration".to_owned(),
        Type::Expression => "an expression".to_owned(),
        Type::TemplateMediaType | Type::MediaType => "a media type".to_owned(),
        Type::TemplateMapping => "a mapping".to_owned(),
        Type::Value => "anything".to_owned(),
        Type::Values => "a mapping from names to values".to_owned(),
        Type::OneOf(words) => {
            words().iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        Type::AnyOf(_) => "a list of [failures](#failures)".to_owned(),
        Type::Mapping(place) | Type::Named(place, _) => format!("see {}", section(*place)),
        Type::List(place) => format!("a list: see {}", section(*place)),
        Type::TextOrList(place) => format!("text, or a list: see {}", section(*place)),
        Type::NameOrMapping(place) => format!("a name, or a mapping: see {}", section(*place)),
        Type::Question => "text".to_owned(),
        Type::With => "a mapping from inputs to values".to_owned(),
        Type::NamesOrMappings(place) => {
            format!("a list of names and mappings: see {}", section(*place))
        }
        Type::Keyword(of) => keyword(*of).to_owned(),
    }
}

/// The section of the reference that describes it.
fn section(place: Place) -> &'static str {
    match place {
        Place::Workflow => "[The file](#the-file)",
        Place::Input => "[Inputs](#inputs)",
        Place::Agent => "[Agents of the file](#agents-of-the-file)",
        Place::Defaults => "[Defaults](#defaults)",
        Place::Concurrency => "[Runs at once](#runs-at-once)",
        Place::Budget => "[Budget](#budget)",
        Place::Schedule => "[Schedules](#schedules)",
        Place::Step => "[Steps](#steps)",
        Place::Selector => "[Agents](#agents)",
        Place::Repeat => "[Rounds](#rounds)",
        Place::Retry | Place::Backoff => "[Retries](#retries)",
        Place::Cache => "[Reuse](#reuse)",
        Place::Part => "[Messages](#messages)",
        Place::Output => "[Outputs](#outputs)",
    }
}

fn keyword(of: Keyword) -> &'static str {
    match of {
        Keyword::Types => "a type, or a list of them",
        Keyword::Any => "anything",
        Keyword::Values => "a list",
        Keyword::Text | Keyword::Regex | Keyword::Reference => "text",
        Keyword::Flag => "`true` or `false`",
        Keyword::Number => "a number",
        Keyword::Positive => "a number above 0",
        Keyword::Count => "a whole number",
        Keyword::Schema => "a schema",
        Keyword::Schemas => "a list of schemas",
        Keyword::NamedSchemas | Keyword::RegexSchemas => "a mapping of schemas",
        Keyword::Names => "a list of names",
        Keyword::NamedNames => "a mapping of lists",
    }
}
