//! Kills of `convoke serve` while a client sends, follows, answers and cancels. The next server takes over the folder
//! and the port, and the client goes on where it stood.

mod client;

use std::time::Duration;

use serde_json::Value;
use tests::{PATIENCE, convoke::Process, journal::Journal};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use self::client::{Caller, Told};
use super::{
    KILLS_OF_ONE_RUN,
    draw::Draw,
    judge::{Snapshot, Trial},
    scene::{Scene, Shape, Stage},
    series,
};

const KILLS: u64 = 30;
/// Series of this module.
const SHARES: u64 = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_whose_server_is_killed_at_random_ends_as_if_undisturbed() {
    kill("serve, chain", Shape::Chain, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_without_streams_whose_server_is_killed_at_random_ends_as_if_undisturbed() {
    kill("serve, chain without streams", Shape::Chain, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diamond_whose_server_is_killed_at_random_ends_as_if_undisturbed() {
    kill("serve, diamond", Shape::Diamond, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diamond_without_streams_whose_server_is_killed_at_random_ends_as_if_undisturbed() {
    kill("serve, diamond without streams", Shape::Diamond, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_whose_server_is_killed_at_random_ends_as_if_undisturbed() {
    kill("serve, fan-out", Shape::FanOut, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_without_streams_whose_server_is_killed_at_random_ends_as_if_undisturbed() {
    kill("serve, fan-out without streams", Shape::FanOut, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_that_a_client_answers_between_random_kills_end_as_if_undisturbed() {
    kill("serve, pauses", Shape::Pauses, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_without_streams_that_a_client_answers_between_random_kills_end_as_if_undisturbed() {
    kill("serve, pauses without streams", Shape::Pauses, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_a_client_cancels_between_random_kills_leaves_nothing_behind() {
    kill("serve, cancel", Shape::Endless, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_without_streams_that_a_client_cancels_between_random_kills_leaves_nothing_behind() {
    kill("serve, cancel without streams", Shape::Endless, false).await;
}

async fn kill(name: &str, shape: Shape, streaming: bool) {
    let scene = Scene { shape, streaming };
    let mut calm = Calm::watch(scene).await;
    series(name, KILLS, SHARES, async |draw, about| {
        let case = Case::begin(scene, draw, about).await;
        case.play(&mut calm).await
    })
    .await;
}

/// How a Task goes whose server nobody disturbs.
struct Calm {
    /// From the start of the server until it listens.
    start: Duration,
    /// From then until the client has what it wants.
    last: Duration,
    result: Value,
}

impl Calm {
    async fn watch(scene: Scene) -> Self {
        let started = Instant::now();
        let mut case = Case::begin(scene, Draw::of(0), "undisturbed".to_owned()).await;
        let start = started.elapsed();
        let result = case.result().await;
        let last = started.elapsed().saturating_sub(start);
        let calls = case.stage.calls();
        assert!(calls.values().all(|sent| sent.len() == 1), "{calls:?}");
        Self { start, last, result }
    }
}

/// One Task, whose server is killed, perhaps more than once.
struct Case {
    scene: Scene,
    stage: Stage,
    /// None between a kill and the next start.
    server: Option<Process>,
    port: u16,
    caller: JoinHandle<Value>,
    told: Told,
    draw: Draw,
    about: String,
    kills: Vec<Snapshot>,
}

impl Case {
    /// Starts a server, and a client of it.
    async fn begin(scene: Scene, mut draw: Draw, about: String) -> Self {
        let stage = scene.set().await;
        let mut server = serve(&stage, 0);
        let port = listening(&mut server).await;
        let caller = Caller::new(port, scene, Draw::of(draw.next()), &about);
        let told = caller.told.clone();
        let caller = tokio::spawn(caller.play());
        let (server, kills) = (Some(server), Vec::new());
        Self { scene, stage, server, port, caller, told, draw, about, kills }
    }

    /// Kills and starts servers until the client has what it wants; returns how many kills hit the run.
    async fn play(mut self, calm: &mut Calm) -> usize {
        let began = Instant::now();
        let mut left = if self.draw.one_in(2) { 1 } else { KILLS_OF_ONE_RUN };
        while left > 0 {
            sleep(self.draw.within(calm.last)).await;
            if self.caller.is_finished() {
                break;
            }
            self.kill(calm.start, &mut left).await;
        }
        let result = self.result().await;
        if self.kills.is_empty() {
            calm.last = began.elapsed();
        }
        self.stop().await;
        let Self { scene, stage, about, kills, .. } = self;
        assert_eq!(result, calm.result, "{about}: another result");
        Trial { scene, stage: &stage, kills: &kills, about: &about }.judge().await;
        kills.len()
    }

    /// Kills the server and starts the next one, which may be killed while it takes up the run.
    async fn kill(&mut self, start: Duration, left: &mut usize) {
        loop {
            *left -= 1;
            self.stop().await;
            self.look().await;
            let mut server = serve(&self.stage, self.port);
            let is_next = *left > 0 && self.draw.one_in(3);
            if is_next {
                sleep(self.draw.within(start)).await;
            } else {
                listening(&mut server).await;
            }
            self.server = Some(server);
            if !is_next {
                return;
            }
        }
    }

    async fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill().await;
        }
    }

    /// Compares what the client was told with what is on disk, and keeps that.
    async fn look(&mut self) {
        // All that the client hears now was sent before the kill.
        let calls = self.stage.calls();
        let journal = Journal::read(&self.stage.convoke.data()).await;
        self.told.judge(journal.as_ref(), &self.about);
        match journal {
            Some(journal) => self.kills.push(Snapshot { journal, calls }),
            None => assert!(calls.is_empty(), "{}: sent before it was written down", self.about),
        }
    }

    /// Waits until the client has what it wants.
    async fn result(&mut self) -> Value {
        let result = timeout(PATIENCE, &mut self.caller).await;
        let result = result.unwrap_or_else(|_| panic!("{}: the Task does not end", self.about));
        result.unwrap_or_else(|why| panic!("{}: {why}", self.about))
    }
}

/// Starts a server; port 0 takes a free one.
fn serve(stage: &Stage, port: u16) -> Process {
    stage.convoke.start(["serve", "--listen", &format!("127.0.0.1:{port}")])
}

/// Waits until a server listens, and returns its port.
async fn listening(server: &mut Process) -> u16 {
    let line = server.until("its card: http://").await;
    let (_, port) = line.split_once("http://127.0.0.1:").expect("the line that was waited for");
    let (port, _) = port.split_once('/').expect("a path follows");
    port.parse().expect("a port")
}
