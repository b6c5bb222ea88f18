//! How the agents of the directory do in runs: taken down in the commits that end attempts.

use std::sync::Arc;

use examples::{Kind, Options};
use jiff::Timestamp;
use protocol::auth::Vault;
use registry::{
    ApplyOptions, Decision, EvidenceSettings, FAILURES, Keyrings, Outcomes, Registry, Tier,
};

use crate::scene::{Scene, account, example, is_completed, outbound, soon, workflow};

/// A scene whose directory knows the agent at a URL as `x`.
async fn scene(url: &str) -> (Scene, Arc<Registry>) {
    let Scene { folder, store, executor } = Scene::new().await;
    let registry = Registry::open(Arc::clone(&store), outbound(), account()).await;
    let registry = Arc::new(registry.expect("the directory opens"));
    let by = Decision { who: "ada".into(), why: String::new(), at: Timestamp::now() };
    let options = ApplyOptions { approve: true, dry_run: false, by };
    let added = registry.add_url(url, Some("x"), None, &options).await.expect("it has a card");
    assert!(added.is_complete());
    let outcomes = Outcomes::new(Arc::clone(&registry), EvidenceSettings::default());
    let executor = executor.with_outcomes(outcomes);
    (Scene { folder, store, executor }, registry)
}

/// Waits until so many attempts at `x` were counted: they are, once they are committed.
async fn counted(registry: &Registry, attempts: usize) {
    soon("the outcomes", async {
        while registry.services("x").iter().map(|it| it.completed + it.failed).sum::<usize>()
            < attempts
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn work_that_is_done_proves_an_agent_and_is_stored_with_the_run() {
    let echo = example(Kind::Echo, Options::default()).await;
    let (scene, registry) = scene(&echo.url).await;
    let steps =
        "steps:\n  a: {agent: {skill: echo, name: x}, message: hi}\n  b: {agent: y, message: hi}\n";
    let other = example(Kind::Echo, Options::default()).await;
    let yaml = workflow(&[("x", &echo.url), ("y", &other.url)], steps);
    let recorded = scene.run(&yaml).await;
    assert!(is_completed(&recorded));
    counted(&registry, 1).await;
    let again = Registry::open(Arc::clone(&scene.store), outbound(), account()).await;
    for registry in [&*registry, &again.expect("the directory opens")] {
        let seen = registry.get("x").expect("it is known").seen.clone().expect("it was seen");
        assert_eq!(seen.tier, Some(Tier::Proven));
        assert_eq!(seen.why, format!("completed step `a` of run {}", recorded.id));
        let services = registry.services("x");
        assert_eq!(services.len(), 1, "{services:?}");
        assert_eq!(services[0].skill.as_deref(), Some("echo"));
        assert_eq!((services[0].completed, services[0].failed), (1, 0));
        assert!(registry.services("y").is_empty(), "that one is the workflow's own");
    }
}

#[tokio::test]
async fn failures_in_a_row_take_the_proof_away() {
    let echo = example(Kind::Echo, Options::default()).await;
    let (scene, registry) = scene(&echo.url).await;
    let steps =
        "steps:\n  a: {agent: x, message: hi, retry: {attempts: 3, backoff: {initial: 1ms}}}\n";
    let yaml = workflow(&[("x", &echo.url)], steps);
    let plan = crate::scene::plan(&yaml).await;
    let id = scene.executor.start(crate::scene::new_run(Arc::clone(&plan))).await.expect("starts");
    assert!(is_completed(&scene.ended(&id).await));
    counted(&registry, 1).await;
    assert_eq!(registry.get("x").expect("known").tier, Some(Tier::Proven));
    echo.shutdown().await.expect("it stops");
    let id = scene.executor.start(crate::scene::new_run(plan)).await.expect("it starts");
    assert!(!is_completed(&scene.ended(&id).await));
    counted(&registry, 1 + FAILURES).await;
    let agent = registry.get("x").expect("known");
    let seen = agent.seen.clone().expect("it was seen");
    assert_eq!((seen.tier, seen.was), (None, Some(Tier::Proven)));
    assert!(seen.why.starts_with("its last 3 attempts in our runs failed"), "{seen}");
    assert!(seen.why.contains("unavailable: "), "{seen}");
    assert_eq!(registry.services("x")[0].failed, FAILURES);
}

#[tokio::test]
async fn a_secret_that_is_missing_here_says_nothing_of_the_agent() {
    let echo = example(Kind::Echo, Options::default()).await;
    let (Scene { folder, store, executor }, registry) = scene(&echo.url).await;
    let keyrings = Keyrings::new(Arc::clone(&registry), outbound(), Vault::none());
    let scene = Scene { folder, store, executor: executor.with_keyrings(keyrings) };
    let plan = crate::scene::plan(&workflow(
        &[("x", &echo.url)],
        "steps:\n  a: {agent: x, message: hi}\n",
    ))
    .await;
    let id = scene.executor.start(crate::scene::new_run(Arc::clone(&plan))).await.expect("starts");
    assert!(is_completed(&scene.ended(&id).await));
    counted(&registry, 1).await;
    let text = format!(
        "agents: [{{url: '{}', name: x, credentials: [{{header: {{name: X-Key, value: {{env: CONVOKE_TEST_NO_SUCH_SECRET}}}}}}]}}]",
        echo.url
    );
    let by = Decision { who: "ada".into(), why: String::new(), at: Timestamp::now() };
    let options = ApplyOptions { approve: true, dry_run: false, by };
    let source = document::Source::new("catalog.yaml", &text);
    assert!(registry.add_file(source, &options).await.expect("it is read").is_complete());
    for _ in 0..FAILURES {
        let id = scene.executor.start(crate::scene::new_run(Arc::clone(&plan))).await;
        assert!(!is_completed(&scene.ended(&id.expect("it starts")).await));
    }
    let seen = soon("the reason", async {
        loop {
            let seen = registry.seen("x").expect("it was seen");
            if seen.unmeasured.is_some() {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(seen.tier, Some(Tier::Proven), "{seen}");
    assert!(seen.to_string().contains("CONVOKE_TEST_NO_SUCH_SECRET"), "{seen}");
    assert_eq!(registry.services("x")[0].failed, 0);
}
