//! What the agent does with a Message: a script, chosen by a prefix.
//!
//! Public suites drive a server by the messageId, people and Convoke's own tests by the first words.

use std::time::Duration;

use async_trait::async_trait;
use protocol::{
    model::metadata::ORIGIN,
    v1::{Message, Part},
};
use serde_json::json;

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Plays scripts.
pub(crate) struct Scripted;

/// One thing to do.
#[derive(Clone, Copy)]
enum Act {
    /// WORKING.
    Begin,
    /// Lets milliseconds pass.
    Wait(u64),
    /// A whole artifact.
    Give(Gift),
    /// An artifact of the Parts of the Message, as they came.
    Echo,
    /// An artifact in two pieces.
    Chunks,
    /// COMPLETED, with a word on it.
    Say(&'static str),
    /// FAILED.
    Fail(&'static str),
    /// REJECTED.
    Reject(&'static str),
    /// INPUT_REQUIRED; the Message that answers chooses what comes next.
    Ask(&'static str),
    /// AUTH_REQUIRED; the Message that answers chooses what comes next.
    AskAuthorization(&'static str),
    /// INPUT_REQUIRED again and again, until the answer is `done`.
    Turns,
    /// Until somebody cancels.
    Never,
}

/// What an artifact holds.
#[derive(Clone, Copy)]
enum Gift {
    Text(&'static str),
    File,
    FileUrl,
    Data,
}

use Act::{
    Ask, AskAuthorization, Begin, Chunks, Echo, Fail, Give, Never, Reject, Say, Turns, Wait,
};
use Gift::{Data, File, FileUrl, Text};

/// The scripts by prefix; the longest prefix counts. One that does not end otherwise ends COMPLETED.
const SCRIPTS: &[(&str, &[Act])] = &[
    ("tck-complete-task", &[Say("Hello from TCK")]),
    ("tck-input-required", &[Ask("What else?")]),
    ("tck-message-response", &[Say(DIRECT)]),
    ("tck-artifact-text", &[Give(Text("Generated text content"))]),
    ("tck-artifact-file", &[Give(File)]),
    ("tck-artifact-file-url", &[Give(FileUrl)]),
    ("tck-artifact-data", &[Give(Data)]),
    ("tck-reject-task", &[Reject("rejected")]),
    ("tck-stream-001", &[Begin, Give(Text("Stream hello from TCK"))]),
    ("tck-stream-002", &[]),
    ("tck-stream-003", &[Begin, Give(Text("Stream task lifecycle"))]),
    ("tck-stream-ordering-001", &[Begin, Give(Text("Ordered output"))]),
    ("tck-stream-artifact-text", &[Begin, Give(Text("Streamed text content"))]),
    ("tck-stream-artifact-file", &[Begin, Give(File)]),
    ("tck-stream-artifact-chunked", &[Begin, Chunks]),
    ("tck-stream-basic", &[Begin, Give(Text("Streamed text content"))]),
    ("tck-stream-chunked", &[Begin, Chunks]),
    ("test-resubscribe-message-id", &[Begin, Wait(4_000)]),
    ("tck-long-running", &[Begin, Wait(3_000), Give(Text("Long-running output"))]),
    ("tck-multi-turn", &[Turns]),
    ("tck-cancel", &[Begin, Never]),
    ("tck-task-failure", &[Fail("failed as asked")]),
    ("tck-auth-required", &[AskAuthorization("Authorize this elsewhere, then say so here.")]),
    ("echo", &[Echo]),
];

/// What is done with a Message that chooses none.
const OTHERWISE: &[Act] = &[Begin, Wait(1_000), Say("Done.")];

const DIRECT: &str = "Direct message response";

/// The word that ends [`Act::Turns`].
const LAST_WORD: &str = "done";

/// Returns the script that a Message chooses.
fn script(message: &Message) -> &'static [Act] {
    let key = key(message);
    let fitting = SCRIPTS.iter().filter(|(prefix, _)| key.starts_with(prefix));
    fitting.max_by_key(|(prefix, _)| prefix.len()).map_or(OTHERWISE, |(_, script)| *script)
}

/// By what a Message chooses. In a run of Convoke the messageId is ours, and the one that started
/// the run is kept beside it. An id that is none of a suite's chooses nothing.
fn key(message: &Message) -> String {
    let is_of_suite = |id: &&str| id.starts_with("tck-") || id.starts_with("test-resubscribe");
    let origin = message.metadata(ORIGIN).and_then(serde_json::Value::as_str).filter(is_of_suite);
    let id = Some(message.message_id.as_str()).filter(is_of_suite);
    let text = || message.parts.iter().find_map(Part::as_text).unwrap_or_default();
    origin.or(id).unwrap_or_else(text).to_owned()
}

/// What follows an act.
enum Next {
    Act,
    Message(Message),
    End(Ending),
}

impl Act {
    async fn play(self, message: &Message, work: &Work) -> Next {
        match self {
            Begin => work.say("Working"),
            Wait(milliseconds) => work.pause(Duration::from_millis(milliseconds)).await,
            Give(gift) => work.artifact("result", vec![gift.part()]),
            Echo => work.artifact("result", message.parts.clone()),
            Chunks => {
                work.piece("result", vec![Part::text("chunk-1 ")], true, false);
                work.piece("result", vec![Part::text("chunk-2")], false, true);
            }
            Say(text) => return Next::End(Ending::CompletedSaying(text.to_owned())),
            Fail(text) => return Next::End(Ending::Failed(text.to_owned())),
            Reject(text) => return Next::End(Ending::Rejected(text.to_owned())),
            Ask(question) => return Next::Message(work.ask(question).await),
            AskAuthorization(text) => return Next::Message(work.ask_authorization(text).await),
            Turns => while work.ask("Go on, or say done.").await.text().trim() != LAST_WORD {},
            Never => std::future::pending().await,
        }
        Next::Act
    }
}

impl Gift {
    fn part(self) -> Part {
        let named = |part: Part| part.with_filename("output.txt").with_media_type("text/plain");
        match self {
            Text(text) => Part::text(text),
            File => named(Part::raw(b"tck".to_vec())),
            FileUrl => named(Part::url("https://example.com/output.txt")),
            Data => Part::data(json!({"key": "value", "count": 42})),
        }
    }
}

#[async_trait]
impl Agent for Scripted {
    fn profile(&self) -> Profile {
        Profile {
            name: "conformance",
            description: "Does what a Message chooses, for suites that test A2A servers.",
            skills: vec![skill(
                "conformance",
                "Conformance",
                "Plays the script that the messageId, or the text, begins with.",
                &["conformance", "test"],
            )],
        }
    }

    fn direct_answer(&self, message: &Message) -> Option<Vec<Part>> {
        key(message).starts_with("tck-message-response").then(|| vec![Part::text(DIRECT)])
    }

    /// Suites use the same messageId for work of different tests.
    fn deduplicates(&self) -> bool {
        false
    }

    async fn work(&self, work: &Work) -> Ending {
        let mut message = work.message.clone();
        loop {
            match play(&message, work).await {
                Next::Message(answer) => message = answer,
                Next::End(ending) => return ending,
                Next::Act => return Ending::Completed,
            }
        }
    }
}

/// Plays the script that a Message chooses.
async fn play(message: &Message, work: &Work) -> Next {
    for act in script(message) {
        match act.play(message, work).await {
            Next::Act => {}
            next => return next,
        }
    }
    Next::Act
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(id: &str, text: &str) -> Message {
        Message::user(vec![Part::data(json!(1)), Part::text(text)]).with_id(id)
    }

    #[test]
    fn the_origin_chooses_before_the_id_of_a_suite_and_that_before_the_text() {
        let table = [
            (said("tck-a", "text"), "tck-a"),
            (said("test-resubscribe-message-id-7", "text"), "test-resubscribe-message-id-7"),
            (said("0000", "text"), "text"),
            (said("tck-a", "text").with_metadata(ORIGIN, "tck-o"), "tck-o"),
            (said("0000", "text").with_metadata(ORIGIN, "0001"), "text"),
        ];
        for (message, expected) in table {
            assert_eq!(key(&message), expected);
        }
    }

    #[test]
    fn the_longest_prefix_chooses() {
        let url = script(&said("tck-artifact-file-url-1", ""));
        assert!(matches!(url, [Give(FileUrl)]));
        assert!(matches!(script(&said("tck-artifact-file-1", "")), [Give(File)]));
        assert!(matches!(script(&said("tck-something-new", "")), [Begin, Wait(_), Say(_)]));
    }
}
