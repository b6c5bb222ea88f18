//! WATCH: following a Task that is known. Nothing here sends a Message.

use std::time::Duration;

use futures_util::StreamExt;
use planner::ErrorClass;
use protocol::{
    client::{ClientError, FailureClass},
    v1::{GetTaskRequest, SubscribeToTaskRequest, stream_response::Payload},
};
use tokio::time::{Instant, sleep, timeout};

use super::{Attempt, Defeat, Ending, Follower, failure};
use crate::{callback::Hints, limits::Polls};

/// The shortest pause between two polls that hints have asked for, however many come.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two polls of an agent that cannot be reached while its Task waits for somebody.
const LONGEST_PAUSE_PAUSED: Duration = Duration::from_secs(30);
/// The longest pause that an agent may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);
/// How long one GetTask may take.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// How often in a row the agent must say that it does not know its Task, or answer what makes no sense. Queues
/// get lost on restarts, the store behind them may come up later, and meanwhile a proxy answers in its place.
const DENIALS: u32 = 3;
/// The shortest pause after such an answer.
const PAUSE_AFTER_DENIAL: Duration = Duration::from_millis(500);

impl Attempt {
    /// Subscribes where the agent streams; a subscription that ends early is a cut, and polling tells more.
    pub(super) async fn watch(&self, mut follower: Follower) -> Ending {
        if self.intent.streaming
            && let Some(ending) = self.subscribe(&mut follower).await
        {
            return ending;
        }
        self.poll(follower).await
    }

    /// Follows one subscription: `None` when it is refused or cut. One that does not begin with the Task as it is
    /// (A2A §3.1.6) tells nothing of what was missed, so that polling has to.
    async fn subscribe(&self, follower: &mut Follower) -> Option<Ending> {
        let request = SubscribeToTaskRequest {
            id: follower.task()?.task_id.clone(),
            ..SubscribeToTaskRequest::default()
        };
        // A subscription without a word is none: polling tells more.
        let left = self.left().min(self.limits.client.stream_idle);
        let mut stream = self.peer.subscribe_to_task(request, left).await.ok()?;
        let mut is_first = true;
        while let Some(Ok(event)) = stream.next().await {
            if is_first && !matches!(event.payload, Some(Payload::Task(_))) {
                return None;
            }
            is_first = false;
            let ending = follower.absorb(event);
            self.pass_on(follower, ending.as_ref()).await;
            if let Some(ending) = ending {
                return Some(ending);
            }
        }
        None
    }

    /// How a Task stands whose time was up before anybody could look: it may have ended long ago, while no process
    /// was driving the run. Nothing is sent to an agent of which no Task is known.
    pub(super) async fn look_once(&self) -> Option<Ending> {
        let mut follower = Follower::of(self.bound()?.clone());
        let task = self.peer.get_task(Self::question(&follower)?, POLL_TIMEOUT).await.ok()?;
        follower.snapshot(task)
    }

    fn question(follower: &Follower) -> Option<GetTaskRequest> {
        Some(GetTaskRequest {
            id: follower.task()?.task_id.clone(),
            history_length: Some(0),
            ..GetTaskRequest::default()
        })
    }

    /// Asks for the Task until it is over. What its agent tells meanwhile has it asked at once and is believed in
    /// nothing: only its answer counts, and without any hint it is asked all the same.
    pub(super) async fn poll(&self, mut follower: Follower) -> Ending {
        // A pause lasts for days, and so may its agent be away; only somebody's word or its own ends it.
        let is_paused = self.deadline.is_none();
        let fresh = || Patience::new(self.limits.patience, is_paused);
        let mut patience = fresh();
        let mut pauses = Pauses::new(self.limits.polls, is_paused);
        loop {
            let Some(request) = Self::question(&follower) else {
                return Ending::Failed(Defeat::new(
                    ErrorClass::Failed,
                    "the agent's Task has no id".to_owned(),
                ));
            };
            match self.peer.get_task(request, POLL_TIMEOUT).await {
                Ok(task) => {
                    patience = fresh();
                    let ending = follower.snapshot(task);
                    self.pass_on(&mut follower, ending.as_ref()).await;
                    if let Some(ending) = ending {
                        return ending;
                    }
                    rest(self.hints.as_ref(), &mut pauses).await;
                }
                Err(error) => {
                    if let Some(defeat) = patience.strain(&error) {
                        return Ending::Failed(defeat);
                    }
                    // How long an agent in trouble is left alone is not for a hint to say; one that comes meanwhile is
                    // heard at the next rest.
                    sleep(pauses.after_error(error.retry_after)).await;
                }
            }
        }
    }
}

