//! A tiny world: performs wanted effects in random order, repeats itself, and is late.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use planner::{ErrorClass, OnError, StepState};

use super::{
    Shape, StepId, StepIndex,
    facts::{body, chunked, error, failed, id, intent, paused, refusal, succeeded},
    shape_of,
};
use crate::run::{Effect, Header, Input, Outcome, PauseKind, RemoteTask, Rendered, Run, RunEvent};

/// What happens to a step, whenever it is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// One answer, no Task to follow.
    Answers,
    /// A Task, later its result.
    Binds,
    /// The first Message is refused for its context.
    RefusesContext,
    /// Refuses to send notifications, answers without them.
    RefusesCallback,
    /// So many attempts fail before one binds and completes; three is one too many.
    FailsThenBinds(u32),
    /// The first attempt's Task outlives its timeout and has to be canceled.
    TimesOutOnce,
    /// Asks so many questions before it completes.
    Asks(u32),
    /// Waits for authorization, then goes on by itself or is told.
    WantsAuthorization,
    /// Fails for good.
    Fails,
    /// Its templates cannot be evaluated.
    CannotRender,
    /// `when` is false.
    IsSkipped,
}

/// What happens to the run as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scenario {
    /// No step failure is fatal, nobody interferes.
    Undisturbed,
    /// This step fails the run if it is reached and fails.
    StepIsFatal(usize),
    /// Canceled after so many inputs.
    CanceledAfter(usize),
    /// Its timeout passes after so many inputs.
    TimesOutAfter(usize),
}

#[derive(Clone, Debug)]
pub(super) struct World {
    shape: Arc<Shape>,
    dependencies: Vec<Vec<u32>>,
    fates: Vec<Fate>,
    scenario: Scenario,
    /// Whether the run waits for its turn before it starts.
    is_queued: bool,
}

impl World {
    /// `edges[n]` is a bit set over the earlier steps that step n depends on.
    pub(super) fn new(
        edges: &[u16],
        mut fates: Vec<Fate>,
        on_error: &[u8],
        parallel: usize,
        scenario: Scenario,
    ) -> Self {
        let dependencies: Vec<Vec<u32>> = (0u32..)
            .zip(edges)
            .map(|(at, bits)| (0..at).filter(|from| bits >> from & 1 == 1).collect())
            .collect();
        let mut policies: Vec<OnError> = on_error
            .iter()
            .map(|n| if *n == 0 { OnError::SkipDependents } else { OnError::Continue })
            .collect();
        if let Scenario::StepIsFatal(at) = scenario {
            policies[at] = OnError::Fail;
            fates[at] = Fate::Fails;
        }
        Self {
            shape: Arc::new(shape_of(&dependencies, &policies, parallel)),
            dependencies,
            fates,
            scenario,
            is_queued: false,
        }
    }

    /// The same world in which the run has to wait for its turn.
    pub(super) fn queued(self) -> Self {
        Self { is_queued: true, ..self }
    }

    pub(super) fn of_shape(shape: Shape, fate: Fate) -> Self {
        Self {
            fates: vec![fate; shape.len()],
            dependencies: Vec::new(),
            shape: Arc::new(shape),
            scenario: Scenario::Undisturbed,
            is_queued: false,
        }
    }

    /// The same world after a restart: who interfered before does so again, at once.
    pub(super) fn interfering_at_once_if(mut self, has_interfered: bool) -> Self {
        self.scenario = match self.scenario {
            Scenario::CanceledAfter(_) if has_interfered => Scenario::CanceledAfter(0),
            Scenario::TimesOutAfter(_) if has_interfered => Scenario::TimesOutAfter(0),
            Scenario::CanceledAfter(_) | Scenario::TimesOutAfter(_) => Scenario::Undisturbed,
            other => other,
        };
        self
    }

    /// How many agents may go on without being told.
    pub(super) fn self_starters(&self) -> usize {
        self.fates.iter().filter(|fate| **fate == Fate::WantsAuthorization).count()
    }

    pub(super) fn shape(&self) -> Arc<Shape> {
        Arc::clone(&self.shape)
    }

    /// Replays a journal and drives the run to its end.
    pub(super) fn run_from(&self, journal: &[RunEvent], seed: u64) -> (Run, Vec<RunEvent>) {
        let mut run = Run::new(self.shape());
        for event in journal {
            run.apply(event);
        }
        let whole = self.drive(&mut run, journal.to_vec(), seed, |_, _| ());
        (run, whole)
    }

