//! What an expression reads, found in its tokens.

use std::collections::HashMap;
use std::ops::Range;

use document::nearest;

use super::Locals;
use super::names::{
    ARTIFACT_FIELDS, ERROR_FIELDS, FILTERS, FUNCTIONS, ITEM, MESSAGE_FIELDS, ROOTS, RUN,
    STEP_FIELDS, TASK_FIELDS, TESTS, THIS,
};
use super::scan::{Fault, Island, IslandKind, Token, TokenKind};

/// Something an expression reads; the range covers it as written, in bytes of the scanned text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) what: What,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// `steps.NAME` or `steps["NAME"]`, and what is read of it.
    Step(String, Vec<Member>),
    /// `this`, and what is read of it.
    This(Vec<Member>),
    /// `steps` in any other way, so that which step is read shows only when it is evaluated.
    AnyStep,
    /// `inputs.NAME` or `inputs["NAME"]`.
    Input(String),
}

/// What is read of something: `.NAME`, `["NAME"]`, or none for any other subscript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: Option<String>,
    pub(super) range: Range<usize>,
}

/// Finds everything the islands read of steps and inputs, and names that cannot exist.
pub(super) fn readings(islands: &[Island<'_>]) -> (Vec<Reading>, Vec<Fault>) {
    let mut found = Finder { readings: Vec::new(), faults: Vec::new() };
    for island in islands {
        for at in 0..island.tokens.len() {
            found.token(island, at);
        }
    }
    (found.readings, found.faults)
}

/// The step and the name, when the island is `steps.STEP.artifacts["NAME"]` and nothing else.
pub(super) fn one_artifact<'t>(island: &Island<'t>) -> Option<(&'t str, &'t str)> {
    if island.tokens.first()?.kind != TokenKind::Word("steps") {
        return None;
    }
    let (step, next, _) = member(island, 1)?;
    let (field, next, _) = member(island, next)?;
    let (name, next, _) = member(island, next)?;
    (field == "artifacts" && next == island.tokens.len()).then_some((step, name))
}

/// Faults for names which the compiled expression takes from nowhere.
pub(super) fn unknown_names(
    islands: &[Island<'_>],
    names: impl IntoIterator<Item = String>,
    locals: Locals,
) -> Vec<Fault> {
    let uses = first_uses(islands);
    let mut names: Vec<String> = names.into_iter().filter(|name| !is_known(name, locals)).collect();
    names.sort();
    let used = |name: &String| Some(unknown_name(name, uses.get(name.as_str())?.clone(), locals));
    names.iter().filter_map(used).collect()
}

/// Whether the islands hold any name that is not known at once; only then is it worth asking the
/// engine, which parses the text once more for it.
pub(super) fn has_other_names(islands: &[Island<'_>], locals: Locals) -> bool {
    const WORDS: [&str; 13] = [
        "and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False",
        "None",
    ];
    let is_other = |island: &Island<'_>, at: usize| match island.tokens[at].kind {
        TokenKind::Word(word) => {
            !(is_known(word, locals)
                || WORDS.contains(&word)
                || follows(island, at, ".")
                || is_filter_position(island, at)
                || is_test_position(island, at))
        }
        _ => false,
    };
    islands.iter().any(|island| {
        // In a block without `for`, `set` and the like the keyword comes first and is the only
        // other word.
        let first = usize::from(matches!(
            keyword(island),
            Some("if" | "elif" | "else" | "endif" | "endfor")
        ));
        (first..island.tokens.len()).any(|at| is_other(island, at))
    })
}

fn is_known(name: &str, locals: Locals) -> bool {
    ROOTS.contains(&name) || FUNCTIONS.contains(&name) || locals.contains(&name)
}

/// Where each word stands first that is no member of something.
fn first_uses<'t>(islands: &[Island<'t>]) -> HashMap<&'t str, Range<usize>> {
    let mut uses = HashMap::new();
    for island in islands {
        for (at, token) in island.tokens.iter().enumerate() {
            if let TokenKind::Word(word) = token.kind
                && !follows(island, at, ".")
            {
                uses.entry(word).or_insert_with(|| token.range.clone());
            }
        }
    }
    uses
}