/// Waits until the Task is looked at again: for a pause, or until the agent has told that there is news.
async fn rest(hints: Option<&Hints>, pauses: &mut Pauses) {
    let pause = pauses.after_answer();
    let Some(hints) = hints else {
        return sleep(pause).await;
    };
    let (deaf, listening) = parts(pause);
    sleep(deaf).await;
    if timeout(listening, hints.heard()).await.is_ok() {
        // It does send them: they are waited for from here on, and a lost one costs a longer pause at most.
        *pauses = pauses.after_hint(hints.longest_pause);
    }
}

/// How long no hint is heard of a pause, and how long one is.
fn parts(pause: Duration) -> (Duration, Duration) {
    let deaf = pause.min(LEAST_PAUSE);
    (deaf, pause - deaf)
}

/// The pauses between two polls: each half as long again as the one before.
#[derive(Clone, Copy)]
struct Pauses {
    first: Duration,
    next: Duration,
    longest: Duration,
    /// The longest while the agent cannot be reached.
    longest_away: Duration,
}

impl Pauses {
    fn new(polls: Polls, is_paused: bool) -> Self {
        let Polls { first, longest } = polls;
        let longest_away = if is_paused { LONGEST_PAUSE_PAUSED } else { longest };
        Self { first, next: first, longest, longest_away }
    }

    fn after_answer(&mut self) -> Duration {
        let pause = self.next.min(self.longest);
        self.next = pause.mul_f32(1.5).min(self.longest);
        pause
    }

    /// They begin anew, and grow further.
    fn after_hint(self, longest: Duration) -> Self {
        Self { next: self.first, longest: longest.max(self.longest), ..self }
    }

    /// An agent may ask for a longer one.
    fn after_error(&mut self, asked: Option<Duration>) -> Duration {
        let pause = self.next.min(self.longest_away).max(PAUSE_AFTER_DENIAL);
        self.next = pause.mul_f32(1.5).min(self.longest_away);
        pause.max(asked.unwrap_or_default().min(LONGEST_ASKED))
    }
}

/// Decides when an error while watching is believed.
struct Patience {
    since: Instant,
    /// How long the agent may be unreachable.
    most: Duration,
    /// Whether its Task waits for somebody: then only its own word, said for as long as `most`, is believed.
    is_paused: bool,
    denials: u32,
}

impl Patience {
    fn new(most: Duration, is_paused: bool) -> Self {
        Self { since: Instant::now(), most, is_paused, denials: 0 }
    }

    fn strain(&mut self, error: &ClientError) -> Option<Defeat> {
        let defeat = failure::defeat(error);
        match error.class {
            FailureClass::Unavailable | FailureClass::Timeout | FailureClass::RateLimited => {
                (!self.is_paused && self.is_used_up()).then_some(defeat)
            }
            FailureClass::Internal | FailureClass::InvalidResponse => {
                (!self.is_paused && self.is_denied()).then_some(defeat)
            }
            // The agent has lost the Task: nothing is left there to cancel, and another attempt may help.
            FailureClass::NotFound => {
                let is_lost = self.is_denied() && (!self.is_paused || self.is_used_up());
                is_lost.then_some(Defeat {
                    remote_ended: true,
                    class: ErrorClass::Unavailable,
                    ..defeat
                })
            }
            FailureClass::Invalid | FailureClass::Unauthorized | FailureClass::Unsupported => {
                Some(defeat)
            }
        }
    }

    fn is_used_up(&self) -> bool {
        self.since.elapsed() >= self.most
    }

    fn is_denied(&mut self) -> bool {
        self.denials += 1;
        self.denials >= DENIALS
    }
}

#[cfg(test)]
mod tests {
    use protocol::{client::Delivery, operation::Operation};

    use super::*;

    fn error(class: FailureClass) -> ClientError {
        ClientError {
            operation: Operation::GetTask,
            class,
            kind: None,
            retry_after: None,
            delivery: Delivery::Answered,
            is_ours: false,
            message: "no".to_owned(),
            remote: None,
        }
    }

    /// The how-manieth error of a kind in a row ends the attempt.
    fn endurance(class: FailureClass, most: Duration, is_paused: bool) -> String {
        let mut patience = Patience::new(most, is_paused);
        let end = (1..10).find(|_| patience.strain(&error(class)).is_some());
        end.map_or("-".to_owned(), |end| end.to_string())
    }

