use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::Redirect,
    routing::get,
};
use tokio::net::TcpListener;

use super::{FetchLimits, Outbound, OutboundError, Policy, guard::Lookup};

/// Serves a router on loopback and counts what reaches it.
async fn serve(router: Router) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

/// A look-up that gives the next of its answers each time, and the last one for ever.
fn answers(list: &'static [&'static str]) -> Lookup {
    let asked = Arc::new(AtomicUsize::new(0));
    Arc::new(move |_| {
        let turn = asked.fetch_add(1, Ordering::SeqCst).min(list.len().saturating_sub(1));
        let addresses =
            list.get(turn).map(|all| all.split(' ').map(parse).collect()).unwrap_or_default();
        Box::pin(async move { Ok(addresses) })
    })
}

fn parse(address: &str) -> IpAddr {
    address.parse().expect("the tests name addresses")
}

fn local() -> Outbound {
    Outbound::new(Policy::loopback()).expect("a client can be built")
}

fn limits() -> FetchLimits {
    FetchLimits { timeout: Duration::from_secs(5), ..FetchLimits::default() }
}

#[test]
fn literal_addresses_are_judged_in_every_spelling() {
    let outbound = Outbound::new(Policy::default()).expect("a client can be built");
    let table = [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://0/",
        "http://10.0.0.1:8080/x",
        "http://169.254.169.254/latest/meta-data",
        "https://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://１２７.0.0.1/",
        "http://[64:ff9b::7f00:1]/",
        "http://[::]/",
        "http://192.168.1.1./",
    ];
    for url in table {
        assert!(
            matches!(outbound.check(url), Err(OutboundError::Refused { .. })),
            "{url}: {:?}",
            outbound.check(url)
        );
    }
    assert!(outbound.check("https://1.1.1.1/").is_ok());
    assert!(outbound.check("https://example.com/").is_ok());
}

