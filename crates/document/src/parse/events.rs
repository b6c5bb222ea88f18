use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event as YamlEvent, Parser, ScalarStyle, Span as YamlSpan, Tag};

use super::{Limits, explain};
use crate::{Diagnostic, Source, Span, nearest};

/// One event of a document, small enough to keep them all.
pub(super) struct Event<'a> {
    pub(super) span: Span,
    pub(super) kind: Kind<'a>,
    /// The core tag it was written with, such as `str` for `!!str`.
    pub(super) tag: Option<&'static str>,
}

pub(super) enum Kind<'a> {
    Scalar {
        text: Cow<'a, str>,
        is_plain: bool,
    },
    /// Ends at the index of its `End`.
    Sequence {
        end: usize,
    },
    /// Ends at the index of its `End`.
    Mapping {
        end: usize,
    },
    End,
    /// Stands for the node that starts at this index; `None` when that is not known.
    Alias {
        target: Option<usize>,
    },
}

/// All events of the one document of a source.
pub(super) struct Events<'a> {
    pub(super) list: Vec<Event<'a>>,
    /// What was wrong without ending the document.
    pub(super) problems: Vec<Diagnostic>,
}

/// Scans the whole source.
///
/// # Errors
/// The one problem that made going on senseless: a syntax error, a second document, a limit.
pub(super) fn collect<'a>(source: &'a Source, limits: &Limits) -> Result<Events<'a>, Diagnostic> {
    if source.text().len() > limits.max_bytes {
        return Err(explain::text_too_large(source, limits));
    }
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: limits.max_depth,
        block_nesting_limit: limits.max_depth,
    };
    let mut collector = Collector {
        source,
        limits,
        list: Vec::new(),
        problems: Vec::new(),
        open: Vec::new(),
        anchors: HashMap::new(),
        names: Vec::new(),
        documents: 0,
    };
    for next in Parser::new_from_str_with_options(source.text(), options) {
        let (event, span) = next.map_err(|error| explain::syntax_error(source, &error, limits))?;
        collector.take(event, &span)?;
    }
    Ok(Events { list: collector.list, problems: collector.problems })
}

struct Collector<'a, 'l> {
    source: &'a Source,
    limits: &'l Limits,
    list: Vec<Event<'a>>,
    problems: Vec<Diagnostic>,
    /// Indices of the collections not ended yet.
    open: Vec<usize>,
    /// From the parser's number of an anchor to the event it is on.
    anchors: HashMap<usize, usize>,
    names: Vec<Cow<'a, str>>,
    documents: usize,
}

impl<'a> Collector<'a, '_> {
    fn take(&mut self, event: YamlEvent<'a>, at: &YamlSpan) -> Result<(), Diagnostic> {
        let span = span_of(at);
        match event {
            YamlEvent::DocumentStart(..) => self.start_document(span)?,
            YamlEvent::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                let span = match style {
                    ScalarStyle::Literal => self.block_span(span, '|'),
                    ScalarStyle::Folded => self.block_span(span, '>'),
                    _ => span,
                };
                let tag = self.tag(tag.as_deref(), at);
                self.add(anchor, span, Kind::Scalar { text, is_plain }, tag)?;
            }
            YamlEvent::SequenceStart(_, anchor, tag) => {
                let tag = self.tag(tag.as_deref(), at);
                self.start(anchor, span, Kind::Sequence { end: 0 }, tag)?;
            }
            YamlEvent::MappingStart(_, anchor, tag) => {
                let tag = self.tag(tag.as_deref(), at);
                self.start(anchor, span, Kind::Mapping { end: 0 }, tag)?;
            }
            YamlEvent::SequenceEnd | YamlEvent::MappingEnd => self.end(span),
            YamlEvent::Alias(anchor) => {
                let target = self.anchors.get(&anchor).copied();
                self.add(0, span, Kind::Alias { target }, None)?;
            }
            YamlEvent::UnresolvedAlias(name) => {
                self.unknown_anchor(&name, span);
                self.add(0, span, Kind::Alias { target: None }, None)?;
            }
            YamlEvent::Anchor(_, name) => self.names.push(name),
            _ => {}
        }
        Ok(())
    }

    /// A block scalar as people see it, from its `|` or `>` to its last line: the parser begins with
    /// the first content and ends after the empty lines that follow.
    fn block_span(&self, content: Span, header: char) -> Span {
        let text = self.source.text();
        let before = text[..content.start as usize].trim_end();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let without_comment = before[line..].split(" #").next().unwrap_or_default();
        let start = without_comment
            .rfind(header)
            .or_else(|| before[line..].rfind(header))
            .map_or(content.start as usize, |at| line + at);
        let end = start + text[start..content.end as usize].trim_end().len();
        Span::new(start, end)
    }

    fn start_document(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(Diagnostic::error(
            "yaml::several-documents",
            "there is more than one document in this file",
        )
        .at(span, "a second document starts here")
        .help("remove the `---` line, or put the second document into a file of its own"))
    }

    fn start(
        &mut self,
        anchor: usize,
        span: Span,
        kind: Kind<'a>,
        tag: Option<&'static str>,
    ) -> Result<(), Diagnostic> {
        self.open.push(self.list.len());
        if self.open.len() > self.limits.max_depth {
            return Err(explain::too_deep(span, self.limits));
        }
        self.add(anchor, span, kind, tag)
    }

    fn add(
        &mut self,
        anchor: usize,
        span: Span,
        kind: Kind<'a>,
        tag: Option<&'static str>,
    ) -> Result<(), Diagnostic> {
        if self.list.len() >= self.limits.max_nodes {
            return Err(explain::too_many_nodes(span, self.limits));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, self.list.len());
        }
        self.list.push(Event { span, kind, tag });
        Ok(())
    }

    fn end(&mut self, span: Span) {
        let at = self.list.len();
        let started = self.open.pop().expect("the parser pairs starts and ends");
        match &mut self.list[started].kind {
            Kind::Sequence { end } | Kind::Mapping { end } => *end = at,
            _ => unreachable!("only collections are opened"),
        }
        self.list.push(Event { span, kind: Kind::End, tag: None });
    }

    /// The name of a core tag; any other tag is a problem of its own.
    fn tag(&mut self, tag: Option<&Tag>, at: &YamlSpan) -> Option<&'static str> {
        const CORE: [&str; 7] = ["bool", "float", "int", "map", "null", "seq", "str"];
        let tag = tag?;
        let core = tag.core_suffix();
        if let Some(core) = CORE.into_iter().find(|known| core == Some(known)) {
            return Some(core);
        }
        let span = at.tag_span().map_or(span_of(at), |span| span_of(&span));
        self.problems.push(
            Diagnostic::error("yaml::tag", "tags have no meaning here")
                .at(span, "this tag is not known")
                .help("remove it; of YAML's tags only the core ones such as `!!str` are read"),
        );
        None
    }

    fn unknown_anchor(&mut self, name: &str, span: Span) {
        let diagnostic = Diagnostic::error(
            "yaml::unknown-anchor",
            format!("the alias `*{name}` refers to an anchor that is not defined before it"),
        )
        .at(span, "not defined");
        let names = self.names.iter().map(AsRef::as_ref);
        self.problems.push(match nearest(name, names) {
            Some(near) => diagnostic.help(format!("did you mean `*{near}`?")),
            None => diagnostic.help(format!(
                "define it with `&{name}` on an earlier value, or quote the text if it is none"
            )),
        });
    }
}

pub(super) fn span_of(span: &YamlSpan) -> Span {
    let range = span.byte_range().expect("a parser over a string knows byte offsets");
    Span::new(range.start, range.end)
}
