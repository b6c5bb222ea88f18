//! A tiny world: performs wanted effects in random order, repeats itself, and is late.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use planner::{ErrorClass, OnError, StepEffect, StepState};

use super::{
    Shape, StepIndex,
    character::{Character, Fate, Scenario},
    facts::{
        asked, asked_back, body, bound, chunked, error, failed, intent, lost, overdue, paused,
        refusal, reuse, round_ended, sub_run, succeeded, withheld,
    },
    people::inside,
    shape_of,
};
use crate::run::{Effect, Input, PauseKind, Rendered, Run, RunEvent};

#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) shape: Arc<Shape>,
    fates: Vec<Fate>,
    /// For how many items each step runs.
    pub(super) items: Vec<Option<u32>>,
    pub(super) scenario: Scenario,
    /// Whether the run waits for its turn before it starts.
    pub(super) is_queued: bool,
    /// Whether no agent may get a Message twice.
    pub(super) is_careful: bool,
}

impl World {
    pub(super) fn new(mut steps: Vec<Character>, parallel: usize, scenario: Scenario) -> Self {
        if let Scenario::StepIsFatal(at) = scenario {
            // Whether it is reached before it is canceled would be chance.
            steps.iter_mut().for_each(|step| step.cancel_rest = false);
            steps[at].on_error = OnError::Fail;
            steps[at].fate = Fate::Fails;
            steps[at].items = steps[at].items.map(|(count, at_once)| (count.max(1), at_once));
        }
        let dependencies: Vec<Vec<u32>> = (0u32..)
            .zip(&steps)
            .map(|(at, step)| (0..at).filter(|from| step.edges >> from & 1 == 1).collect())
            .collect();
        Self {
            shape: Arc::new(shape_of(&dependencies, &steps, parallel)),
            fates: steps.iter().map(|step| step.fate).collect(),
            items: steps.iter().map(|step| step.items.map(|(count, _)| count)).collect(),
            scenario,
            is_queued: false,
            is_careful: false,
        }
    }

    /// The same world in which the run has to wait for its turn.
    pub(super) fn queued(self) -> Self {
        Self { is_queued: true, ..self }
    }

    /// The same world in which no agent may get a Message twice.
    pub(super) fn careful(self) -> Self {
        let shape = self.shape.with(|step| step.effect = StepEffect::AtMostOnce);
        Self { is_careful: true, shape: Arc::new(shape), ..self }
    }

