use std::time::{Duration, Instant};

use insta::{assert_json_snapshot, assert_snapshot};

use super::{Style, brief, printable, printable_json, render, to_json};
use crate::{Diagnostic, Source, Span};

const TEXT: &str = "name: trip\nsteps:\n  flight:\n    mesage: Book\n";

fn unknown_key() -> Diagnostic {
    Diagnostic::error("workflow::unknown-key", "a step has no key `mesage`")
        .at(Span::new(33, 39), "unknown key")
        .at(Span::new(20, 26), "in this step")
        .help("did you mean `message`?")
}

#[test]
fn a_problem_is_shown_with_its_place_marks_and_help() {
    let source = Source::new("trip.yaml", TEXT);
    let warning =
        Diagnostic::warning("workflow::name", "the name is short").at(Span::new(6, 10), "");
    assert_snapshot!(render(&source, &[unknown_key(), warning], Style::default()), @"
    workflow::name

      ⚠ the name is short
       ╭─[trip.yaml:1:7]
     1 │ name: trip
       ·       ────
     2 │ steps:
       ╰────

    workflow::unknown-key

      × a step has no key `mesage`
       ╭─[trip.yaml:4:6]
     2 │ steps:
     3 │   flight:
       ·   ───┬──
       ·      ╰── in this step
     4 │     mesage: Book
       ·      ───┬──
       ·         ╰── unknown key
       ╰────
      help: did you mean `message`?
    ");
}

#[test]
fn colours_appear_only_when_asked_for() {
    let source = Source::new("trip.yaml", TEXT);
    let show = |color| render(&source, &[unknown_key()], Style { color, width: 80 });
    assert!(show(true).contains("\u{1b}["));
    assert!(!show(false).contains('\u{1b}'));
}

#[test]
fn long_messages_are_wrapped_at_the_width() {
    let source = Source::new("trip.yaml", TEXT);
    let problem = Diagnostic::error("a::b", "word ".repeat(30)).help("do ".repeat(40));
    let shown = render(&source, &[problem], Style { color: false, width: 40 });
    assert!(shown.lines().all(|line| line.chars().count() <= 40), "{shown}");
}

#[test]
fn a_problem_without_a_place_is_shown_by_its_words() {
    let source = Source::new("trip.yaml", "");
    assert_snapshot!(render(&source, &[Diagnostic::error("a::b", "It is empty").help("Write it")], Style::default()), @"
    a::b

      × It is empty
      help: Write it
    ");
}

#[test]
fn a_line_too_long_for_a_screen_is_named_but_not_printed() {
    let source = Source::new("cards.json", &"x".repeat(5000));
    let problem = Diagnostic::error("a::b", "It is wrong").at(Span::new(4000, 4001), "this");
    assert_snapshot!(render(&source, &[problem], Style::default()), @"
    a::b

      × It is wrong
      │ at cards.json:1:4001 this
    ");
}

#[test]
fn editors_get_positions_as_json() {
    let source = Source::new("trip.yaml", TEXT);
    let nowhere = Diagnostic::error("a::b", "It is empty");
    assert_json_snapshot!(to_json(&source, &[unknown_key(), nowhere]), @r#"
    [
      {
        "code": "a::b",
        "column": null,
        "end_column": null,
        "end_line": null,
        "file": "trip.yaml",
        "help": null,
        "labels": [],
        "line": null,
        "message": "It is empty",
        "severity": "error"
      },
      {
        "code": "workflow::unknown-key",
        "column": 6,
        "end_column": 12,
        "end_line": 4,
        "file": "trip.yaml",
        "help": "did you mean `message`?",
        "labels": [
          {
            "column": 6,
            "end_column": 12,
            "end_line": 4,
            "line": 4,
            "text": "unknown key"
          },
          {
            "column": 3,
            "end_column": 9,
            "end_line": 3,
            "line": 3,
            "text": "in this step"
          }
        ],
        "line": 4,
        "message": "a step has no key `mesage`",
        "severity": "error"
      }
    ]
    "#);
}

#[test]
fn many_problems_of_a_large_file_are_shown_in_linear_time() {
    let source = Source::new("big.yaml", &"key: value\n".repeat(100_000));
    let problems: Vec<_> = (0..2_000)
        .map(|n| {
            Diagnostic::error("a::b", "It is wrong").at(Span::new(n * 550, n * 550 + 3), "this")
        })
        .collect();
    let started = Instant::now();
    let shown = render(&source, &problems, Style::default());
    assert_eq!(shown.matches("It is wrong").count(), 2_000);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn what_a_terminal_would_obey_is_not_sent_to_it() {
    let source = Source::new("t.yaml", "a: \u{1b}[31m\u{9b}2J\u{202e}x\r\nb: \u{7}!\rc: 1\n");
    let at = source.text().find("x\r").unwrap();
    let problem = Diagnostic::error("test::escape", "no key `\u{1b}[1m`")
        .at(Span::new(at, at + 1), "not \u{202e}this")
        .help("take \u{9d} away");
    assert_snapshot!(render(&source, &[problem], Style::default()), @"
    test::escape

      × no key `?[1m`
       ╭─[t.yaml:1:13]
     1 │ a: ?[31m¿2J�x
       ·             ┬
       ·             ╰── not �this
     2 │ b: ?!
       ╰────
      help: take ¿ away
    ");
}

#[test]
fn what_is_printed_keeps_its_places() {
    let text = "plain\ttext\r\n\u{0}\u{7f}\u{85}\u{61c}\u{200f}\u{2066}\rä☃\u{1f600}";
    assert_eq!(printable(text), "plain\ttext\r\n??\u{bf}\u{bf}\u{fffd}\u{fffd}\nä☃\u{1f600}");
    assert_eq!(printable(text).len(), text.len());
}

#[test]
fn a_strangers_text_stays_in_one_line_of_some_length() {
    assert_eq!(brief("a\nb\r\nc\td\u{1b}[2J\u{202e}", 100), "a b  c d?[2J\u{fffd}");
    assert_eq!(brief("äöü", 3), "äöü");
    assert_eq!(brief("äöüx", 3), "äöü…");
}

#[test]
fn json_keeps_its_value_and_loses_what_a_terminal_obeys() {
    let value = serde_json::json!({ "a\u{202e}": "\u{9b}2J\u{7f}\u{1b}\n ä☃\u{1f600}" });
    let text = serde_json::to_string_pretty(&value).unwrap();
    let shown = printable_json(&text);
    assert_eq!(shown, "{\n  \"a\\u202e\": \"\\u009b2J\\u007f\\u001b\\n ä☃\u{1f600}\"\n}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    assert!(matches!(printable_json("{\"a\": 1}"), std::borrow::Cow::Borrowed(_)));
}
