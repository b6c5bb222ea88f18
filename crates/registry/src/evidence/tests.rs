use std::time::Duration;

use insta::assert_snapshot;
use jiff::Timestamp;

use super::observed::Observed;
use super::seen::services;
use super::{
    FAILURES, Grounds, Ledger, MOST_OUTCOMES, MOST_PROBES, Probed, Seen, Shortfall, Tier, Work,
};
use crate::CardDigest;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// The digest of one of several cards.
fn card(which: u32) -> CardDigest {
    CardDigest::of(&serde_json::json!(which))
}

/// Those of an agent whose card is the first one since the beginning.
fn grounds() -> Grounds {
    Grounds::new(at(0), card(1))
}

/// A probe that counts for 100 s.
fn probed(second: i64, tier: Option<Tier>) -> Probed {
    let why = match tier {
        Some(Conformant) => None,
        Some(_) => Some(("GetTask of an unknown id", "it answered nonsense", false)),
        None => Some(("its card", "nobody is there", true)),
    };
    let shortfalls: Vec<_> = why
        .into_iter()
        .map(|(what, why, is_silent)| Shortfall::new(what, why, is_silent))
        .collect();
    let is_silent = tier.is_none();
    let fresh_until = at(second + 100);
    let (card, unmeasured, took) = (Some(card(1)), None, Duration::ZERO);
    Probed { at: at(second), fresh_until, tier, is_silent, shortfalls, took, card, unmeasured }
}

/// Work that shows for 100 s that the agent is there, and proves it for 1000 s.
fn work(second: i64, error: Option<&str>) -> Work {
    Work {
        number: u64::try_from(second).unwrap(),
        at: at(second),
        fresh_until: at(second + 100),
        counts_until: at(second + 1000),
        run: "r".into(),
        step: "s".into(),
        skill: None,
        error: error.map(str::to_owned),
        took: Duration::from_secs(1),
        card: Some(card(1)),
        is_unmeasured: false,
    }
}

enum It {
    Probe(i64, Option<Tier>),
    Done(i64),
    Failed(i64),
}
use It::{Done, Failed, Probe};
use Tier::{Conformant, Proven, Reachable, Valid};

fn observed(looks: &[It]) -> Observed {
    let mut observed = Observed::default();
    for look in looks {
        match look {
            Probe(second, tier) => observed.probes.add(probed(*second, *tier), &grounds()),
            Done(second) => observed.add_work(work(*second, None)),
            Failed(second) => observed.add_work(work(*second, Some("failed: no"))),
        }
    }
    observed
}

fn seen(looks: &[It], second: i64) -> Seen {
    Seen::of(&observed(looks), &grounds(), at(second)).unwrap()
}

#[test]
fn a_tier_follows_from_the_newest_probe_and_from_work() {
    let up = Probe(1, Some(Conformant));
    let cases: [(&[It], Option<Tier>, &str); 11] = [
        (&[Probe(1, None)], None, "nobody there"),
        (&[Probe(1, Some(Reachable))], Some(Reachable), "its card has errors"),
        (&[Probe(1, Some(Valid))], Some(Valid), "it answers nonsense"),
        (&[Probe(1, Some(Conformant))], Some(Conformant), "it answers well"),
        (&[Done(1)], Some(Proven), "work proves without a probe"),
        (&[up, Done(2)], Some(Proven), "and after one"),
        (&[Done(1), Probe(2, Some(Conformant))], Some(Proven), "and before one"),
        (&[Done(1), Probe(2, None)], None, "what is gone is gone"),
        (&[Probe(1, None), Done(2)], Some(Proven), "what came back is back"),
        (&[Probe(1, Some(Valid)), Done(2)], Some(Valid), "wrong answers stay wrong"),
        (&[Failed(1)], None, "a failure shows nothing"),
    ];
    for (looks, tier, why) in cases {
        assert_eq!(seen(looks, 9).tier, tier, "{why}");
        assert_eq!(seen(looks, 9).last, tier, "{why}");
    }
    assert_eq!(Seen::of(&Observed::default(), &grounds(), at(1)), None);
}

