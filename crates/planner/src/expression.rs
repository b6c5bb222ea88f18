//! Expressions: `${{ … }}` in the text of a workflow, and bare ones such as the value of `when`.
//!
//! They are strict (an undefined value is an error, also as the final value), bounded (each limit
//! is an error of its own) and pure: inputs, step results and the run are all they can see.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use document::{Diagnostic, Source, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::result::{StepResult, StepState};
use crate::scope::Scope;

mod depth;
mod names;
mod place;
mod program;
mod references;
mod scan;
#[cfg(test)]
mod tests;
mod value;

use place::Place;
use program::{Program, Trouble, TroubleKind};
use references::{Reading, What};
use scan::{Island, IslandKind};

pub(crate) use names::{ITEM, THIS};
pub use place::ExpressionError;
pub(crate) use value::{Artifact, Context};

/// The longest text, in bytes, that may hold expressions.
pub const MAX_SOURCE_BYTES: usize = 64 << 10;
/// The largest result of one expression or text, in bytes.
pub const MAX_RESULT_BYTES: usize = 4 << 20;
/// The work one evaluation may take: about one unit per operation and per 64 bytes produced.
pub const MAX_FUEL: u64 = 1_000_000;

/// Holds one expression, or one text with expressions in it, and where it was written.
///
/// It is compiled when first needed and once only; what is stored of it is its source and span.
#[derive(Clone, Serialize, Deserialize)]
pub struct Expression {
    source: String,
    span: Span,
    form: Form,
    #[serde(skip)]
    program: OnceLock<Arc<Program>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// The whole text is one expression.
    Bare,
    /// The whole text is one `${{ … }}`: the value keeps its type.
    Whole,
    /// Expressions stand between text: the result is text.
    Mixed,
}

/// Something an expression reads, and where.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) what: ReadWhat,
    pub(crate) span: Span,
    /// As it was written, such as `steps.flight`.
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadWhat {
    /// The result of the step of this name, and what of it.
    Step(String, Vec<Member>),
    /// The result of the step itself, and what of it.
    This(Vec<Member>),
    /// The result of a step whose name shows only when the expression is evaluated.
    AnyStep,
    /// The input of this name.
    Input(String),
}

/// What is read of a value: the member of a name, or one whose name or number shows only when it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: Option<String>,
    pub(crate) span: Span,
}

/// Names that an expression can start from in some positions only, such as `item`.
pub(crate) type Locals = &'static [&'static str];

/// A compiled expression with everything it reads.
pub(crate) type Compiled = (Expression, Vec<Read>);

/// Whether a text holds expressions.
pub(crate) fn is_template(text: &str) -> bool {
    scan::has_islands(text)
}

impl Expression {
    /// Compiles a text with `${{ … }}` in it.
    pub(crate) fn text(
        text: &str,
        span: Span,
        source: &Source,
        locals: Locals,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let place = Place::new(text, span, source);
        place.check_length()?;
        let islands = scan::scan_text(text).map_err(|faults| place.diagnostics(faults))?;
        let form = if whole(text, &islands).is_some() { Form::Whole } else { Form::Mixed };
        Expression::new(form, &place, &islands, locals)
    }

    /// Compiles a position that takes one expression, bare or as one `${{ … }}`.
    pub(crate) fn bare(
        text: &str,
        span: Span,
        source: &Source,
        locals: Locals,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let place = Place::new(text, span, source);
        place.check_length()?;
        if !is_template(text) {
            let island = scan::scan_bare(text).map_err(|faults| place.diagnostics(faults))?;
            return Expression::new(Form::Bare, &place, &[island], locals);
        }
        let islands = scan::scan_text(text).map_err(|faults| place.diagnostics(faults))?;
        if whole(text, &islands).is_none() {
            let message = "this position takes one expression, not text with expressions in it";
            let problem = Diagnostic::error("expression::not-one", message).at(span, "");
            return Err(vec![
                problem.help("write the expression alone, as in `steps.a.state == \"completed\"`"),
            ]);
        }
        Expression::new(Form::Whole, &place, &islands, locals)
    }

