//! The workflow language as one table: a row for each field.
//!
//! The decoder takes the keys that it knows from here and can read no other, [`schema()`] is the
//! table as JSON Schema, and the tables of `docs/workflow-reference.md` are written from it. A new
//! field is a row here and its decoder.

#[cfg(feature = "drop-field")]
pub(crate) mod dropped;
mod reference;
mod schema;
mod schema_keywords;
mod table;

pub use reference::{ReferenceError, fill_reference};
pub use schema::schema;

/// Names the mappings of the language whose keys are closed sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The file itself.
    Workflow,
    /// One of `inputs`: keywords of JSON Schema, and `from`.
    Input,
    /// One of `agents`.
    Agent,
    /// `defaults`.
    Defaults,
    /// `concurrency` of the file.
    Concurrency,
    /// `budget`.
    Budget,
    /// One item of `schedule`.
    Schedule,
    /// One of `steps`.
    Step,
    /// `agent` of a step.
    Selector,
    /// `repeat`.
    Repeat,
    /// `retry`.
    Retry,
    /// `backoff` of a `retry`.
    Backoff,
    /// `cache` of a step.
    Cache,
    /// One item of a `message`.
    Part,
    /// One of `outputs`.
    Output,
}

/// Describes one field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key, as it is written.
    pub key: &'static str,
    /// What its value may be.
    pub takes: Type,
    /// What holds where it is not written.
    pub absent: Absent,
    /// What it does, in one line of Markdown.
    pub meaning: &'static str,
}

/// Says what holds where a field is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The file is wrong.
    Wrong,
    /// Nothing: it has no effect.
    Nothing,
    /// The same as with this value, in YAML.
    Value(&'static str),
    /// What these words say.
    Otherwise(&'static str),
}

/// Says what the value of a field may be.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// The version of the language.
    Version,
    /// `[a-z0-9-]`, 1 to 63 characters.
    WorkflowName,
    /// Text, taken as it is written.
    Text,
    /// Text without expressions.
    Literal,
    /// Text without expressions that is not blank.
    Name,
    /// A list of texts.
    Texts,
    /// A list of names.
    Names,
    /// The URL of an agent.
    AgentUrl,
    /// The id of a step of the file.
    Step,
    /// A list of ids of steps of the file.
    Steps,
    /// The name of an input of the file.
    Input,
    /// The name of an input that is a file, or an expression.
    FileInput,
    /// `STEP`, or `STEP["name"]`.
    Artifacts,
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// A number from the first to the second.
    Number(u32, u32),
    /// A duration such as `1h30m`.
    Duration,
    /// One expression, bare or as one `${{ … }}`.
    Expression,
    /// Text that may hold expressions.
    Template,
    /// A URL that may hold expressions.
    TemplateUrl,
    /// A media type, or text with expressions.
    TemplateMediaType,
    /// A mapping that may hold expressions, or one expression.
    TemplateMapping,
    /// Any YAML that may hold expressions.
    Value,
    /// A mapping from names to values that may hold expressions; at least one.
    Values,
    /// A media type.
    MediaType,
    /// A list of media types.
    MediaTypes,
    /// True or false.
    Flag,
    /// `all`, `any`, or how many.
    Join,
    /// One expression, or a list whose items may hold some.
    Items,
    /// Five fields of cron.
    Cron,
    /// A name of the IANA database.
    TimeZone,
    /// Values by the names of inputs of the file.
    Given,
    /// A list of what a card can declare.
    Declared,
    /// One of some words.
    OneOf(fn() -> Vec<&'static str>),
    /// A list of some words.
    AnyOf(fn() -> Vec<&'static str>),
    /// A mapping of one kind.
    Mapping(Place),
    /// A list of mappings of one kind.
    List(Place),
    /// A mapping from names, as this pattern has them, to mappings of one kind.
    Named(Place, Names),
    /// Text, or a list of mappings of one kind.
    TextOrList(Place),
    /// A name, or a mapping of one kind.
    NameOrMapping(Place),
    /// Text that is not blank and may hold expressions.
    Question,
    /// Values by the names of inputs of another file, any of which may hold expressions.
    With,
    /// A list of names, and of mappings of one kind; at least one.
    NamesOrMappings(Place),
    /// What JSON Schema has a keyword take.
    Keyword(Keyword),
}

/// Says which names the author of a file may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `[a-z][a-z0-9_]*`, at most 128 characters; at least one of them.
    Steps,
    /// `[a-z][a-z0-9_]*`.
    Inputs,
    /// Any.
    Any,
}

/// Says what a keyword of JSON Schema (2020-12) takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// The name of a type, or a list of them.
    Types,
    /// Any value.
    Any,
    /// A list of values.
    Values,
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// A number above zero.
    Positive,
    /// A whole number from zero on.
    Count,
    /// A regular expression.
    Regex,
    /// A schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by name.
    NamedSchemas,
    /// Schemas by regular expression.
    RegexSchemas,
    /// A list of names.
    Names,
    /// Lists of names by name.
    NamedNames,
    /// A place in the same schema.
    Reference,
}

