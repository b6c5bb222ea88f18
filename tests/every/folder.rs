//! Two processes, one data folder.

use insta::assert_snapshot;
use tests::{
    agent::{Answer, Scripted, one_step},
    convoke::Convoke,
};

use crate::steady;

#[tokio::test]
async fn a_data_folder_in_use_is_left_alone_and_its_user_is_named() {
    let agent = Scripted::start(|_| Answer::Never).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendStreamingMessage", 1).await;
    let pid = format!("in use by process {}", process.pid());
    for args in
        [&["run", "w.yaml"][..], &["agents", "remove", "it"], &["serve", "--workflows", "."]]
    {
        let second = convoke.run(args).await;
        assert_eq!(second.stdout, "");
        assert!(second.stderr.contains(&pid), "{}", second.stderr);
        let _steady = steady();
        insta::allow_duplicates! {
            assert_snapshot!(second.complaint(), @r"
            exit 3
            error: the data folder FOLDER/data is in use by process PID (`convoke run w.yaml`), since TIME. Stop that process first, or use another data folder
            ");
        }
    }
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
    process.kill().await;
    convoke.run(["runs", "list"]).await.exits(0);
}

#[tokio::test]
async fn what_needs_no_data_folder_works_beside_a_run() {
    let agent = Scripted::start(|_| Answer::Never).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendStreamingMessage", 1).await;
    convoke.run(["validate", "w.yaml"]).await.exits(0);
    convoke.run(["card", "show", &agent.url]).await.exits(0);
    process.kill().await;
}