    pub(super) fn of_shape(shape: Shape, fate: Fate) -> Self {
        Self {
            fates: vec![fate; shape.len()],
            items: vec![None; shape.len()],
            shape: Arc::new(shape),
            scenario: Scenario::Undisturbed,
            is_queued: false,
            is_careful: false,
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

    /// The same world, whose first step runs for so many items.
    pub(super) fn with_items(mut self, count: u32) -> Self {
        self.items[0] = Some(count);
        self
    }

    /// What happens to a step, or an item of one: each item has the fate of another step.
    pub(super) fn fate(&self, step: StepIndex, item: Option<u32>) -> Fate {
        // Which of several fails the run would be chance.
        if item > Some(0) && self.scenario == Scenario::StepIsFatal(step.position()) {
            return Fate::Answers;
        }
        let at = step.position() + item.unwrap_or_default() as usize;
        match self.fates[at % self.fates.len()] {
            // Nobody asks again for an item whether it runs.
            Fate::IsSkipped | Fate::Reuses if item.is_some() => Fate::Answers,
            fate => fate,
        }
    }

    pub(super) fn fate_at(&self, run: &Run, at: StepIndex) -> Fate {
        let item = run.at(at).item_of.map(|(_, item)| item);
        self.fate(run.planned(at), item)
    }

    /// How many agents may go on without being told.
    pub(super) fn self_starters(&self, run: &Run) -> usize {
        let fates = run.indices().map(|at| self.fate_at(run, at));
        let is_one = |fate: &Fate| {
            matches!(fate, Fate::WantsAuthorization | Fate::AsksBack(_) | Fate::IsSubRun)
        };
        fates.filter(is_one).count()
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
        let is_sent_again = run.wanted().iter().any(|it| matches!(it, Effect::Send(..)));
        assert!(!self.is_careful || !is_sent_again, "nothing is sent twice unasked");
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

    /// Performs one wanted effect, chosen at random.
    fn work_off(&self, run: &Run, dice: &mut Dice) -> Input {
        let wanted: Vec<Effect> =
            run.wanted().iter().filter(|effect| self.is_due(run, *effect)).take(64).collect();
        let at = dice.now();
        if run.is_queued() {
            return Input::Admitted { at };
        }
        if let Some((step, _)) = run.pauses().next()
            && (wanted.is_empty() || dice.roll(4) == 0)
        {
            return self.answer(run, step, dice, at);
        }
        assert!(!wanted.is_empty(), "the run wants nothing and has not ended: {run:?}");
        self.perform(run, wanted[dice.roll(wanted.len())], dice, at)
    }

    /// Whether anything comes of an effect but time that passes.
    fn is_due(&self, run: &Run, effect: Effect) -> bool {
        match effect {
            Effect::Deadline => false,
            Effect::StepDeadline(at) => self.fate_at(run, at) == Fate::IsOverdue,
            _ => true,
        }
    }

    fn perform(&self, run: &Run, effect: Effect, dice: &mut Dice, at: Timestamp) -> Input {
        let step = |index| run.at(index).id.clone();
        match effect {
            Effect::Render(index) => self.render(run, index, at),
            Effect::Send(index, attempt) => self.send(run, index, attempt, at),
            Effect::Watch(index, attempt) if dice.roll(3) == 0 => chunked(step(index), attempt, at),
            Effect::Watch(index, attempt) => self.watch(run, index, attempt, at),
            Effect::Answer(index, attempt, turn) if dice.roll(4) == 0 => {
                Input::AnswerRefused { step: step(index), attempt, at, turn, refusal: refusal() }
            }
            Effect::Answer(index, attempt, turn) => {
                Input::Delivered { step: step(index), attempt, turn }
            }
            Effect::Expire(index) => self.expire(run, index, at),
            Effect::Sleep(index, attempt) => Input::Woken { step: step(index), attempt },
            Effect::Cancel(index, attempt) | Effect::GiveUp(index, attempt) => {
                let (step, confirmed) = (step(index), dice.roll(2) == 0);
                Input::CancelSettled { step, attempt, at, confirmed }
            }
            Effect::Conclude => Input::Concluded { at, outputs: Ok(body("outputs")) },
            Effect::StepDeadline(index) => {
                let deadline = run.step_deadline(index).expect("it has one, and has begun");
                overdue(step(index), at.max(deadline))
            }
            Effect::Deadline => unreachable!("filtered out by the caller"),
        }
    }

    fn render(&self, run: &Run, index: StepIndex, at: Timestamp) -> Input {
        let found = run.at(index);
        let items = self.items.get(index.position()).copied().flatten();
        let rendered = match (self.fate_at(run, index), items) {
            (Fate::IsSkipped, _) => Rendered::Skip { condition: "false".to_owned() },
            (Fate::CannotRender, _) => Rendered::Fail {
                error: error(ErrorClass::Invalid, 0),
                result: body("cannot render"),
            },
            (Fate::Reuses, _) if found.item_of.is_none() => {
                Rendered::Reused { result: body("reused"), from: reuse() }
            }
            (_, Some(count)) => Rendered::Expand { items: body("items"), count },
            (Fate::AsksPerson(_) | Fate::AsksPersonInVain, None) => {
                Rendered::Ask { pause: asked("question") }
            }
            (Fate::Computes, None) => Rendered::Computed { result: body("computed") },
            (Fate::IsSubRun, None) => Rendered::Send(sub_run(index, found.attempts + 1)),
            _ => Rendered::Send(intent(index, found.attempts + 1, "send")),
        };
        Input::Rendered { step: found.id.clone(), at, rendered }
    }

    fn send(&self, run: &Run, index: StepIndex, attempt: u32, at: Timestamp) -> Input {
        let found = run.at(index);
        let step = found.id.clone();
        let is_first =
            found.flight().is_some_and(|flight| flight.intent.message_id.ends_with("send"));
        let turn = found.flight().map_or(0, |flight| flight.turn);
        match self.fate_at(run, index) {
            Fate::Answers => succeeded(step, attempt, at),
            Fate::AsksBack(questions) if turn < questions => asked_back(step, attempt, at, turn),
            Fate::RefusesContext if is_first => Input::ContextRefused {
                step,
                attempt,
                intent: intent(index, attempt, "send_without_context"),
            },
            Fate::RefusesCallback if is_first => Input::CallbackRefused {
                step,
                attempt,
                intent: intent(index, attempt, "send_without_callback"),
            },
            Fate::FailsThenBinds(times) if found.nth(attempt) <= times => {
                failed(step, attempt, at, ErrorClass::Unavailable)
            }
            Fate::Repeats(_) if found.nth(attempt) == 1 => {
                failed(step, attempt, at, ErrorClass::Unavailable)
            }
            Fate::FallsBack if found.candidate == 0 => {
                let whys =
                    [ErrorClass::Unavailable, ErrorClass::Rejected, ErrorClass::Unauthorized];
                failed(step, attempt, at, whys[index.position() % whys.len()])
            }
            Fate::LosesAnswer if self.is_careful && at.as_millisecond() % 2 == 0 => {
                lost(step, attempt, at)
            }
            Fate::IsOverdue => failed(step, attempt, at, ErrorClass::Timeout),
            Fate::Fails => failed(step, attempt, at, ErrorClass::Rejected),
            Fate::WantsAuthorization if at.as_millisecond() % 3 == 0 => {
                withheld(step, attempt, at, None)
            }
            _ => bound(step, attempt),
        }
    }

    fn watch(&self, run: &Run, index: StepIndex, attempt: u32, at: Timestamp) -> Input {
        let found = run.at(index);
        let step = found.id.clone();
        let turn = found.flight().map_or(0, |flight| flight.turn);
        let is_paused = found.state() == StepState::Paused;
        match self.fate_at(run, index) {
            Fate::Asks(questions) if turn < questions => {
                paused(step, attempt, at, PauseKind::Input, turn)
            }
            Fate::IsSubRun => inside(step, attempt, at, is_paused),
            Fate::AsksInVain => paused(step, attempt, at, PauseKind::Input, turn),
            Fate::WantsAuthorization if is_paused => Input::Unpaused { step, attempt, at },
            Fate::WantsAuthorization if turn == 0 && at.as_millisecond() % 2 == 0 => {
                paused(step, attempt, at, PauseKind::Auth, turn)
            }
            Fate::Repeats(rounds) if found.rounds() < rounds => {
                round_ended(step, attempt, at, false)
            }
            Fate::NeverConverges(rounds) => {
                round_ended(step, attempt, at, found.rounds() + 1 == rounds)
            }
            // Somebody has named the Task of a Message that was in doubt.
            Fate::Fails => failed(step, attempt, at, ErrorClass::Rejected),
            Fate::IsOverdue => failed(step, attempt, at, ErrorClass::Timeout),
            Fate::FailsThenBinds(times) if found.nth(attempt) <= times => {
                failed(step, attempt, at, ErrorClass::Unavailable)
            }
            Fate::TimesOutOnce if attempt == 1 => failed(step, attempt, at, ErrorClass::Timeout),
            _ => succeeded(step, attempt, at),
        }
    }
}

/// A small generator: the schedule is a function of the seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
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
