//! An event of a run as a line of JSON. It says what the event itself holds, so that a late watcher reads the same
//! lines as an early one; bodies (Messages, results, plans) are left to `runs show`.

use executor::run::{
    Chosen, Header, Next, NextRound, Outcome, Pause, PauseKind, RemoteTask, RunEvent,
};
use jiff::Timestamp;
use serde::Serialize;

/// One line.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Line<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    /// What a pause waits for: `input` or `auth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<&'static str>,
    /// What the agent asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// Why its answer is taken for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    mismatch: Option<&'a str>,
    /// Which round of a step has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    /// How many items a step runs for.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// How many of its items have failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<u32>,
    /// Why a step is skipped or canceled.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The run in which a result was made that a step takes over.
    #[serde(skip_serializing_if = "Option::is_none")]
    reused_from: Option<&'a executor::RunId>,
    /// When a failed attempt is followed by another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<Timestamp>,
    /// How many Messages a sub-run has sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    /// Which of the step's further agents is tried after a failed attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<u32>,
    /// What somebody has decided about a Message that may have been received: `resend`, `failed` or `task`.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'static str>,
    /// Whether the agent confirmed that its Task is canceled.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    /// How the run ended: `completed`, `failed` or `canceled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

/// The line of an event.
pub(crate) fn line(event: &RunEvent) -> Line<'_> {
    let step = event.step().map(executor::run::StepId::as_str);
    Line { step, ..about(event) }
}

/// All but the step.
fn about(event: &RunEvent) -> Line<'_> {
    match event {
        RunEvent::RunDeferred { at, .. } => of_run("run_deferred", *at),
        RunEvent::RunRejected { at, .. } => of_run("run_rejected", *at),
        RunEvent::RunStarted { at, header } => of_header("run_started", *at, header),
        RunEvent::RunQueued { at, header } => of_header("run_queued", *at, header),
        RunEvent::RunAdmitted { at } => of_run("run_admitted", *at),
        RunEvent::RunResumed { at } => of_run("run_resumed", *at),
        RunEvent::StepSkipped { at, reason, .. } => {
            Line { reason: Some(reason.to_string()), ..of_run("step_skipped", *at) }
        }
        RunEvent::StepCanceled { at, by, .. } => {
            let reason = Some(format!("`{by}` does not need it any more"));
            Line { reason, ..of_run("step_canceled", *at) }
        }
        RunEvent::StepExpanded { at, count, .. } => {
            Line { count: Some(*count), ..of_run("step_expanded", *at) }
        }
        RunEvent::StepGathered { at, failed, .. } => {
            Line { failed: Some(*failed), ..of_run("step_gathered", *at) }
        }
        RunEvent::StepAsked { at, pause, .. } => asked("step_asked", *at, pause),
        RunEvent::StepAskedAgain { at, pause, .. } => asked("step_asked_again", *at, pause),
        RunEvent::StepTaken { at, state, .. } => {
            Line { state: Some(state.as_str()), ..of_run("step_taken", *at) }
        }
        RunEvent::StepAnswered { at, .. } => of_run("step_answered", *at),
        RunEvent::StepComputed { at, .. } => of_run("step_computed", *at),
        RunEvent::StepReused { at, from, .. } => {
            Line { reused_from: Some(&from.run), ..of_run("step_reused", *at) }
        }
        RunEvent::StepFailed { at, error, .. } => {
            Line { error: Some(error.message.clone()), ..of_run("step_failed", *at) }
        }
        RunEvent::CancelRequested { at } => of_run("cancel_requested", *at),
        RunEvent::RunTimedOut { at } => of_run("run_timed_out", *at),
        RunEvent::BudgetSpent { at, .. } => of_run("budget_spent", *at),
        RunEvent::RunFinished { at, outcome } => finished(*at, outcome),
        RunEvent::AttemptStarted { .. }
        | RunEvent::ContextRefused { .. }
        | RunEvent::CallbackRefused { .. }
        | RunEvent::AttemptBound { .. }
        | RunEvent::CallsCounted { .. }
        | RunEvent::AnswerPassed { .. }
        | RunEvent::ArtifactChunked { .. }
        | RunEvent::AttemptReported { .. }
        | RunEvent::AttemptPaused { .. }
        | RunEvent::AttemptUnpaused { .. }
        | RunEvent::AttemptAnswered { .. }
        | RunEvent::OutcomeUnknown { .. }
        | RunEvent::OutcomeChosen { .. }
        | RunEvent::AnswerDelivered { .. }
        | RunEvent::AnswerRefused { .. }
        | RunEvent::AttemptFailed { .. }
        | RunEvent::StepCompleted { .. }
        | RunEvent::RoundEnded { .. }
        | RunEvent::AttemptCanceled { .. } => of_attempt(event),
    }
}