fn unknown_name(name: &str, range: Range<usize>, locals: Locals) -> Fault {
    let known = ROOTS.into_iter().chain(FUNCTIONS).chain(locals.iter().copied());
    let help = match nearest(name, known) {
        _ if ITEM.contains(&name) => {
            format!(
                "`{name}` is there in a step with `for_each`, but not in its `for_each` and `when`"
            )
        }
        _ if name == THIS => {
            "`this` is there in `outputs`, and with `repeat` in `until` and `message`".to_owned()
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "an expression reads `inputs`, `steps` and `run`; text belongs in quotes".to_owned()
        }
    };
    Fault {
        range,
        code: "expression::unknown-name",
        message: format!("`{name}` is not a known name"),
        help: Some(help),
    }
}

struct Finder {
    readings: Vec<Reading>,
    faults: Vec<Fault>,
}

impl Finder {
    fn token(&mut self, island: &Island<'_>, at: usize) {
        let TokenKind::Word(word) = island.tokens[at].kind else { return };
        if follows(island, at, ".") {
            return;
        }
        if is_filter_position(island, at) {
            self.known(island, at, "filter", &FILTERS);
        } else if is_test_position(island, at) {
            self.known(island, at, "test", &TESTS);
        } else if ROOTS.contains(&word) && is_assigned(island, at) {
            self.faults.push(reserved(word, island.tokens[at].range.clone()));
        } else {
            self.root(island, at, word);
        }
    }

    fn root(&mut self, island: &Island<'_>, at: usize, word: &str) {
        let member = member(island, at + 1);
        let start = island.tokens[at].range.start;
        match (word, member) {
            ("steps", Some((name, next, end))) => {
                let what = What::Step(name.to_owned(), members(island, next));
                self.readings.push(Reading { what, range: start..end });
                self.step_fields(island, next);
            }
            ("steps", None) => {
                self.readings
                    .push(Reading { what: What::AnyStep, range: island.tokens[at].range.clone() });
            }
            ("inputs", Some((name, _, end))) => {
                self.readings
                    .push(Reading { what: What::Input(name.to_owned()), range: start..end });
            }
            ("this", Some(_)) => {
                let what = What::This(members(island, at + 1));
                self.readings.push(Reading { what, range: island.tokens[at].range.clone() });
                self.step_fields(island, at + 1);
            }
            ("run", Some(_)) => {
                if let Some(("error", next)) = self.field(island, at + 1, &RUN, "`run` has") {
                    self.field(island, next, &ERROR_FIELDS, "an error has");
                }
            }
            _ => {}
        }
    }

    fn step_fields(&mut self, island: &Island<'_>, at: usize) {
        let Some((field, next)) = self.field(island, at, &STEP_FIELDS, "a step has") else {
            return;
        };
        match field {
            "error" => self.field(island, next, &ERROR_FIELDS, "an error has"),
            "task" => self.field(island, next, &TASK_FIELDS, "a task has"),
            "message" => self.field(island, next, &MESSAGE_FIELDS, "a message has"),
            "items" => self.item_fields(island, next),
            "artifacts" => member(island, next).and_then(|(_, next, _)| {
                self.field(island, next, &ARTIFACT_FIELDS, "an artifact has")
            }),
            _ => None,
        };
    }

    /// Checks what is read of `items[N]`.
    fn item_fields<'t>(&mut self, island: &Island<'t>, at: usize) -> Option<(&'t str, usize)> {
        let kinds: Vec<TokenKind<'_>> =
            island.tokens.iter().skip(at).take(3).map(|token| token.kind).collect();
        match kinds[..] {
            [TokenKind::Symbol("["), _, TokenKind::Symbol("]")] => {
                self.field(island, at + 3, &STEP_FIELDS, "an item has")
            }
            _ => None,
        }
    }

    /// Checks a member whose possible names are known; gives its name, when it is one of them, and
    /// the token after it.
    fn field<'t>(
        &mut self,
        island: &Island<'t>,
        at: usize,
        known: &[&str],
        owner: &str,
    ) -> Option<(&'t str, usize)> {
        let (name, next, end) = member(island, at)?;
        if known.contains(&name) {
            return Some((name, next));
        }
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("{owner} {}", known.join(", ")),
        };
        self.faults.push(Fault {
            range: island.tokens[at].range.end..end,
            code: "expression::unknown-field",
            message: format!("there is no `{name}` here"),
            help: Some(help),
        });
        None
    }

    fn known(&mut self, island: &Island<'_>, at: usize, kind: &str, known: &[&str]) {
        let Token { kind: TokenKind::Word(name), range } = &island.tokens[at] else { return };
        if known.contains(name) {
            return;
        }
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: {}", known.join(", ")),
        };
        self.faults.push(Fault {
            range: range.clone(),
            code: "expression::unknown-name",
            message: format!("there is no {kind} `{name}`"),
            help: Some(help),
        });
    }
}