impl Place {
    /// All of them, in the order in which they are described.
    pub const ALL: [Place; 15] = [
        Place::Workflow,
        Place::Input,
        Place::Agent,
        Place::Defaults,
        Place::Concurrency,
        Place::Budget,
        Place::Schedule,
        Place::Step,
        Place::Selector,
        Place::Repeat,
        Place::Retry,
        Place::Backoff,
        Place::Cache,
        Place::Part,
        Place::Output,
    ];

    /// Its name in the schema and in the reference.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Place::Workflow => "workflow",
            Place::Input => "input",
            Place::Agent => "agent",
            Place::Defaults => "defaults",
            Place::Concurrency => "concurrency",
            Place::Budget => "budget",
            Place::Schedule => "schedule",
            Place::Step => "step",
            Place::Selector => "selector",
            Place::Repeat => "repeat",
            Place::Retry => "retry",
            Place::Backoff => "backoff",
            Place::Cache => "cache",
            Place::Part => "part",
            Place::Output => "output",
        }
    }

    /// Its fields, in the order in which they are described.
    #[must_use]
    pub fn fields(self) -> &'static [Field] {
        match self {
            Place::Workflow => &table::WORKFLOW,
            Place::Input => &schema_keywords::INPUT,
            Place::Agent => &table::AGENT,
            Place::Defaults => &table::DEFAULTS,
            Place::Concurrency => &table::CONCURRENCY,
            Place::Budget => &table::BUDGET,
            Place::Schedule => &table::SCHEDULE,
            Place::Step => &table::STEP,
            Place::Selector => &table::SELECTOR,
            Place::Repeat => &table::REPEAT,
            Place::Retry => &table::RETRY,
            Place::Backoff => &table::BACKOFF,
            Place::Cache => &table::CACHE,
            Place::Part => &table::PART,
            Place::Output => &table::OUTPUT,
        }
    }

    /// The field of a key.
    #[must_use]
    pub fn field(self, key: &str) -> Option<&'static Field> {
        self.fields().iter().find(|field| field.key == key)
    }

    /// The keys of its fields.
    pub fn keys(self) -> impl Iterator<Item = &'static str> {
        self.fields().iter().map(|field| field.key)
    }
}

impl Field {
    /// A field that has no effect where it is not written.
    const fn new(key: &'static str, takes: Type, meaning: &'static str) -> Field {
        Field { key, takes, absent: Absent::Nothing, meaning }
    }

    const fn required(self) -> Field {
        Field { absent: Absent::Wrong, ..self }
    }

    const fn default(self, value: &'static str) -> Field {
        Field { absent: Absent::Value(value), ..self }
    }

    const fn otherwise(self, words: &'static str) -> Field {
        Field { absent: Absent::Otherwise(words), ..self }
    }
}

#[cfg(test)]
mod tests;