/// What a step asks a person.
fn asked(event: &'static str, at: Timestamp, pause: &Pause) -> Line<'static> {
    Line { waits_for: Some(pause.kind.as_str()), question: pause.text(), ..of_run(event, at) }
}

fn of_header<'a>(event: &'static str, at: Timestamp, header: &'a Header) -> Line<'a> {
    Line {
        workflow: Some(&header.workflow),
        context_id: Some(&header.context_id),
        ..of_run(event, at)
    }
}

fn of_attempt(event: &RunEvent) -> Line<'_> {
    match event {
        RunEvent::AttemptStarted { attempt, at, intent, .. } => {
            Line { agent: Some(&intent.agent), ..attempt_of("attempt_started", attempt, Some(at)) }
        }
        RunEvent::ContextRefused { attempt, .. } => attempt_of("context_refused", attempt, None),
        RunEvent::CallbackRefused { attempt, .. } => attempt_of("callback_refused", attempt, None),
        RunEvent::CallsCounted { attempt, calls, .. } => {
            Line { calls: Some(*calls), ..attempt_of("calls_counted", attempt, None) }
        }
        RunEvent::AnswerPassed { attempt, at, .. } => {
            attempt_of("answer_passed", attempt, Some(at))
        }
        RunEvent::AttemptBound { attempt, task, .. } => {
            Line { task_id: Some(id(task)), ..attempt_of("attempt_bound", attempt, None) }
        }
        RunEvent::ArtifactChunked { attempt, .. } => attempt_of("artifact_chunked", attempt, None),
        RunEvent::AttemptReported { attempt, at, state, .. } => {
            Line { state: Some(state.word()), ..attempt_of("attempt_reported", attempt, Some(at)) }
        }
        RunEvent::AttemptPaused { attempt, at, task, pause, .. } => Line {
            task_id: task.as_ref().map(id),
            waits_for: Some(pause.kind.as_str()),
            question: pause.text(),
            mismatch: pause.mismatch.as_deref(),
            ..attempt_of("attempt_paused", attempt, Some(at))
        },
        RunEvent::AttemptUnpaused { attempt, at, .. } => {
            attempt_of("attempt_unpaused", attempt, Some(at))
        }
        RunEvent::AttemptAnswered { attempt, at, .. } => {
            attempt_of("attempt_answered", attempt, Some(at))
        }
        RunEvent::AnswerDelivered { attempt, .. } => attempt_of("answer_delivered", attempt, None),
        RunEvent::AnswerRefused { attempt, at, refusal, .. } => Line {
            error: Some(refusal.message.clone()),
            ..attempt_of("answer_refused", attempt, Some(at))
        },
        RunEvent::StepCompleted { attempt, at, task, .. } => Line {
            task_id: task.as_ref().map(id),
            ..attempt_of("step_completed", attempt, Some(at))
        },
        RunEvent::AttemptCanceled { attempt, at, confirmed, .. } => Line {
            confirmed: Some(*confirmed),
            ..attempt_of("attempt_canceled", attempt, Some(at))
        },
        _ => of_turn(event),
    }
}

