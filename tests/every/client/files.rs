//! Files that agents answer with.

use std::fs;

use tests::{
    agent::{FILE_BYTES, Mirror, file},
    convoke::Convoke,
};

use super::BINDINGS;

#[tokio::test]
async fn a_file_of_ten_megabytes_arrives_whole_by_every_binding_as_bytes_and_by_its_address() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    for binding in BINDINGS {
        for (text, flags) in [("bytes", &[][..]), ("bytes", &["--stream"]), ("url", &[])] {
            let out = tempfile::tempdir().expect("a temporary folder");
            let folder = out.path().to_str().expect("its path is text");
            let args = ["send", &mirror.url, text, "--binding", binding, "--out", folder];
            let done = convoke.run(args.iter().chain(flags)).await.exits(0);
            let path = out.path().join("big.bin");
            assert_eq!(done.stdout, format!("{}\n", path.display()), "{binding} {text}");
            assert!(
                fs::read(&path).expect("it was written") == file(),
                "{binding} {text} {flags:?}"
            );
        }
    }
}

#[tokio::test]
async fn bytes_never_reach_the_terminal() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let done = convoke.run(["send", &mirror.url, "bytes"]).await.exits(0);
    assert_eq!(done.stdout, format!("[{FILE_BYTES} bytes of application/octet-stream]\n"));
    assert!(done.stderr.contains("--out DIR"), "{}", done.stderr);
}

#[tokio::test]
async fn a_task_that_is_read_or_followed_gives_its_files_too() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    convoke.run(["task", "get", &mirror.url, "file", "--out", "got"]).await.exits(0);
    assert!(fs::read(convoke.folder().join("got/big.bin")).expect("it was written") == file());
    let followed = convoke.run(["task", "subscribe", &mirror.url, "t", "--out", "followed"]).await;
    assert_eq!(followed.exits(0).stdout, "followed/answer.txt\n");
    let text = fs::read_to_string(convoke.folder().join("followed/answer.txt"));
    assert_eq!(text.expect("it was written"), "Hello.");
}

#[tokio::test]
async fn pieces_of_a_text_become_one_file_and_a_message_becomes_one_too() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    for binding in BINDINGS {
        let args = ["send", &mirror.url, "Count.", "--stream", "--binding", binding];
        let shown = convoke.run(args).await.exits(0);
        assert_eq!(shown.stdout, "Grüße, \n世界 \n🌍\n", "{binding}");
        convoke.run(args.iter().chain(&["--out", binding])).await.exits(0);
        let written = fs::read_to_string(convoke.folder().join(binding).join("answer.txt"));
        assert_eq!(written.expect("it was written"), "Grüße, 世界 🌍", "{binding}");
        let args = ["send", &mirror.url, "direct", "--binding", binding];
        assert_eq!(convoke.run(args).await.exits(0).stdout, "Grüße, 世界 🌍\n");
    }
    convoke.run(["send", &mirror.url, "direct", "--out", "said"]).await.exits(0);
    let written = fs::read_to_string(convoke.folder().join("said/message.txt"));
    assert_eq!(written.expect("it was written"), "Grüße, 世界 🌍");
}

#[tokio::test]
async fn a_file_that_is_not_where_the_agent_says_is_named() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let done = convoke.run(["send", &mirror.url, "nowhere", "--out", "out"]).await.exits(3);
    assert!(
        done.stderr.contains("/files/none.bin answered with HTTP status 404"),
        "{}",
        done.stderr
    );
    // Without a folder, the address is the answer.
    let done = convoke.run(["send", &mirror.url, "nowhere"]).await.exits(0);
    assert_eq!(done.stdout, format!("{}/files/none.bin\n", mirror.url));
}