#[test]
fn failures_in_a_row_take_the_proof_away_and_work_gives_it_back() {
    let mut looks = vec![Probe(1, Some(Conformant)), Done(2)];
    for failure in 1..=FAILURES {
        assert_eq!(seen(&looks, 9).tier, Some(Proven), "after {} failures", failure - 1);
        looks.push(Failed(2 + i64::try_from(failure).unwrap()));
    }
    let doubted = seen(&looks, 9);
    assert_eq!((doubted.tier, doubted.was), (Some(Conformant), Some(Proven)));
    assert_snapshot!(doubted, @"conformant since 2027-01-15 08:00:05Z (was proven), looked at 2027-01-15 08:00:05Z: its last 3 attempts in our runs failed, step `s` of run r with: failed: no");
    looks.push(Done(7));
    assert_eq!(seen(&looks, 9).tier, Some(Proven));
}

#[test]
fn a_demotion_has_its_date_and_its_reason() {
    let looks = [Probe(1, Some(Conformant)), Done(2), Probe(10, None), Probe(20, None)];
    assert_snapshot!(seen(&looks, 21), @"none since 2027-01-15 08:00:10Z (was proven), looked at 2027-01-15 08:00:20Z: its card: nobody is there");
    let looks = [Probe(1, Some(Conformant)), Probe(10, Some(Valid))];
    assert_snapshot!(seen(&looks, 21), @"valid since 2027-01-15 08:00:10Z (was conformant), looked at 2027-01-15 08:00:10Z: GetTask of an unknown id: it answered nonsense");
}