    /// Feeds inputs until the run ends; calls `look` after each.
    pub(super) fn drive(
        &self,
        run: &mut Run,
        mut journal: Vec<RunEvent>,
        seed: u64,
        mut look: impl FnMut(&Run, &[RunEvent]),
    ) -> Vec<RunEvent> {
        let mut dice = Dice(seed | 1);
        let mut past: Vec<Input> = Vec::new();
        let opening = match journal.is_empty() {
            true => self.start(),
            false => Input::Resumed { at: dice.now() },
        };
        journal.extend(run.step(opening));
        let mut fed = 0usize;
        while run.outcome().is_none() {
            look(run, &journal);
            let input = match self.interference(run, fed) {
                Some(input) => input,
                None if dice.roll(5) == 0 && !past.is_empty() => {
                    past[dice.roll(past.len())].clone()
                }
                None => self.work_off(run, &mut dice),
            };
            fed += 1;
            assert!(fed < 1_000_000, "the run does not come to an end: {run:?}");
            past.push(input.clone());
            journal.extend(run.step(input));
        }
        look(run, &journal);
        journal
    }

    fn interference(&self, run: &Run, fed: usize) -> Option<Input> {
        let is_due = |after: usize| run.halt().is_none() && fed >= after;
        let at = Timestamp::UNIX_EPOCH;
        match self.scenario {
            Scenario::CanceledAfter(n) if is_due(n) => Some(Input::CancelRequested { at }),
            // The time of a run counts from its start.
            Scenario::TimesOutAfter(n) if is_due(n) && !run.is_queued() => {
                Some(Input::TimedOut { at })
            }
            _ => None,
        }
    }

    /// Performs one wanted effect, chosen at random.
    fn work_off(&self, run: &Run, dice: &mut Dice) -> Input {
        let wanted: Vec<Effect> =
            run.wanted().iter().filter(|effect| *effect != Effect::Deadline).take(64).collect();
        let at = dice.now();
        if run.is_queued() {
            return Input::Admitted { at };
        }
        if let Some((step, _)) = run.pauses().next()
            && (wanted.is_empty() || dice.roll(4) == 0)
        {
            return self.answer(run, step, at);
        }
        assert!(!wanted.is_empty(), "the run wants nothing and has not ended: {run:?}");
        match wanted[dice.roll(wanted.len())] {
            Effect::Render(index) => self.render(run, index, at),
            Effect::Send(index, attempt) => self.send(run, index, attempt, at),
            Effect::Watch(index, attempt) if dice.roll(3) == 0 => chunked(index, attempt, at),
            Effect::Watch(index, attempt) => self.watch(run, index, attempt, at),
            Effect::Answer(index, attempt, turn) if dice.roll(4) == 0 => {
                Input::AnswerRefused { step: id(index), attempt, at, turn, refusal: refusal() }
            }
            Effect::Answer(index, attempt, turn) => {
                Input::Delivered { step: id(index), attempt, turn }
            }
            Effect::Sleep(index, attempt) => Input::Woken { step: id(index), attempt },
            Effect::Cancel(index, attempt) | Effect::GiveUp(index, attempt) => {
                Input::CancelSettled { step: id(index), attempt, at, confirmed: dice.roll(2) == 0 }
            }
            Effect::Conclude => Input::Concluded { at, outputs: Ok(body("outputs")) },
            Effect::Deadline => unreachable!("filtered out above"),
        }
    }

    fn render(&self, run: &Run, index: StepIndex, at: Timestamp) -> Input {
        let rendered = match self.fates[index.position()] {
            Fate::IsSkipped => Rendered::Skip { condition: "false".to_owned() },
            Fate::CannotRender => Rendered::Fail {
                error: error(ErrorClass::Invalid, 0),
                result: body("cannot render"),
            },
            _ => Rendered::Send(intent(index, run.at(index).attempts + 1, "send")),
        };
        Input::Rendered { step: id(index), at, rendered }
    }

    fn send(&self, run: &Run, index: StepIndex, attempt: u32, at: Timestamp) -> Input {
        let is_first =
            run.at(index).flight().is_some_and(|flight| flight.intent.message_id.ends_with("send"));
        match self.fates[index.position()] {
            Fate::Answers => succeeded(index, attempt, at),
            Fate::RefusesContext if is_first => Input::ContextRefused {
                step: id(index),
                attempt,
                intent: intent(index, attempt, "send_without_context"),
            },
            Fate::RefusesCallback if is_first => Input::CallbackRefused {
                step: id(index),
                attempt,
                intent: intent(index, attempt, "send_without_callback"),
            },
            Fate::FailsThenBinds(times) if attempt <= times => {
                failed(index, attempt, at, ErrorClass::Unavailable)
            }
            Fate::Fails => failed(index, attempt, at, ErrorClass::Rejected),
            _ => self.bound_input(index.0, attempt),
        }
    }

    fn watch(&self, run: &Run, index: StepIndex, attempt: u32, at: Timestamp) -> Input {
        let turn = run.at(index).flight().map_or(0, |flight| flight.turn);
        let is_paused = run.at(index).state() == StepState::Paused;
        match self.fates[index.position()] {
            Fate::Asks(questions) if turn < questions => {
                paused(index, attempt, at, PauseKind::Input, turn)
            }
            Fate::WantsAuthorization if is_paused => {
                Input::Unpaused { step: id(index), attempt, at }
            }
            Fate::WantsAuthorization if turn == 0 && at.as_millisecond() % 2 == 0 => {
                paused(index, attempt, at, PauseKind::Auth, turn)
            }
            Fate::TimesOutOnce if attempt == 1 => failed(index, attempt, at, ErrorClass::Timeout),
            _ => succeeded(index, attempt, at),
        }
    }