/// Reads `.NAME` or `["NAME"]` at a token: the name, the token after it, and the byte where it
/// ends.
fn member<'t>(island: &Island<'t>, at: usize) -> Option<(&'t str, usize, usize)> {
    let kind = |at: usize| island.tokens.get(at).map(|token| token.kind);
    match (kind(at)?, kind(at + 1)?, kind(at + 2)) {
        (TokenKind::Symbol("."), TokenKind::Word(name), _) => {
            Some((name, at + 2, island.tokens[at + 1].range.end))
        }
        (TokenKind::Symbol("["), TokenKind::Literal(name), Some(TokenKind::Symbol("]")))
            if !name.contains('\\') =>
        {
            Some((name, at + 3, island.tokens[at + 2].range.end))
        }
        _ => None,
    }
}

/// All members from a token on, one of the other; a method is none.
fn members(island: &Island<'_>, mut at: usize) -> Vec<Member> {
    let is_symbol = |at: usize, symbol| {
        island.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Symbol(symbol))
    };
    let mut members = Vec::new();
    loop {
        let (name, next) = match member(island, at) {
            Some((_, next, _)) if is_symbol(next, "(") => return members,
            Some((name, next, _)) => (Some(name.to_owned()), next),
            None if is_symbol(at, "[") && is_symbol(at + 2, "]") => (None, at + 3),
            None => return members,
        };
        let end = island.tokens[next - 1].range.end;
        members.push(Member { name, range: island.tokens[at].range.start..end });
        at = next;
    }
}

fn follows(island: &Island<'_>, at: usize, symbol: &str) -> bool {
    at > 0 && island.tokens[at - 1].kind == TokenKind::Symbol(symbol)
}

fn is_filter_position(island: &Island<'_>, at: usize) -> bool {
    let opens_filter_block =
        island.kind == IslandKind::Block && at == 1 && keyword(island) == Some("filter");
    follows(island, at, "|") || opens_filter_block
}

fn is_test_position(island: &Island<'_>, at: usize) -> bool {
    let word = |back: usize| at.checked_sub(back).map(|before| island.tokens[before].kind);
    match (word(2), word(1)) {
        (_, Some(TokenKind::Word("is"))) => island.tokens[at].kind != TokenKind::Word("not"),
        (Some(TokenKind::Word("is")), Some(TokenKind::Word("not"))) => true,
        _ => false,
    }
}

fn keyword<'t>(island: &Island<'t>) -> Option<&'t str> {
    match island.tokens.first()?.kind {
        TokenKind::Word(word) if island.kind == IslandKind::Block => Some(word),
        _ => None,
    }
}

/// Whether the word at a token is given a value here: shadowing a root would hide what a step
/// depends on.
fn is_assigned(island: &Island<'_>, at: usize) -> bool {
    let is_target_of_for = || {
        let mut before = island.tokens[..at].iter();
        keyword(island) == Some("for") && !before.any(|token| token.kind == TokenKind::Word("in"))
    };
    let is_followed_by_equals =
        island.tokens.get(at + 1).is_some_and(|token| token.kind == TokenKind::Symbol("="));
    let is_target_of_set = || keyword(island) == Some("set") && island.tokens.len() == 2 && at == 1;
    is_followed_by_equals || is_target_of_for() || is_target_of_set()
}

fn reserved(word: &str, range: Range<usize>) -> Fault {
    Fault {
        range,
        code: "expression::reserved-name",
        message: format!("`{word}` cannot be given a new value"),
        help: Some("choose another name".to_owned()),
    }
}
