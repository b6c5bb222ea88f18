//! What the steps of a world are like, and what happens to its run as a whole.

use planner::{OnError, RunIf};

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
    /// Asks so many questions back by direct Messages before it makes a Task.
    AsksBack(u32),
    /// Asks a person, who gives so many answers that do not fit before one that does.
    AsksPerson(u32),
    /// Asks a person, who never answers.
    AsksPersonInVain,
    /// Its agent asks, and nobody ever answers.
    AsksInVain,
    /// Is a run of another workflow, which may wait for somebody inside.
    IsSubRun,
    /// Waits for authorization, then goes on by itself or is told.
    WantsAuthorization,
    /// So many rounds end before one is good enough; the first attempt of each fails.
    Repeats(u32),
    /// No round is good enough, of so many.
    NeverConverges(u32),
    /// The first agent cannot do it, the next one does.
    FallsBack,
    /// Where it must not get a Message twice, the answer is lost as often as chance will have it.
    LosesAnswer,
    /// Fails, and its time is up before it is tried again.
    IsOverdue,
    /// Fails for good.
    Fails,
    /// Asks no agent.
    Computes,
    /// An equal step of another run has a result; its items do as the next fate says.
    Reuses,
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

/// What a step of a world is like.
#[derive(Clone, Debug)]
pub(super) struct Character {
    /// A bit set over the earlier steps that it depends on.
    pub(super) edges: u16,
    pub(super) fate: Fate,
    pub(super) on_error: OnError,
    /// For how many items it runs, and how many of them at once.
    pub(super) items: Option<(u32, usize)>,
    /// How many of its dependencies it waits for, modulo as many as it has.
    pub(super) join: Option<u32>,
    pub(super) run_if: RunIf,
    pub(super) cancel_rest: bool,
}

impl Character {
    /// One that answers, fails or whatever at once, and waits for all that it depends on.
    pub(super) fn plain(fate: Fate) -> Self {
        Self {
            edges: 0,
            fate,
            on_error: OnError::Fail,
            items: None,
            join: None,
            run_if: RunIf::Succeeded,
            cancel_rest: false,
        }
    }
}
