//! Where secrets come from, and where they do not go.

use insta::assert_snapshot;

use super::*;

async fn read(source: SecretSource) -> String {
    match source.read().await {
        Ok(secret) => secret.expose().to_owned(),
        Err(why) => format!("! {why}"),
    }
}

fn command(words: &[&str]) -> SecretSource {
    SecretSource::Command(words.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn secrets_come_from_the_environment_files_and_commands() {
    let path = std::env::var("PATH").expect("tests have one");
    assert_eq!(read(SecretSource::Env("PATH".to_owned())).await, path);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("key");
    for (written, secret) in [("s\n", "s"), ("s\r\n", "s"), ("s", "s"), (" s \n\n", " s \n")] {
        std::fs::write(&file, written).expect("a file");
        assert_eq!(read(SecretSource::File(file.clone())).await, secret);
    }
    assert_eq!(read(command(&["printf", "%s\n", "a b"])).await, "a b");
}

#[tokio::test]
async fn a_secret_that_cannot_be_had_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone");
    let said =
        read(SecretSource::File(gone)).await.replace(&*folder.path().to_string_lossy(), "DIR");
    let all = [
        read(SecretSource::Env("CONVOKE_TEST_UNSET".to_owned())).await,
        said,
        read(command(&["false"])).await,
        read(command(&["/no/such/program"])).await,
        read(command(&["true"])).await,
        read(command(&[])).await,
    ];
    assert_snapshot!(all.join("\n"), @"
    ! the environment variable CONVOKE_TEST_UNSET is not set; set it
    ! the file DIR/gone cannot be read: No such file or directory (os error 2)
    ! the command `false` failed (exit status: 1)
    ! the command `/no/such/program` cannot be started: No such file or directory (os error 2)
    ! what the command `true` prints is empty
    ! the command is empty
    ");
}

#[test]
fn no_formatter_and_no_serializer_writes_a_secret() {
    let credentials = vec![
        Credential::header("X-Door", Secret::new("planted")),
        Credential::bearer(value("planted")),
    ];
    let keyring =
        Keyring::new(&outbound(), "it", (credentials.clone(), vec![]), None, Vault::none());
    let shown = format!("{keyring:?} {credentials:?} {} {}", credentials[0], credentials[1]);
    assert!(!shown.contains("planted"), "{shown}");
    assert!(serde_json::to_string(&credentials).is_err());
    let kept = Credential::bearer(SecretSource::Env("NAME".to_owned()));
    let json = serde_json::to_string(&kept).expect("a reference can be written");
    assert_eq!(json, r#"{"scheme":null,"method":{"bearer":{"env":"NAME"}}}"#);
    assert_eq!(serde_json::from_str::<Credential>(&json).expect("it is read back"), kept);
}

#[tokio::test]
async fn an_exchanged_secret_is_read_again_when_the_old_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, "old").expect("a file");
    let agent =
        Guarded::start(|headers, _| has(headers, header::AUTHORIZATION, "Bearer new")).await;
    for binding in Binding::ALL {
        let credentials = vec![Credential::bearer(SecretSource::File(file.clone()))];
        let keyring = agent.keyring(credentials, &AgentCard::default());
        std::fs::write(&file, "old").expect("a file");
        let client = agent.client(binding, &keyring);
        call(&client).await.expect_err("the old one is refused");
        let before = agent.count();
        std::fs::write(&file, "new").expect("a file");
        call(&client).await.unwrap_or_else(|error| panic!("{binding}: {error}"));
        // Refused, sent again, and the stream.
        assert_eq!(agent.count() - before, 3, "{binding}");
    }
}

#[tokio::test]
async fn an_exchanged_secret_is_noticed_after_a_while() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    let url = "https://it.example/".parse().expect("a URL");
    let given = (
        vec![Credential::bearer(SecretSource::File(file.clone()))],
        vec!["https://it.example".parse().expect("an origin")],
    );
    let keyring = Keyring::new(&outbound(), "it", given, None, Vault::none());
    std::fs::write(&file, "old").expect("a file");
    let old = keyring.proof(&url).await.expect("a proof");
    std::fs::write(&file, "new").expect("a file");
    assert!(keyring.proof(&url).await.expect("a proof").is_same(&old));
    keyring.inner.age_secrets(Duration::from_secs(301));
    assert!(!keyring.proof(&url).await.expect("a proof").is_same(&old));
}