#[test]
fn every_tier_has_its_date_and_its_reason() {
    let rungs = |looks: &[It], second| -> String {
        let tiers = seen(looks, second).tiers;
        tiers.iter().map(|rung| format!("{rung}\n")).collect()
    };
    let looks =
        [Probe(1, Some(Conformant)), Done(2), Probe(10, Some(Valid)), Probe(20, Some(Valid))];
    assert_snapshot!(rungs(&looks, 21), @r"
    reachable since 2027-01-15 08:00:01Z
    valid since 2027-01-15 08:00:01Z
    conformant not, since 2027-01-15 08:00:10Z: GetTask of an unknown id: it answered nonsense
    proven not, since 2027-01-15 08:00:10Z: GetTask of an unknown id: it answered nonsense
    ");
    let looks = [Probe(1, None), Probe(5, Some(Conformant)), Done(7)];
    assert_snapshot!(rungs(&looks, 9), @r"
    reachable since 2027-01-15 08:00:05Z
    valid since 2027-01-15 08:00:05Z
    conformant since 2027-01-15 08:00:05Z
    proven since 2027-01-15 08:00:07Z: completed step `s` of run r
    ");
    let told = seen(&looks, 9).for_others().tiers;
    assert!(told.len() == 4 && told.iter().all(|rung| rung.why.is_empty()), "{told:?}");
}

#[test]
fn what_is_too_old_is_stale_and_counts_as_nothing() {
    let looks = [Probe(1, Some(Conformant)), Done(50)];
    let fresh = seen(&looks, 149);
    assert_eq!((fresh.tier, fresh.is_stale), (Some(Proven), false));
    let stale = seen(&looks, 150);
    assert_eq!((stale.tier, stale.last, stale.is_stale), (None, Some(Proven), true));
    assert_eq!(stale.in_short(), "proven (stale)");
    assert_eq!(fresh.holds_until, stale.fresh_until, "known beforehand");
    let gone = seen(&[Probe(1, None)], 500);
    assert!(!gone.is_stale, "nothing was claimed");
    let again = [Probe(1, Some(Conformant)), Done(50), Probe(200, Some(Conformant))];
    assert_eq!(seen(&again, 201).tier, Some(Proven));
}

#[test]
fn work_proves_only_for_its_time() {
    let looks = [Done(1), Probe(990, Some(Conformant))];
    let proven = seen(&looks, 1000);
    assert_eq!((proven.tier, proven.holds_until), (Some(Proven), at(1001)));
    let over = seen(&looks, 1001);
    assert_eq!((over.tier, over.was, over.since), (Some(Conformant), Some(Proven), at(1001)));
    assert_eq!(over.why, "completed nothing in our runs since 2027-01-15");
}

#[test]
fn a_tier_has_lasted_longer_than_its_oldest_probe_that_is_kept() {
    let mut observed = Observed::default();
    let many = i64::try_from(MOST_PROBES).unwrap() + 5;
    (0..many).for_each(|second| observed.probes.add(probed(second, Some(Conformant)), &grounds()));
    assert_eq!(observed.probes.recent.len(), MOST_PROBES);
    assert_eq!(Seen::of(&observed, &grounds(), at(many)).unwrap().since, at(0));
}

#[test]
fn a_ledger_keeps_the_newest_work_whatever_order_it_is_read_in() {
    let mut ledger = Ledger::default();
    for number in [3, 1, 2] {
        ledger.add_work("it", work(number, None));
    }
    assert_eq!(ledger.next("it"), 4);
    assert_eq!(ledger.next("it"), 5);
    let many = i64::try_from(MOST_OUTCOMES).unwrap();
    (4..4 + many).for_each(|number| ledger.add_new_work("it", work(number, Some("failed: no"))));
    let services = ledger.services("it", &grounds());
    assert_eq!((services[0].completed, services[0].failed), (0, usize::try_from(many).unwrap()));
    assert!(ledger.services("other", &grounds()).is_empty());
}

#[test]
fn skills_are_counted_apart() {
    let mut observed = Observed::default();
    for (second, skill, error, took) in [
        (1, Some("book"), None, 1),
        (2, Some("book"), Some("no"), 9),
        (3, None, None, 5),
        (4, Some("book"), None, 3),
        (5, Some("book"), None, 2),
    ] {
        let (skill, took) = (skill.map(str::to_owned), Duration::from_secs(took));
        observed.add_work(Work { skill, took, ..work(second, error) });
    }
    let services = services(&observed, &grounds());
    let counted: Vec<_> =
        services.iter().map(|it| (it.skill.as_deref(), it.completed, it.failed)).collect();
    assert_eq!(counted, [(None, 1, 0), (Some("book"), 3, 1)]);
    assert_eq!(services[1].median, Some(Duration::from_secs(2)));
}

#[test]
fn words_of_a_stranger_are_kept_in_one_line_and_not_without_end() {
    let shortfall = Shortfall::new("its card\n", &format!("\u{1b}[2J{}", "x".repeat(9_999)), false);
    assert_eq!(shortfall.what, "its card ");
    assert!(shortfall.why.starts_with(" [2Jxxx"), "{shortfall}");
    assert_eq!(shortfall.why.chars().count(), 500);
}

#[test]
fn others_are_told_how_much_was_seen_and_not_why() {
    let proven = seen(&[Done(1)], 2);
    let (told, why) = (proven.for_others().to_string(), &proven.why);
    assert!(!why.is_empty() && proven.to_string().ends_with(why), "{proven}");
    assert!(told.starts_with("proven since") && !told.contains(why.as_str()), "{told}");
}

#[test]
fn what_was_seen_of_a_card_counts_no_more_once_another_one_broke_with_it() {
    let mut observed = observed(&[Probe(1, Some(Conformant)), Done(2)]);
    let mut kept = grounds();
    kept.add(card(2));
    assert_eq!(Seen::of(&observed, &kept, at(9)).unwrap().tier, Some(Proven), "nothing is broken");
    let broken = Grounds::new(at(5), card(2));
    let seen = Seen::of(&observed, &broken, at(9)).unwrap();
    assert_eq!((seen.tier, seen.last, seen.holds_until), (None, None, Timestamp::MAX));
    assert_snapshot!(seen, @"none since 2027-01-15 08:00:05Z, looked at 2027-01-15 08:00:02Z: its card changed in a breaking way or moved, and what was seen of the former one counts no more");
    assert!(services(&observed, &broken).is_empty());
    let moved = Grounds::new(at(5), card(1));
    assert_eq!(Seen::of(&observed, &moved, at(9)).unwrap().tier, None, "the same card, elsewhere");

    // A run that was planned with the former card goes on, and says nothing of the present one.
    observed.add_work(Work { number: 9, ..work(6, None) });
    assert_eq!(Seen::of(&observed, &broken, at(9)).unwrap().tier, None);
    observed.probes.add(Probed { card: Some(card(2)), ..probed(7, Some(Conformant)) }, &broken);
    let seen = Seen::of(&observed, &broken, at(9)).unwrap();
    assert_eq!((seen.tier, seen.was, seen.since), (Some(Conformant), None, at(7)));
    let unbound = Probed { card: None, ..probed(8, Some(Conformant)) };
    let mut observed = Observed::default();
    observed.probes.add(unbound, &grounds());
    assert_eq!(Seen::of(&observed, &grounds(), at(9)).unwrap().tier, None, "nobody knows of what");
}

#[test]
fn grounds_do_not_grow_without_end() {
    let mut grounds = grounds();
    (1..=crate::MOST_VERSIONS + 1).for_each(|which| grounds.add(card(which)));
    assert_eq!(grounds.cards.len(), crate::MOST_VERSIONS as usize);
    assert!(!grounds.covers(card(1)) && grounds.covers(card(2)));
}

#[test]
fn a_failure_on_our_side_takes_nothing_from_an_agent_and_is_told() {
    let mut observed = observed(&[Probe(1, Some(Conformant)), Done(2)]);
    let why = || Some("no secret".to_owned());
    for second in 3..60 {
        observed.probes.add(Probed { unmeasured: why(), ..probed(second, None) }, &grounds());
        let failed = work(second, Some("unauthorized: no secret"));
        observed.add_work(Work { is_unmeasured: true, number: 0, ..failed });
    }
    assert_eq!(observed.probes.recent.len(), 2, "they displace nothing");
    let seen = Seen::of(&observed, &grounds(), at(60)).unwrap();
    assert_eq!((seen.tier, seen.at, seen.since), (Some(Proven), at(2), at(2)));
    assert_snapshot!(seen.unmeasured.clone().unwrap(), @"not measured at 2027-01-15 08:00:59Z: step `s` of run r failed with: unauthorized: no secret");
    assert!(seen.to_string().ends_with("no secret"), "{seen}");
    assert_eq!(seen.for_others().unmeasured, None);
    assert_eq!(services(&observed, &grounds())[0].failed, 0);
    assert!(
        Seen::of(&observed, &grounds(), at(102)).unwrap().is_stale,
        "it does not keep it either"
    );
    observed.probes.add(probed(70, Some(Conformant)), &grounds());
    assert_eq!(Seen::of(&observed, &grounds(), at(71)).unwrap().unmeasured, None, "it is over");

    let mut nothing = Observed::default();
    nothing.probes.add(Probed { unmeasured: why(), ..probed(1, None) }, &grounds());
    let seen = Seen::of(&nothing, &grounds(), at(2)).unwrap();
    assert_snapshot!(seen, @"none since 2027-01-15 08:00:01Z, looked at 2027-01-15 08:00:01Z: nothing of it was measured yet; not measured at 2027-01-15 08:00:01Z: no secret");
}

#[test]
fn a_ledger_that_is_read_anew_keeps_what_is_counted_meanwhile() {
    let mut ledger = Ledger::default();
    ledger.add_work("it", work(1, None));
    assert_eq!((ledger.next("it"), ledger.next("it")), (2, 3));
    ledger.begin_reading();
    let mut read = Ledger::default();
    read.add_work("it", work(1, None));
    read.add_work("it", work(2, None));
    // One that was committed before the store was read, and one after.
    ledger.add_new_work("it", work(2, None));
    ledger.add_new_work("it", work(3, None));
    ledger.add_new_work("other", work(1, None));
    ledger.end_reading(read);
    assert_eq!(ledger.services("it", &grounds())[0].completed, 3);
    assert_eq!(ledger.services("other", &grounds())[0].completed, 1);
    assert_eq!(ledger.next("it"), 4);

    ledger.begin_reading();
    ledger.add_new_work("it", work(4, None));
    ledger.give_up_reading();
    assert_eq!(ledger.services("it", &grounds())[0].completed, 4, "the former ledger stays");
}