/// What follows an attempt: another one, another round, another agent, or a question to somebody.
fn of_turn(event: &RunEvent) -> Line<'_> {
    match event {
        RunEvent::AttemptFailed { attempt, at, error, next, .. } => Line {
            error: Some(error.message.clone()),
            retry_at: match next {
                Next::Retry { at } => Some(*at),
                Next::FallBack { .. } | Next::GiveUp { .. } => None,
            },
            fallback: match next {
                Next::FallBack { to } => Some(*to),
                Next::Retry { .. } | Next::GiveUp { .. } => None,
            },
            ..attempt_of("attempt_failed", attempt, Some(at))
        },
        RunEvent::RoundEnded { attempt, round, at, task, next, .. } => Line {
            round: Some(*round),
            task_id: task.as_ref().map(id),
            error: match next {
                NextRound::Again => None,
                NextRound::GiveUp { error, .. } => Some(error.message.clone()),
            },
            ..attempt_of("round_ended", attempt, Some(at))
        },
        RunEvent::OutcomeUnknown { attempt, at, why, .. } => Line {
            waits_for: Some(PauseKind::Outcome.as_str()),
            question: Some(why.clone()),
            ..attempt_of("outcome_unknown", attempt, Some(at))
        },
        RunEvent::OutcomeChosen { attempt, at, chosen, .. } => Line {
            chosen: Some(match chosen {
                Chosen::Resend => "resend",
                Chosen::Failed { .. } => "failed",
                Chosen::Bound { .. } => "task",
            }),
            task_id: match chosen {
                Chosen::Bound { task } => Some(id(task)),
                Chosen::Resend | Chosen::Failed { .. } => None,
            },
            ..attempt_of("outcome_chosen", attempt, Some(at))
        },
        _ => Line::default(),
    }
}

