//! The one place that knows the template engine: compiling and running expressions, within limits.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value,
};
use serde_json::Value as Json;

use super::value::{self, Context};
use super::{MAX_FUEL, MAX_RESULT_BYTES};

/// Nesting of calls and blocks while an expression runs.
const MAX_RECURSION: usize = 100;
/// Every text has an environment of its own, so its one template needs no telling name.
const TEMPLATE: &str = "text";

/// A compiled expression.
pub(super) enum Program {
    /// One expression; gives a value of any type.
    Value(minijinja::Expression<'static, 'static>),
    /// Text with expressions in it; gives text.
    Text(Box<Environment<'static>>),
}

/// Why a program could not be compiled or run; the range is in bytes of its source.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) kind: TroubleKind,
    pub(super) message: String,
    pub(super) range: Option<Range<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TroubleKind {
    Syntax,
    Undefined,
    OutOfFuel,
    ResultTooLarge,
    Other,
}

impl Program {
    pub(super) fn value(source: &str) -> Result<Program, Trouble> {
        let compiled = engine().compile_expression_owned(source.to_owned());
        compiled.map(Program::Value).map_err(|error| Trouble::from_engine(&error))
    }

    pub(super) fn text(source: &str) -> Result<Program, Trouble> {
        let mut environment = Box::new(engine().clone());
        match environment.add_template_owned(TEMPLATE, source.to_owned()) {
            Ok(()) => Ok(Program::Text(environment)),
            Err(error) => Err(Trouble::from_engine(&error)),
        }
    }

    /// The names which the program neither defines itself nor has from the engine.
    pub(super) fn free_names(&self) -> Vec<String> {
        let names = match self {
            Program::Value(expression) => expression.undeclared_variables(false),
            Program::Text(environment) => match environment.get_template(TEMPLATE) {
                Ok(template) => template.undeclared_variables(false),
                Err(_) => return Vec::new(),
            },
        };
        names.into_iter().collect()
    }

    /// Runs the program. Text gives a string.
    pub(super) fn run(&self, context: &Context) -> Result<Json, Trouble> {
        match self {
            Program::Value(expression) => {
                let result = expression
                    .eval(context.value())
                    .map_err(|error| Trouble::from_engine(&error))?;
                value::to_json(&result)
            }
            Program::Text(environment) => render(environment, context).map(Json::String),
        }
    }

    /// Runs the program for its value as the engine has it, for results that are more than JSON.
    pub(super) fn run_raw(&self, context: &Context) -> Result<Option<Value>, Trouble> {
        match self {
            Program::Value(expression) => expression
                .eval(context.value())
                .map(Some)
                .map_err(|error| Trouble::from_engine(&error)),
            Program::Text(_) => Ok(None),
        }
    }
}

fn render(environment: &Environment<'static>, context: &Context) -> Result<String, Trouble> {
    let template =
        environment.get_template(TEMPLATE).map_err(|error| Trouble::from_engine(&error))?;
    let mut out = Capped { bytes: Vec::new(), is_exceeded: false };
    let rendered = template.render_captured_to(context.value(), &mut out).map(|_| ());
    if out.is_exceeded {
        return Err(Trouble::too_large());
    }
    rendered.map_err(|error| Trouble::from_engine(&error))?;
    Ok(String::from_utf8_lossy(&out.bytes).into_owned())
}

impl Trouble {
    pub(super) fn too_large() -> Trouble {
        Trouble {
            kind: TroubleKind::ResultTooLarge,
            message: format!("the result is larger than {MAX_RESULT_BYTES} bytes"),
            range: None,
        }
    }

    pub(super) fn undefined() -> Trouble {
        Trouble {
            kind: TroubleKind::Undefined,
            message: "this value is undefined".to_owned(),
            range: None,
        }
    }

    pub(super) fn other(message: String) -> Trouble {
        Trouble { kind: TroubleKind::Other, message, range: None }
    }

    /// Keeps the engine's detail only: its longer forms print every variable.
    fn from_engine(error: &Error) -> Trouble {
        let kind = match error.kind() {
            ErrorKind::SyntaxError | ErrorKind::BadEscape => TroubleKind::Syntax,
            ErrorKind::UndefinedError => TroubleKind::Undefined,
            ErrorKind::OutOfFuel => TroubleKind::OutOfFuel,
            _ => TroubleKind::Other,
        };
        let message = match (kind, error.detail()) {
            (TroubleKind::OutOfFuel, _) => format!("this takes more than {MAX_FUEL} units of work"),
            (TroubleKind::Undefined, _) => "this value is undefined".to_owned(),
            (TroubleKind::Syntax, Some(detail)) => detail.to_owned(),
            (_, Some(detail)) => format!("{}: {detail}", error.kind()),
            (_, None) => error.kind().to_string(),
        };
        Trouble { kind, message, range: error.range() }
    }
}

/// Output that stops taking bytes at the cap, so that a loop cannot fill the memory before its fuel
/// is out.
struct Capped {
    bytes: Vec<u8>,
    is_exceeded: bool,
}

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_RESULT_BYTES {
            self.is_exceeded = true;
            return Err(io::Error::other("the result is too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The engine all programs share: its filters, tests and settings are behind reference counts.
fn engine() -> &'static Environment<'static> {
    static ENGINE: OnceLock<Environment<'static>> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut environment = Environment::new();
        environment.set_syntax(syntax());
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_formatter(format_value);
        environment.set_fuel(Some(MAX_FUEL));
        environment.set_recursion_limit(MAX_RECURSION);
        // Only with it do errors know their place.
        environment.set_debug(true);
        // It would print everything in scope.
        environment.remove_global("debug");
        environment
    })
}

fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .variable_delimiters("${{", "}}")
        .block_delimiters("${%", "%}")
        .comment_delimiters("${#", "#}")
        .keep_trailing_newline(true)
        .build()
        .expect("the delimiters are constant and distinct")
}

/// Writes one value into text: strings as they are, everything else as JSON.
fn format_value(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if let Some(text) = value.as_str() {
        return out.write_str(text).map_err(Error::from);
    }
    match value::to_json(value) {
        Ok(json) => out.write_str(&json.to_string()).map_err(Error::from),
        Err(trouble) if trouble.kind == TroubleKind::Undefined => {
            Err(Error::from(ErrorKind::UndefinedError))
        }
        Err(trouble) => Err(Error::new(ErrorKind::InvalidOperation, trouble.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::{FILTERS, TESTS};
    use super::*;

    #[test]
    fn every_filter_and_test_that_is_offered_exists_in_the_engine() {
        let exists = |name: &str, kind: &str| {
            engine().render_str(&format!("${{{{ '{name}' is {kind} }}}}"), ()).unwrap()
        };
        for name in FILTERS {
            assert_eq!(exists(name, "filter"), "true", "filter {name}");
        }
        for name in TESTS {
            assert_eq!(exists(name, "test"), "true", "test {name}");
        }
    }
}