#[test]
fn urls_that_cannot_be_called_say_why() {
    let outbound = local();
    let said = |url| outbound.check(url).expect_err("not callable").to_string();
    insta::assert_snapshot!([said("file:///etc/passwd"), said("no url"), said("http://me:secret@example.com/"), said("gopher://x/"), said("http://")].join("\n"), @r"
    file:///etc/passwd is not a URL that can be called: its scheme is file, not http or https
    no url is not a URL that can be called: relative URL without a base
    http://example.com/ is not a URL that can be called: it holds credentials
    gopher://x/ is not a URL that can be called: its scheme is gopher, not http or https
    http:// is not a URL that can be called: empty host
    ");
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_before_anything_is_sent() {
    for answer in [&["10.0.0.1"], &["169.254.169.254"], &["127.0.0.1"], &["::ffff:10.0.0.1"]]
        as [&'static [&'static str]; 4]
    {
        let outbound = Outbound::with_lookup(Policy::default(), answers(answer))
            .expect("a client can be built");
        let error = outbound.fetch("http://agent.example/", limits()).await.expect_err("refused");
        assert!(matches!(error, OutboundError::Refused { .. }), "{answer:?}: {error}");
    }
}

#[tokio::test]
async fn the_refusal_says_what_and_what_to_do() {
    let outbound = Outbound::with_lookup(Policy::default(), answers(&["10.0.0.1"]))
        .expect("a client can be built");
    let error = outbound.fetch("http://agent.example/card", limits()).await.expect_err("refused");
    insta::assert_snapshot!(error, @"http://agent.example/card leads to 10.0.0.1, which is a private address and not allowed; if it is meant, allow its network in the configuration");
}

#[tokio::test]
async fn an_answer_that_changes_is_judged_when_it_is_used() {
    // The agent closes each connection, so the second call looks the name up again.
    let port = serve(
        Router::new().route("/", get(|| async { ([(header::CONNECTION, "close")], "hello") })),
    )
    .await;
    let lookup = answers(&["127.0.0.1", "10.0.0.1"]);
    let outbound =
        Outbound::with_lookup(Policy::loopback(), lookup).expect("a client can be built");
    let url = format!("http://rebinding.example:{port}/");
    let first = outbound.fetch(&url, limits()).await.expect("the first answer is allowed");
    assert_eq!(first.body, "hello");
    let error = outbound.fetch(&url, limits()).await.expect_err("the second is not");
    assert!(matches!(error, OutboundError::Refused { range: "private", .. }), "{error}");
}

#[tokio::test]
async fn refused_answers_beside_an_allowed_one_are_left_out() {
    let port = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let outbound =
        Outbound::with_lookup(Policy::loopback(), answers(&["10.0.0.1 127.0.0.1 fd00::1"]))
            .expect("a client can be built");
    let fetched = outbound
        .fetch(&format!("http://mixed.example:{port}/"), limits())
        .await
        .expect("one is allowed");
    assert_eq!(fetched.body, "hello");
}

#[tokio::test]
async fn a_name_without_addresses_says_so() {
    let outbound =
        Outbound::with_lookup(Policy::default(), answers(&[])).expect("a client can be built");
    let error = outbound.fetch("http://nowhere.example/", limits()).await.expect_err("no address");
    insta::assert_snapshot!(error, @"http://nowhere.example/ cannot be reached: the name nowhere.example was not resolved (it has no addresses)");
}

#[tokio::test]
async fn redirects_are_followed_and_each_hop_is_judged() {
    let router = Router::new()
        .route("/old", get(|| async { Redirect::permanent("/new") }))
        .route("/new", get(|| async { "found" }))
        .route("/inside", get(|| async { Redirect::temporary("http://10.0.0.1/secret") }))
        .route("/file", get(|| async { Redirect::temporary("file:///etc/passwd") }))
        .route("/loop", get(|| async { Redirect::temporary("/loop") }))
        .route("/nowhere", get(|| async { StatusCode::FOUND }));
    let port = serve(router).await;
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let fetched = local().fetch(&at("/old"), limits()).await.expect("one hop");
    assert_eq!((fetched.url.as_str(), &fetched.body[..]), (at("/new").as_str(), &b"found"[..]));
    let error = local().fetch(&at("/inside"), limits()).await.expect_err("leads inside");
    assert!(matches!(error, OutboundError::Refused { .. }), "{error}");
    let error = local().fetch(&at("/file"), limits()).await.expect_err("no HTTP");
    assert!(matches!(error, OutboundError::Url { .. }), "{error}");
    let error = local().fetch(&at("/loop"), limits()).await.expect_err("endless");
    assert_eq!(
        error.to_string(),
        format!("{0} was redirected more than 5 times, last to {0}", at("/loop"))
    );
    let error = local().fetch(&at("/nowhere"), limits()).await.expect_err("no target");
    assert!(
        error
            .to_string()
            .ends_with("redirects in a way that cannot be followed: it names no target"),
        "{error}"
    );
}

#[tokio::test]
async fn no_redirect_is_followed_where_none_is_allowed() {
    let router = Router::new()
        .route("/", get(|| async { Redirect::permanent("/new") }))
        .route("/new", get(|| async { "x" }));
    let url = format!("http://127.0.0.1:{}/", serve(router).await);
    let none = FetchLimits { max_redirects: 0, ..limits() };
    let error = local().fetch(&url, none).await.expect_err("one too many");
    assert!(matches!(error, OutboundError::TooManyRedirects { limit: 0, .. }), "{error}");
}

#[tokio::test]
async fn a_body_over_the_cap_is_given_up_with_and_without_a_length() {
    let streamed = || async {
        let pieces =
            futures_util::stream::iter((0..100).map(|_| Ok::<_, std::io::Error>([b'x'; 1000])));
        axum::body::Body::from_stream(futures_util::StreamExt::map(pieces, |piece| {
            piece.map(|bytes| bytes.to_vec())
        }))
    };
    let router = Router::new()
        .route("/known", get(|| async { "x".repeat(100_000) }))
        .route("/streamed", get(streamed));
    let port = serve(router).await;
    for path in ["known", "streamed"] {
        let url = format!("http://127.0.0.1:{port}/{path}");
        let small = FetchLimits { max_bytes: 99_999, ..limits() };
        let error = local().fetch(&url, small).await.expect_err("too large");
        assert_eq!(error.to_string(), format!("the answer of {url} is larger than 99999 bytes"));
        let enough = FetchLimits { max_bytes: 100_000, ..limits() };
        assert_eq!(local().fetch(&url, enough).await.expect("just fits").body.len(), 100_000);
    }
}

#[tokio::test]
async fn an_agent_that_never_answers_costs_no_more_than_the_deadline() {
    let router = Router::new().route("/", get(std::future::pending::<&'static str>));
    let url = format!("http://127.0.0.1:{}/", serve(router).await);
    let short = FetchLimits { timeout: Duration::from_millis(50), ..limits() };
    let error = local().fetch(&url, short).await.expect_err("too late");
    assert_eq!(error.to_string(), format!("{url} did not answer within 50ms"));
}

#[tokio::test]
async fn nothing_listening_is_a_failure_to_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    drop(listener);
    let url = format!("http://127.0.0.1:{port}/");
    let error = local().fetch(&url, limits()).await.expect_err("nobody there");
    assert_eq!(
        error.to_string(),
        format!(
            "{url} cannot be reached: Connection refused (os error 111); is it running, and is the address right?"
        )
    );
}

#[tokio::test]
async fn loopback_is_closed_unless_the_policy_opens_it() {
    let port = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let closed = Outbound::new(Policy::default()).expect("a client can be built");
    for host in ["127.0.0.1", "localhost"] {
        let error =
            closed.fetch(&format!("http://{host}:{port}/"), limits()).await.expect_err("closed");
        assert!(matches!(error, OutboundError::Refused { range: "loopback", .. }), "{error}");
    }
    assert!(local().fetch(&format!("http://localhost:{port}/"), limits()).await.is_ok());
}

#[tokio::test]
async fn a_connection_that_is_never_made_ends_at_its_own_deadline() {
    // The look-up hangs: connecting includes it.
    let lookup: Lookup = Arc::new(|_| Box::pin(std::future::pending()));
    let policy = Policy { connect_timeout: Duration::from_millis(50), ..Policy::default() };
    let outbound = Outbound::with_lookup(policy, lookup).expect("a client can be built");
    let error = outbound.fetch("http://slow.example/", limits()).await.expect_err("no connection");
    assert!(error.to_string().contains("no connection within 50ms"), "{error}");
    assert!(matches!(error, OutboundError::Connect { .. }), "{error:?}");
}

#[tokio::test]
async fn the_agent_is_told_who_calls() {
    async fn agent(State(()): State<()>, headers: http::HeaderMap) -> String {
        headers[header::USER_AGENT].to_str().expect("ASCII").to_owned()
    }
    let port = serve(Router::new().route("/", get(agent)).with_state(())).await;
    let fetched =
        local().fetch(&format!("http://127.0.0.1:{port}/"), limits()).await.expect("answers");
    assert_eq!(fetched.body, concat!("convoke/", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_redirect_may_lead_to_https_but_not_away_from_it() {
    let outbound = local();
    let hop = |from: &str, to: &'static str| {
        let response = http::Response::builder().status(302).header(header::LOCATION, to).body("");
        let response = reqwest::Response::from(response.expect("a response"));
        outbound.next_hop(&from.parse().expect("a URL"), &response)
    };
    let next = hop("http://a.example/", "https://a.example/").expect("followed").expect("a hop");
    assert_eq!(next.as_str(), "https://a.example/");
    let error = hop("https://a.example/card", "http://a.example/").expect_err("not followed");
    insta::assert_snapshot!(error, @"https://a.example/card redirects in a way that cannot be followed: it leads from https to http://a.example/, which is not protected");
}

#[tokio::test]
async fn a_server_without_tls_is_not_called_by_https() {
    let port = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let error = local().fetch(&format!("https://127.0.0.1:{port}/"), limits()).await;
    let error = error.expect_err("it speaks no TLS");
    // Without root certificates on the machine it does not even come to that.
    let is_named = matches!(error, OutboundError::Connect { .. } | OutboundError::Setup { .. });
    assert!(is_named, "{error:?}");
}

#[tokio::test]
async fn headers_of_a_fetch_stay_behind_where_a_redirect_leads_to_another_origin() {
    let key =
        |headers: http::HeaderMap| headers.get("x-key").map_or("none", |_| "the key").to_owned();
    let other = serve(Router::new().fallback(async move |headers| key(headers))).await;
    let elsewhere = format!("http://127.0.0.1:{other}/");
    let router = Router::new()
        .route("/own", get(async || Redirect::temporary("/read")))
        .route("/read", get(async move |headers| key(headers)))
        .route("/other", get(async move || Redirect::temporary(&elsewhere)));
    let port = serve(router).await;
    let headers = http::HeaderMap::from_iter([(
        http::HeaderName::from_static("x-key"),
        http::HeaderValue::from_static("k"),
    )]);
    for (path, read) in [("read", "the key"), ("own", "the key"), ("other", "none")] {
        let url = format!("http://127.0.0.1:{port}/{path}");
        let fetched = local().fetch_with(&url, &headers, limits()).await.expect("an answer");
        assert_eq!(fetched.body, read, "{path}");
    }
}