/// All of a line that every attempt has.
fn attempt_of(event: &'static str, attempt: &u32, at: Option<&Timestamp>) -> Line<'static> {
    Line { event, attempt: Some(*attempt), at: at.copied(), ..Line::default() }
}

fn of_run(event: &'static str, at: Timestamp) -> Line<'static> {
    Line { event, at: Some(at), ..Line::default() }
}

fn finished(at: Timestamp, outcome: &Outcome) -> Line<'static> {
    let (state, error) = match outcome {
        Outcome::Completed(_) => ("completed", None),
        Outcome::Failed(error) => ("failed", Some(error.to_string())),
        Outcome::Canceled => ("canceled", None),
    };
    Line { state: Some(state), error, ..of_run("run_finished", at) }
}

fn id(task: &RemoteTask) -> &str {
    &task.task_id
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use executor::{
        Body, Json,
        run::{Intent, Pause, Refusal, Reuse, RunError, SkipReason, StepId},
    };
    use planner::{ErrorClass, StepError, StepState};
    use protocol::{card::Binding, client::Interface};
    use serde_json::{Value, json};

    use super::*;

    const AT: Timestamp = Timestamp::UNIX_EPOCH;

    fn told(event: &RunEvent) -> Value {
        serde_json::to_value(line(event)).expect("a line is JSON")
    }

    fn body() -> Body {
        Body::Inline(Json::of(&json!({"secret": "body"})).expect("JSON"))
    }

    fn from() -> Box<Reuse> {
        let run = "0198c0de-7a11-7000-8000-000000000000".parse().expect("a run id");
        Box::new(Reuse { run, at: AT, agent: None, candidate: 0 })
    }

    fn error() -> StepError {
        let class = ErrorClass::Failed;
        StepError { step: "a".to_owned(), class, message: "broke".to_owned(), attempt: 2 }
    }

    #[test]
    fn a_failed_attempt_says_why_and_whether_another_one_follows() {
        let failed = |next| RunEvent::AttemptFailed {
            step: StepId::new("a"),
            attempt: 2,
            at: AT,
            error: error(),
            next,
            remote_ended: true,
            refusal: None,
        };
        let mut expected = json!({
            "event": "attempt_failed", "at": AT, "step": "a", "attempt": 2, "error": "broke", "retry_at": AT,
        });
        assert_eq!(told(&failed(Next::Retry { at: AT })), expected);
        expected.as_object_mut().expect("an object").remove("retry_at");
        assert_eq!(told(&failed(Next::GiveUp { result: body() })), expected);
        expected["fallback"] = json!(2);
        assert_eq!(told(&failed(Next::FallBack { to: 2 })), expected);
    }

    #[test]
    fn a_round_says_which_and_why_it_was_the_last() {
        let ended = |next| RunEvent::RoundEnded {
            step: StepId::new("a"),
            attempt: 2,
            round: 1,
            at: AT,
            task: None,
            result: body(),
            next,
        };
        let mut expected =
            json!({"event": "round_ended", "at": AT, "step": "a", "attempt": 2, "round": 1});
        assert_eq!(told(&ended(NextRound::Again)), expected);
        expected["error"] = json!("broke");
        let last = NextRound::GiveUp { result: body(), error: error() };
        assert_eq!(told(&ended(last)), expected);
    }

    #[test]
    fn a_decision_says_what_was_decided() {
        let (task_id, context_id) = ("t".to_owned(), "c".to_owned());
        let task = RemoteTask { task_id, context_id, interface: None };
        for (chosen, word, id) in
            [(Chosen::Resend, "resend", Value::Null), (Chosen::Bound { task }, "task", json!("t"))]
        {
            let (step, attempt, at) = (StepId::new("a"), 1, AT);
            let line = told(&RunEvent::OutcomeChosen { step, attempt, at, chosen, said: None });
            assert_eq!((&line["chosen"], &line["task_id"]), (&json!(word), &id));
        }
    }

    #[test]
    fn an_answer_that_is_refused_says_why() {
        let refusal = Refusal {
            reason: "INVALID_PARAMS".to_owned(),
            message: "no".to_owned(),
            metadata: std::collections::BTreeMap::new(),
            violations: Vec::new(),
            retry_after_ms: None,
        };
        let (step, refusal) = (StepId::new("a"), Box::new(refusal));
        let refused = RunEvent::AnswerRefused { step, attempt: 2, at: AT, refusal };
        let expected = json!({
            "event": "answer_refused", "at": AT, "step": "a", "attempt": 2, "error": "no",
        });
        assert_eq!(told(&refused), expected);
    }

    #[test]
    fn a_step_that_does_not_run_or_fails_says_why() {
        let step = StepId::new("a");
        let reason = SkipReason::When { condition: "false".to_owned() };
        let skipped = told(&RunEvent::StepSkipped { step: step.clone(), at: AT, reason });
        assert_eq!(skipped["reason"], "`when: false` is false");
        let by = StepId::new("b");
        let canceled = told(&RunEvent::StepCanceled { step: step.clone(), at: AT, by });
        assert_eq!(canceled["reason"], "`b` does not need it any more");
        let failed = RunEvent::StepFailed { step, at: AT, result: body(), error: error() };
        let expected = json!({"event": "step_failed", "at": AT, "step": "a", "error": "broke"});
        assert_eq!(told(&failed), expected);
    }

    #[test]
    fn a_step_that_runs_for_items_says_for_how_many_and_how_many_failed() {
        let step = || StepId::new("a");
        let expanded = RunEvent::StepExpanded { step: step(), at: AT, items: body(), count: 3 };
        let expected = json!({"event": "step_expanded", "at": AT, "step": "a", "count": 3});
        assert_eq!(told(&expanded), expected);
        let gathered = RunEvent::StepGathered { step: step(), at: AT, failed: 2 };
        let expected = json!({"event": "step_gathered", "at": AT, "step": "a", "failed": 2});
        assert_eq!(told(&gathered), expected);
    }

    #[test]
    fn a_pause_says_what_it_waits_for() {
        let (task_id, context_id) = ("t".to_owned(), "c".to_owned());
        let task = RemoteTask { task_id, context_id, interface: None };
        let (message_id, question) = (None, None);
        let pause = Pause {
            kind: PauseKind::Auth,
            message_id,
            question,
            mismatch: None,
            why: None,
            within: None,
            awaits_caller: false,
        };
        let (step, attempt) = (StepId::new("a"), 1);
        let paused = RunEvent::AttemptPaused { step, attempt, at: AT, task: Some(task), pause };
        assert_eq!(
            (&told(&paused)["waits_for"], &told(&paused)["task_id"]),
            (&json!("auth"), &json!("t"))
        );
    }

    #[test]
    fn a_canceled_attempt_says_whether_the_agent_confirmed() {
        for confirmed in [true, false] {
            let (step, attempt) = (StepId::new("a"), 1);
            let canceled = RunEvent::AttemptCanceled { step, attempt, at: AT, confirmed };
            assert_eq!(told(&canceled)["confirmed"], confirmed);
        }
    }

    #[test]
    fn the_end_of_a_run_says_how_it_ended() {
        let failure = RunError { step: Some(StepId::new("a")), error: error() };
        for (outcome, state, error) in [
            (Outcome::Completed(body()), "completed", Value::Null),
            (Outcome::Failed(failure), "failed", json!("step `a` failed (attempt 2): broke")),
            (Outcome::Canceled, "canceled", Value::Null),
        ] {
            let line = told(&RunEvent::RunFinished { at: AT, outcome });
            assert_eq!((&line["state"], &line["error"]), (&json!(state), &error));
        }
    }

    /// What follows attempts.
    fn of_turns() -> [RunEvent; 3] {
        let (step, attempt, at) = (|| StepId::new("a"), 1, AT);
        [
            RunEvent::RoundEnded {
                step: step(),
                attempt,
                round: 1,
                at,
                task: None,
                result: body(),
                next: NextRound::GiveUp { result: body(), error: error() },
            },
            RunEvent::OutcomeUnknown { step: step(), attempt, at, why: "crash".to_owned() },
            RunEvent::OutcomeChosen {
                step: step(),
                attempt,
                at,
                chosen: Chosen::Failed { error: error(), next: Next::GiveUp { result: body() } },
                said: Some(body()),
            },
        ]
    }

    fn intent() -> Intent {
        let interface = Interface {
            url: "http://x".to_owned(),
            binding: Binding::JsonRpc,
            tenant: String::new(),
            version: "1.0".to_owned(),
        };
        let callback = json!({"id": "i", "url": "http://x/i", "token": "secret"});
        let callback = serde_json::from_value(callback).expect("a callback");
        Intent {
            message_id: "m".to_owned(),
            agent: "it".to_owned(),
            interface,
            fallbacks: Vec::new(),
            streaming: true,
            message: body(),
            callback: Some(callback),
            is_sub_run: false,
        }
    }

    #[test]
    fn every_line_has_the_name_that_the_journal_gives_to_the_event_and_no_body() {
        let step = || StepId::new("a");
        let intent = Arc::new(intent());
        let (attempt, at) = (1, AT);
        let pause = || Pause {
            kind: PauseKind::Input,
            message_id: None,
            question: None,
            mismatch: None,
            why: None,
            within: None,
            awaits_caller: false,
        };
        for event in [
            RunEvent::RunAdmitted { at },
            RunEvent::RunResumed { at },
            RunEvent::CancelRequested { at },
            RunEvent::RunTimedOut { at },
            RunEvent::BudgetSpent { at, step: step() },
            RunEvent::StepCanceled { step: step(), at, by: step() },
            RunEvent::StepComputed { step: step(), at, result: body() },
            RunEvent::StepTaken { step: step(), at, state: StepState::Skipped, result: None },
            RunEvent::StepAsked { step: step(), at, pause: pause() },
            RunEvent::StepAskedAgain { step: step(), at, said: None, pause: pause() },
            RunEvent::StepAnswered { step: step(), at, said: Some(body()), result: body() },
            RunEvent::StepReused { step: step(), at, result: body(), from: from() },
            RunEvent::StepExpanded { step: step(), at, items: body(), count: 2 },
            RunEvent::StepGathered { step: step(), at, failed: 1 },
            RunEvent::AttemptStarted { step: step(), attempt, at, intent: Arc::clone(&intent) },
            RunEvent::ContextRefused { step: step(), attempt, intent: Arc::clone(&intent) },
            RunEvent::CallbackRefused { step: step(), attempt, intent: Arc::clone(&intent) },
            RunEvent::AttemptUnpaused { step: step(), attempt, at },
            RunEvent::AttemptAnswered {
                step: step(),
                attempt,
                at,
                turn: 1,
                intent,
                said: Some(body()),
            },
            RunEvent::AnswerDelivered { step: step(), attempt },
            RunEvent::CallsCounted { step: step(), attempt, calls: 2 },
            RunEvent::AnswerPassed {
                step: step(),
                attempt,
                at,
                answered: None,
                said: Some(body()),
            },
            RunEvent::StepCompleted { step: step(), attempt, at, task: None, result: body() },
        ]
        .into_iter()
        .chain(of_turns())
        {
            let journal = serde_json::to_value(&event).expect("an event is JSON");
            let name = journal.as_object().and_then(|event| event.keys().next()).expect("a name");
            let line = told(&event);
            assert_eq!(line["event"], json!(name));
            assert!(!line.to_string().contains("secret"), "{line}");
            assert_eq!(line.get("step").is_some(), event.step().is_some());
        }
    }
}