    fn seconds(mut next: impl FnMut() -> Duration) -> String {
        let pauses = (0..14).map(|_| format!("{:.2}", next().as_secs_f32()));
        pauses.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pauses_grow_and_those_of_an_agent_that_is_away_from_a_waiting_task_to_half_a_minute() {
        let new = |is_paused| Pauses::new(Polls::default(), is_paused);
        let (mut works, mut waits, mut answers) = (new(false), new(true), new(true));
        let minute = Duration::from_secs(60);
        let mut hinted = new(false).after_hint(minute);
        let lines = [
            seconds(|| answers.after_answer()),
            seconds(|| works.after_error(None)),
            seconds(|| waits.after_error(None)),
            seconds(|| hinted.after_answer()),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        0.05 0.08 0.11 0.17 0.25 0.38 0.57 0.85 1.28 1.92 2.00 2.00 2.00 2.00
        0.50 0.75 1.12 1.69 2.00 2.00 2.00 2.00 2.00 2.00 2.00 2.00 2.00 2.00
        0.50 0.75 1.12 1.69 2.53 3.80 5.70 8.54 12.81 19.22 28.83 30.00 30.00 30.00
        0.05 0.08 0.11 0.17 0.25 0.38 0.57 0.85 1.28 1.92 2.88 4.32 6.49 9.73
        ");
        assert_eq!(waits.after_answer(), Polls::default().longest, "who is back is asked as ever");
        let last = std::iter::repeat_with(|| hinted.after_answer()).nth(10);
        assert_eq!(last, Some(minute));
        assert_eq!(
            hinted.after_error(None),
            Polls::default().longest,
            "an agent in trouble is as any"
        );
        assert_eq!(hinted.after_hint(minute).after_answer(), Polls::default().first);
        let asked = |seconds| new(false).after_error(Some(Duration::from_secs(seconds)));
        assert_eq!(
            [0, 7, 3600].map(asked),
            [PAUSE_AFTER_DENIAL, Duration::from_secs(7), LONGEST_ASKED]
        );
    }

    #[test]
    fn a_task_that_waits_for_somebody_is_given_up_only_at_its_agents_word() {
        use FailureClass as C;
        let (none, long) = (Duration::ZERO, Duration::from_secs(3600));
        let lines: Vec<String> = [
            C::Unavailable,
            C::Timeout,
            C::RateLimited,
            C::Internal,
            C::InvalidResponse,
            C::NotFound,
            C::Invalid,
            C::Unauthorized,
            C::Unsupported,
        ]
        .map(|class| {
            let works = [none, long].map(|most| endurance(class, most, false));
            let waits = [none, long].map(|most| endurance(class, most, true));
            format!("{class:?}: works {}, waits {}", works.join(" "), waits.join(" "))
        })
        .into();
        insta::assert_snapshot!(lines.join("\n"), @r"
        Unavailable: works 1 -, waits - -
        Timeout: works 1 -, waits - -
        RateLimited: works 1 -, waits - -
        Internal: works 3 3, waits - -
        InvalidResponse: works 3 3, waits - -
        NotFound: works 3 3, waits 3 -
        Invalid: works 1 1, waits 1 1
        Unauthorized: works 1 1, waits 1 1
        Unsupported: works 1 1, waits 1 1
        ");
    }

    #[test]
    fn hints_are_heard_once_a_twentieth_of_a_second_is_over() {
        let parts = |pause| parts(Duration::from_millis(pause));
        let expected = |deaf, rest| (Duration::from_millis(deaf), Duration::from_millis(rest));
        assert_eq!(parts(2_000), expected(50, 1_950));
        assert_eq!(parts(20), expected(20, 0));
    }

    #[tokio::test]
    async fn however_many_hints_come_there_is_a_pause_between_two_looks() {
        let callbacks = crate::Callbacks::new("https://convoke.example", Duration::ZERO);
        let callback = callbacks.draw();
        let listening = callbacks.open(&callback, "https://agent.example");
        let awaited = callbacks.find(&callback.config().id).expect("it is open");
        let hints = listening.hints();
        let mut pauses = Pauses::new(Polls::default(), false);
        for _ in 0..3 {
            awaited.hint();
            let rest = std::pin::pin!(rest(Some(&hints), &mut pauses));
            assert!(
                futures_util::poll!(rest).is_pending(),
                "a hint that is there does not end it at once"
            );
        }
    }
}
