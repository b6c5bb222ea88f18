use planner::OnConflict;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn seats(max_active: usize, queue: usize) -> Arc<Seats> {
    Seats::new(RunLimits { max_active, queue })
}

fn id() -> RunId {
    RunId::generate()
}

impl Seats {
    /// Takes a new run of no group; `None` when even the queue is full.
    fn seat_of(self: &Arc<Self>, id: &RunId, at: Timestamp) -> Option<Arc<Seat>> {
        match self.admit(id, at, None) {
            Admission::Seated(seat, None) => Some(seat),
            Admission::Full => None,
            Admission::Seated(_, Some(_)) | Admission::Rejected => panic!("it is of no group"),
        }
    }
}

#[test]
fn so_many_are_driven_so_many_wait_and_the_rest_is_refused() {
    let seats = seats(1, 2);
    let driven = seats.seat_of(&id(), at(1)).unwrap();
    let first = seats.seat_of(&id(), at(2)).unwrap();
    let second = seats.seat_of(&id(), at(3)).unwrap();
    assert!(driven.is_granted() && !first.is_granted() && !second.is_granted());
    assert!(seats.seat_of(&id(), at(4)).is_none());
    drop(driven);
    assert!(first.is_granted() && !second.is_granted());
    let third = seats.seat_of(&id(), at(5)).expect("there is room in the queue");
    drop(first);
    assert!(second.is_granted() && !third.is_granted(), "nobody overtakes");
}

#[test]
fn a_place_in_the_queue_that_is_given_up_is_free() {
    let seats = seats(1, 1);
    let driven = seats.seat_of(&id(), at(1)).unwrap();
    let gone = seats.seat_of(&id(), at(2)).unwrap();
    drop(gone);
    let next = seats.seat_of(&id(), at(3)).unwrap();
    drop(driven);
    assert!(next.is_granted());
}

#[test]
fn a_run_that_waits_for_people_holds_no_slot_and_goes_on_without_asking() {
    let seats = seats(1, 1);
    let paused = seats.seat_of(&id(), at(1)).unwrap();
    let next = seats.seat_of(&id(), at(2)).unwrap();
    next.hold(false);
    assert!(!next.is_granted(), "what it does not have it cannot give away");
    paused.hold(false);
    assert!(next.is_granted());
    paused.hold(true);
    let last = seats.seat_of(&id(), at(3)).unwrap();
    drop(next);
    assert!(!last.is_granted(), "the answered run is driven");
    drop(paused);
    assert!(last.is_granted());
}

#[test]
fn runs_that_are_taken_up_stand_in_the_order_in_which_they_were_queued() {
    let seats = seats(1, 0);
    let gate = seats.gate();
    let late = seats.take_up(&id(), at(9), true, None);
    let early = seats.take_up(&id(), at(3), true, None);
    assert!(!late.is_granted() && !early.is_granted(), "the order is not known yet");
    let driven = seats.take_up(&id(), at(0), false, None);
    assert!(driven.is_granted());
    drop(gate);
    assert!(!early.is_granted(), "the seat is taken");
    drop(driven);
    assert!(early.is_granted() && !late.is_granted());
    drop(early);
    assert!(late.is_granted());
}

#[test]
fn a_former_slot_of_a_run_takes_nothing_from_its_next_one() {
    let seats = seats(1, 1);
    let run = id();
    let former = seats.take_up(&run, at(0), false, None);
    let now = seats.take_up(&run, at(0), false, None);
    drop(former);
    let next = seats.seat_of(&id(), at(1)).unwrap();
    assert!(!next.is_granted());
    drop(now);
    assert!(next.is_granted());
}

#[tokio::test]
async fn whoever_waits_is_woken() {
    let seats = seats(1, 1);
    let driven = seats.seat_of(&id(), at(1)).unwrap();
    let next = seats.seat_of(&id(), at(2)).unwrap();
    let ((), ()) = tokio::join!(next.granted(), async { drop(driven) });
    assert!(next.is_granted());
}

fn of_group(policy: OnConflict, limit: u32) -> Option<Membership> {
    let name = GroupName { account: "a".into(), workflow: "w".to_owned(), key: "k".to_owned() };
    let span = document::Span::default();
    let concurrency = planner::Concurrency { key: None, limit, on_conflict: policy, span };
    Some(Membership::new(name, &concurrency))
}

impl Seats {
    fn grouped(
        self: &Arc<Self>,
        second: i64,
        member: Option<Membership>,
    ) -> (Arc<Seat>, Option<Displaced>) {
        match self.admit(&id(), at(second), member) {
            Admission::Seated(seat, displaced) => (seat, displaced),
            Admission::Full | Admission::Rejected => panic!("it has a place"),
        }
    }
}

#[test]
fn who_is_displaced_before_it_is_driven_learns_of_it_and_who_is_not_after_all_is_left() {
    let seats = seats(9, 9);
    let oldest = || of_group(OnConflict::CancelOldest, 1);
    let (first, _) = seats.grouped(1, oldest());
    let (second, displaced) = seats.grouped(2, oldest());
    drop(displaced);
    assert!(!first.cancel().is_cancelled(), "the second run was not kept");
    drop(second);
    let (third, displaced) = seats.grouped(3, oldest());
    displaced.expect("the first run").confirm();
    assert!(first.cancel().is_cancelled() && !third.cancel().is_cancelled());
    drop(first);
    assert!(third.is_granted());
}

#[test]
fn a_limit_that_is_raised_lets_in_who_waits() {
    let seats = seats(9, 9);
    let queue = |limit| of_group(OnConflict::Queue, limit);
    let (_first, _) = seats.grouped(1, queue(1));
    let (second, _) = seats.grouped(2, queue(1));
    let (third, _) = seats.grouped(3, queue(3));
    assert!(second.is_granted() && third.is_granted());
}

#[test]
fn what_a_restart_kept_from_being_displaced_is_displaced_once_all_are_there() {
    for (policy, expected) in [
        (OnConflict::Queue, [false, false]),
        (OnConflict::CancelOldest, [true, false]),
        (OnConflict::CancelNewest, [false, true]),
    ] {
        let seats = seats(9, 9);
        let gate = seats.gate();
        let waits = seats.take_up(&id(), at(2), true, of_group(policy, 1));
        let driven = seats.take_up(&id(), at(1), false, of_group(policy, 1));
        assert!(!waits.cancel().is_cancelled() && !driven.cancel().is_cancelled());
        drop(gate);
        assert_eq!([driven.cancel().is_cancelled(), waits.cancel().is_cancelled()], expected);
        drop(driven);
        assert!(waits.is_granted());
    }
}