    fn new(
        form: Form,
        place: &Place<'_>,
        islands: &[Island<'_>],
        locals: Locals,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let expression = Expression {
            source: place.text.to_owned(),
            span: place.span,
            form,
            program: OnceLock::new(),
        };
        let (readings, mut faults) = references::readings(islands);
        match expression.compile() {
            Ok(program) => {
                if references::has_other_names(islands, locals) {
                    let names = program.free_names();
                    faults.extend(references::unknown_names(islands, names, locals));
                }
                // The cell is new, so nothing can have been set before.
                let _ = expression.program.set(Arc::new(program));
            }
            Err(trouble) => return Err(vec![expression.problem(&trouble, place.source)]),
        }
        if !faults.is_empty() {
            return Err(place.diagnostics(faults));
        }
        let reads = readings.into_iter().map(|reading| place.read(reading)).collect();
        Ok((expression, reads))
    }

    /// Whether it gives text, whatever it reads: text stands around it.
    pub(crate) fn is_text(&self) -> bool {
        self.form == Form::Mixed
    }

    /// The text as the YAML parser gave it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where the scalar stands in the workflow file.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Evaluates to a value; text with expressions in it gives a string.
    pub(crate) fn evaluate(
        &self,
        scope: &Scope,
        context: &Context,
        source: &Source,
    ) -> Result<Json, ExpressionError> {
        let result = self.program().and_then(|program| program.run(context));
        result.map_err(|trouble| self.error(&trouble, Some(scope), source))
    }

    /// The artifact the expression gives, if its value is exactly one.
    pub(crate) fn artifact(&self, context: &Context) -> Option<Arc<Artifact>> {
        self.program().ok()?.run_raw(context).ok()??.downcast_object::<Artifact>()
    }

    /// The step and the name in a text that is nothing but `${{ steps.STEP.artifacts["NAME"] }}`: which
    /// artifact it gives is known before there is one.
    pub(crate) fn one_artifact(&self) -> Option<(String, String)> {
        let islands = scan::scan_text(&self.source).ok()?;
        let [island] = islands.as_slice() else { return None };
        let (step, name) = references::one_artifact(island).filter(|_| self.form == Form::Whole)?;
        Some((step.to_owned(), name.to_owned()))
    }

    fn program(&self) -> Result<Arc<Program>, Trouble> {
        if let Some(program) = self.program.get() {
            return Ok(program.clone());
        }
        let program = Arc::new(self.compile()?);
        Ok(self.program.get_or_init(|| program).clone())
    }

    fn compile(&self) -> Result<Program, Trouble> {
        match self.form {
            Form::Mixed => Program::text(&self.source),
            Form::Bare | Form::Whole => Program::value(&self.source[self.value_range()]),
        }
    }

    /// The part of the source that is compiled.
    fn value_range(&self) -> Range<usize> {
        let islands =
            if self.form == Form::Whole { scan::scan_text(&self.source).ok() } else { None };
        islands.and_then(|islands| whole(&self.source, &islands)).unwrap_or(0..self.source.len())
    }

    fn error(&self, trouble: &Trouble, scope: Option<&Scope>, source: &Source) -> ExpressionError {
        let mut diagnostic = self.problem(trouble, source);
        if let (TroubleKind::Undefined, Some(scope)) = (trouble.kind, scope) {
            diagnostic.help = Some(self.undefined_help(trouble, scope));
        }
        ExpressionError::new(source, diagnostic)
    }

    fn problem(&self, trouble: &Trouble, source: &Source) -> Diagnostic {
        let place = Place::new(&self.source, self.span, source);
        let base = self.value_range();
        let range = match &trouble.range {
            Some(range) => base.start + range.start..base.start + range.end,
            None => base,
        };
        let range = place.trimmed(range);
        let message = match (trouble.kind, self.source.get(range.clone())) {
            (TroubleKind::Undefined, Some(text)) if !text.is_empty() => {
                format!("`{text}` is undefined")
            }
            (TroubleKind::Syntax, _) => format!("this is no expression: {}", trouble.message),
            _ => trouble.message.clone(),
        };
        let (code, help) = match trouble.kind {
            TroubleKind::Syntax => ("expression::syntax", Some(syntax_help(&trouble.message))),
            TroubleKind::Undefined => ("expression::undefined", None),
            TroubleKind::OutOfFuel => (
                "expression::out-of-fuel",
                Some("let a step do the work, or make the loop smaller"),
            ),
            TroubleKind::ResultTooLarge => (
                "expression::result-too-large",
                Some("pass large content on with `artifacts: STEP` instead"),
            ),
            TroubleKind::Other => ("expression::failed", None),
        };
        let diagnostic = Diagnostic::error(code, message).at(place.span(&range), "");
        match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }

    /// Looks for a step that explains an undefined value; only asked for after a failure.
    fn undefined_help(&self, trouble: &Trouble, scope: &Scope) -> String {
        let base = self.value_range().start;
        let failing = trouble.range.as_ref().map(|range| base + range.start..base + range.end);
        let concerns = |reading: &Reading| {
            failing.as_ref().is_none_or(|range| {
                reading.range.start < range.end && range.start < reading.range.end
            })
        };
        let without =
            self.readings().into_iter().filter(concerns).find_map(|reading| match reading.what {
                What::Step(name, _) => {
                    let why = without_result(scope.steps.get(&name)?)?;
                    Some((name, why))
                }
                _ => None,
            });
        match without {
            Some((name, why)) => format!(
                "step `{name}` {why}; say what to use then: \
                 `steps.{name}.text | default(\"none\")`"
            ),
            None if scope.this.is_none() && self.source.contains(THIS) => {
                "`this` is the answer of the round before: in the first there is none, so ask \
                 `if this is defined`"
                    .to_owned()
            }
            None => "where a value may be missing, say what to use then: `… | default(\"none\")`"
                .to_owned(),
        }
    }

    fn readings(&self) -> Vec<Reading> {
        let islands = match self.form {
            Form::Bare => scan::scan_bare(&self.source).map(|island| vec![island]),
            Form::Whole | Form::Mixed => scan::scan_text(&self.source),
        };
        islands.map(|islands| references::readings(&islands).0).unwrap_or_default()
    }
}

/// Why a step has no result, if it has none.
fn without_result(result: &StepResult) -> Option<String> {
    match result.state {
        StepState::Skipped => {
            let reason = result.reason.as_ref().map(|reason| format!(": {reason}"));
            Some(format!("was skipped{}", reason.unwrap_or_default()))
        }
        StepState::Canceled => Some("was canceled".to_owned()),
        StepState::Waiting | StepState::Running | StepState::Paused => {
            Some("has not ended".to_owned())
        }
        StepState::Completed | StepState::Failed => None,
    }
}

/// What to do about a text that the engine cannot read, by the engine's words for it.
fn syntax_help(why: &str) -> &'static str {
    if why.contains("end of block") {
        "end `${% for … %}` with `${% endfor %}`, `${% if … %}` with `${% endif %}`"
    } else if why.contains("unknown statement") {
        "blocks are `if`, `for`, `set`, `with` and `filter`, each but a `set` with its `end…` after it"
    } else {
        "write it as in `steps.a.text | upper` or `inputs.n > 3 and not inputs.dry`"
    }
}

/// The inside of the one `${{ … }}` that a text consists of, if it does.
fn whole(text: &str, islands: &[Island<'_>]) -> Option<Range<usize>> {
    let [island] = islands else { return None };
    let is_whole = island.kind == IslandKind::Value
        && text[..island.outer.start].trim().is_empty()
        && text[island.outer.end..].trim().is_empty()
        && !island.tokens.is_empty();
    is_whole.then(|| island.inner.clone())
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.span == other.span && self.form == other.form
    }
}

impl Eq for Expression {}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expression")
            .field("source", &self.source)
            .field("span", &self.span)
            .finish_non_exhaustive()
    }
}
