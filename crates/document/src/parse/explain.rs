//! What the parser and the budgets refuse, in words that say what to do.

use granit_parser::{ErrorKind, ScanError};

use super::Limits;
use crate::{Diagnostic, Entry, Node, Source, Span};

pub(super) fn syntax_error(source: &Source, error: &ScanError, limits: &Limits) -> Diagnostic {
    let text = source.text();
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let next = text[at..].chars().next().filter(|next| *next != '\n' && *next != '\r');
    let span = Span::new(at, at + next.map_or(0, char::len_utf8));
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(span, limits),
        kind if is_tab(kind) => tab(text, at),
        kind => {
            let (message, help) = words(kind);
            let message = match (message, kind) {
                (Some(message), _) => message.to_owned(),
                (None, ErrorKind::UnexpectedCharacter { character }) if character.is_control() => {
                    format!(
                        "the control character U+{:04X} cannot stand here",
                        u32::from(*character)
                    )
                }
                (None, ErrorKind::UnexpectedCharacter { character }) => {
                    format!("an unquoted text cannot begin with `{}`", character.escape_debug())
                }
                (None, kind) => kind.to_string(),
            };
            let diagnostic =
                Diagnostic::error("yaml::syntax", format!("this is not valid YAML: {message}"))
                    .at(span, "here");
            let help = expression_in_flow(text, at)
                .or(help)
                .or_else(|| at_value_start(text, at))
                .unwrap_or(match next {
                    Some(next) if next.is_control() => {
                        "take the character away, or write it as an escape in double quotes"
                    }
                    _ => "quote the text, or correct it",
                });
            diagnostic.help(help)
        }
    }
}

/// Words for the mistakes people make; the rest is said in the parser's own.
fn words(kind: &ErrorKind) -> (Option<&'static str>, Option<&'static str>) {
    match kind {
        ErrorKind::UnclosedQuotedScalar => {
            (Some("a quoted text is never closed"), Some("add the closing quote"))
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::ExpectedFlowMappingSeparator => (
            Some("a `[` or `{` is not closed, or a `,` is missing"),
            Some("close it with `]` or `}`, and put `,` between the items"),
        ),
        ErrorKind::MappingValueNotAllowed => (
            Some("a `:` stands where no mapping can begin"),
            Some(
                "quote the text if the `:` belongs to it; otherwise check the indentation, and that a \
                 blank follows each `:` above",
            ),
        ),
        ErrorKind::SimpleKeyExpected => (
            Some("a key without `:`"),
            Some("write `key: value`, or indent the line if it continues the one above"),
        ),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => (
            Some("the indentation fits nothing above"),
            Some("give all keys of one mapping the same indentation"),
        ),
        ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::BlockSequenceEntryNotAllowed => (
            Some("a list item stands where none can be"),
            Some(
                "give all `-` of one list the same indentation, and start a list on a line of its own",
            ),
        ),
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidUnicodeEscape => (
            Some("an unknown escape in a double-quoted text"),
            Some("write `\\\\` for a backslash, or use single quotes"),
        ),
        _ => (None, None),
    }
}

/// `%`, `@` and the backquote cannot begin a plain text.
fn at_value_start(text: &str, at: usize) -> Option<&'static str> {
    text[at..]
        .starts_with(['@', '`', '%', '&', '*', '!'])
        .then_some("quote the text: YAML gives the character a meaning of its own")
}

/// In `{message: ${{ inputs.x }}}` the first brace begins a mapping: what everybody runs into once.
fn expression_in_flow(text: &str, at: usize) -> Option<&'static str> {
    let is_brace_of_expression =
        text[..at].ends_with('$') && text[at..].starts_with(['{', '%', '#']);
    is_brace_of_expression
        .then_some("inside `{ }` and `[ ]`, put a text with `${{ … }}` in it in quotes")
}

fn is_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar
    )
}

fn tab(text: &str, at: usize) -> Diagnostic {
    let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let found = text[line..].find('\t').map_or(at, |within| line + within);
    Diagnostic::error("yaml::tab", "a tab is used as indentation")
        .at(Span::new(found, found + 1), "this is a tab")
        .help("YAML is indented with spaces only: replace the tab with spaces")
}

pub(super) fn text_too_large(source: &Source, limits: &Limits) -> Diagnostic {
    Diagnostic::error(
        "file::too-large",
        format!(
            "`{}` is {} bytes long; the limit for one file is {} bytes",
            source.name(),
            source.text().len(),
            limits.max_bytes
        ),
    )
    .help("split it, or keep large content in files of its own that are passed as input")
}

pub(super) fn too_deep(span: Span, limits: &Limits) -> Diagnostic {
    let levels = limits.max_depth;
    Diagnostic::error("yaml::too-deep", format!("values are nested deeper than {levels} levels"))
        .at(span, format!("level {} begins here", levels + 1))
        .help("flatten the structure")
}

pub(super) fn too_many_nodes(span: Span, limits: &Limits) -> Diagnostic {
    let nodes = limits.max_nodes;
    Diagnostic::error(
        "yaml::too-many-values",
        format!("there are more than {nodes} keys and values in this file"),
    )
    .at(span, "the limit is reached here")
    .help("split the file")
}

pub(super) fn too_many_alias_nodes(span: Span, limits: &Limits) -> Diagnostic {
    let nodes = limits.max_alias_nodes;
    alias_budget(format!("aliases repeat more than {nodes} keys and values"), span)
}

pub(super) fn too_many_alias_bytes(span: Span, limits: &Limits) -> Diagnostic {
    let bytes = limits.max_alias_bytes;
    alias_budget(format!("aliases repeat more than {bytes} bytes of text"), span)
}

fn alias_budget(message: String, span: Span) -> Diagnostic {
    Diagnostic::error("yaml::alias-budget", message)
        .at(span, "the limit is reached in what this alias stands for")
        .help("aliases that contain aliases multiply: write the values out, or use fewer of them")
}

pub(super) fn alias_of_itself(span: Span) -> Diagnostic {
    Diagnostic::error("yaml::alias-of-itself", "an alias stands inside the value it refers to")
        .at(span, "this would never end")
        .help("write the value out")
}

pub(super) fn merge_key(span: Span) -> Diagnostic {
    Diagnostic::error("yaml::merge-key", "merge keys (`<<`) are not supported")
        .at(span, "this would merge another mapping")
        .help("write the fields out, or use an alias for a whole value (`key: *name`)")
}

pub(super) fn key_not_scalar(span: Span) -> Diagnostic {
    Diagnostic::error("yaml::key-not-text", "a key is a mapping or a list")
        .at(span, "this is used as a key")
        .help("use text as the key; a text that starts with `{` or `[` must be quoted")
}

pub(super) fn duplicate_key(entry: &Entry, first: Span) -> Diagnostic {
    Diagnostic::error("yaml::duplicate-key", format!("the key `{}` is there twice", entry.key))
        .at(entry.key_span, "again here")
        .at(first, "first here")
        .help("remove one of the two, or rename it")
}

pub(super) fn tag_disagrees(span: Span, tag: &str, node: &Node) -> Diagnostic {
    Diagnostic::error("yaml::tag", format!("the value is tagged `!!{tag}` but is {}", node.kind()))
        .at(span, format!("{}, not `{tag}`", node.kind()))
        .help("remove the tag or correct the value")
}
