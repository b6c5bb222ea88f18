use insta::assert_snapshot;
use jiff::Timestamp;
use proptest::prelude::*;

use super::{Curation, Decision, History};

fn decision(second: i64) -> Decision {
    Decision {
        who: "ada".into(),
        why: format!("reason {second}"),
        at: Timestamp::from_second(second).unwrap(),
    }
}

#[test]
fn the_table_of_moves_is_this() {
    let table: Vec<String> = Curation::ALL
        .iter()
        .map(|from| {
            let next: Vec<_> = from.next().iter().map(|to| to.as_str()).collect();
            format!("{from:<10} → {}", next.join(" "))
        })
        .collect();
    assert_snapshot!(table.join("\n"), @"
    proposed   → approved rejected suspended
    approved   → deprecated proposed rejected suspended
    deprecated → retired approved proposed rejected suspended
    retired    → proposed rejected suspended
    rejected   → proposed approved suspended
    suspended  → proposed approved rejected
    ");
}

#[test]
fn a_move_that_is_not_in_the_table_says_what_is() {
    let mut history = History::proposed(decision(0));
    let error = history.transition(Curation::Retired, decision(1)).unwrap_err();
    assert_snapshot!(error, @"an agent that is proposed cannot become retired; it can become approved, rejected or suspended");
}

#[test]
fn who_when_and_why_are_kept() {
    let mut history = History::proposed(decision(0));
    history.transition(Curation::Approved, decision(1)).unwrap();
    insta::assert_json_snapshot!(history, @r#"
    [
      {
        "from": null,
        "to": "proposed",
        "who": "ada",
        "why": "reason 0",
        "at": "1970-01-01T00:00:00Z"
      },
      {
        "from": "proposed",
        "to": "approved",
        "who": "ada",
        "why": "reason 1",
        "at": "1970-01-01T00:00:01Z"
      }
    ]
    "#);
}

#[test]
fn only_approved_and_deprecated_agents_can_be_bound() {
    let bindable: Vec<_> = Curation::ALL.into_iter().filter(|c| c.is_bindable()).collect();
    assert_eq!(bindable, [Curation::Approved, Curation::Deprecated]);
}

proptest! {
    /// Whatever is asked for in whatever order, the history tells the whole truth.
    #[test]
    fn any_sequence_of_moves_leaves_a_true_history(
        moves in prop::collection::vec(prop::sample::select(&Curation::ALL[..]), 0..40)
    ) {
        let mut history = History::proposed(decision(0));
        for (at, to) in moves.into_iter().enumerate() {
            let before = history.clone();
            let from = before.standing();
            match history.transition(to, decision(at as i64)) {
                Ok(true) => {
                    prop_assert!(from.next().contains(&to));
                    prop_assert_eq!(history.standing(), to);
                    prop_assert_eq!(history.changes().len(), before.changes().len() + 1);
                    let last = history.changes().last().unwrap();
                    prop_assert_eq!((last.from, &last.by), (Some(from), &decision(at as i64)));
                }
                Ok(false) => prop_assert_eq!((from, &history), (to, &before)),
                Err(error) => {
                    prop_assert!(!from.next().contains(&to));
                    prop_assert_eq!((error.from, error.to), (from, to));
                    prop_assert_eq!(&history, &before);
                }
            }
        }
        let changes = history.changes();
        for pair in changes.windows(2) {
            prop_assert_eq!(Some(pair[0].to), pair[1].from);
            // The way out leads through deprecation, and a decision against an agent is never undone by age.
            prop_assert!(pair[1].to != Curation::Retired || pair[0].to == Curation::Deprecated);
        }
        let json = serde_json::to_string(&history).unwrap();
        prop_assert_eq!(serde_json::from_str::<History>(&json).unwrap(), history);
    }

    #[test]
    fn every_agent_can_be_rejected_and_suspended(from in prop::sample::select(&Curation::ALL[..])) {
        for to in [Curation::Rejected, Curation::Suspended] {
            prop_assert!(from == to || from.next().contains(&to));
        }
    }
}