    /// Somebody answers the first step that asks.
    #[expect(clippy::unused_self, reason = "reads as what this world does")]
    fn answer(&self, run: &Run, step: &StepId, at: Timestamp) -> Input {
        let index = run.shape().find(step).expect("a step of this run");
        let flight = run.at(index).flight().expect("a paused step has its attempt");
        let (attempt, turn) = (flight.attempt, flight.turn + 1);
        let intent = intent(index, attempt, &format!("answer-{turn}"));
        Input::Answered { step: step.clone(), attempt, at, turn, intent, said: None }
    }

    #[expect(clippy::unused_self, reason = "reads as what this world does")]
    pub(super) fn bound_input(&self, index: u32, attempt: u32) -> Input {
        Input::Bound {
            step: id(StepIndex(index)),
            attempt,
            task: RemoteTask {
                task_id: format!("t{index}-{attempt}"),
                context_id: "c".to_owned(),
                interface: None,
            },
        }
    }

    /// What happens to the first step until it asks, all at one instant but the start.
    pub(super) fn until_paused(&self, since: Timestamp) -> [Input; 3] {
        let index = StepIndex(0);
        let rendered = Rendered::Send(intent(index, 1, "send"));
        [
            self.start(),
            Input::Rendered { step: id(index), at: Timestamp::UNIX_EPOCH, rendered },
            paused(index, 1, since, PauseKind::Input, 0),
        ]
    }

    fn start(&self) -> Input {
        let at = Timestamp::UNIX_EPOCH;
        let header = Box::new(Header {
            workflow: format!("{} steps", self.shape.len()),
            context_id: "c".to_owned(),
            plan: body("plan"),
            inputs: body("inputs"),
            start: body("start"),
            message: None,
            origin: None,
            accepts: Vec::new(),
            extensions: Vec::new(),
            relay: false,
            key: None,
            scheduled_at: None,
        });
        match self.is_queued {
            true => Input::Queue { at, header },
            false => Input::Start { at, header },
        }
    }

    /// Compares every step's end with what the graph says, in runs that nobody disturbs.
    pub(super) fn check_against_oracle(&self, run: &Run) {
        match (self.scenario, run.outcome()) {
            (Scenario::Undisturbed, outcome) => {
                assert_eq!(outcome, Some(&Outcome::Completed(body("outputs"))));
                let states: Vec<StepState> = run.steps().map(|(_, step)| step.state()).collect();
                assert_eq!(states, self.expected());
            }
            (Scenario::StepIsFatal(at), Some(Outcome::Failed(error))) => {
                assert_eq!(error.step, Some(id(StepIndex(u32::try_from(at).expect("small")))));
            }
            (Scenario::StepIsFatal(at), Some(Outcome::Completed(_))) => {
                assert_eq!(self.expected()[at], StepState::Skipped, "reached, it fails the run");
            }
            (Scenario::CanceledAfter(_) | Scenario::TimesOutAfter(_), outcome) => {
                assert!(outcome.is_some());
            }
            (scenario, outcome) => panic!("{scenario:?} ended in {outcome:?}"),
        }
    }

    /// The oracle: one pass in plan order.
    fn expected(&self) -> Vec<StepState> {
        let mut ends: Vec<(StepState, bool)> = Vec::new();
        for (at, needs) in self.dependencies.iter().enumerate() {
            let is_spread = needs.iter().any(|from| ends[*from as usize].1);
            let end = if is_spread { StepState::Skipped } else { end_of(self.fates[at]) };
            let policy = self.shape.step(StepIndex(u32::try_from(at).expect("small"))).on_error;
            let spreads =
                is_spread || (end == StepState::Failed && policy == OnError::SkipDependents);
            ends.push((end, spreads));
        }
        ends.into_iter().map(|(end, _)| end).collect()
    }
}

fn end_of(fate: Fate) -> StepState {
    match fate {
        Fate::Answers
        | Fate::Binds
        | Fate::RefusesContext
        | Fate::RefusesCallback
        | Fate::TimesOutOnce
        | Fate::Asks(_)
        | Fate::WantsAuthorization => StepState::Completed,
        Fate::FailsThenBinds(times) if times < 3 => StepState::Completed,
        Fate::FailsThenBinds(_) | Fate::Fails | Fate::CannotRender => StepState::Failed,
        Fate::IsSkipped => StepState::Skipped,
    }
}

/// A small generator: the schedule is a function of the seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("less than a usize")
    }

    fn now(&mut self) -> Timestamp {
        let millis = i64::try_from(self.roll(1_000_000)).expect("small");
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(millis)
    }
}
