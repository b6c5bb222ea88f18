//! Drafts, reviews, translates and sums up: what is done with texts.

use async_trait::async_trait;
use protocol::v1::{Message, Part, Task};
use serde_json::json;

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

const DRAFT: &str = "draft";
/// The most words of a sentence that a review lets pass.
const LONG_SENTENCE: usize = 20;

/// Does what the first word of a Message asks for: `Draft`, `Translate`, `Review`; anything else is summed up.
pub(super) struct Writer;

#[async_trait]
impl Agent for Writer {
    fn profile(&self) -> Profile {
        let skills = [
            (
                "draft",
                "Draft a text",
                "Drafts, or improves the draft of a Task the Message refers to, and says how good it finds it (score).",
                "drafting",
            ),
            ("review", "Review a text", "Says what is to be mended in a text.", "review"),
            (
                "translate",
                "Translate a text",
                "Translates what follows `Translate into LANGUAGE:`.",
                "translation",
            ),
            ("sum-up", "Sum up", "Makes one text of all that it is sent.", "synthesis"),
        ];
        let skills = skills.map(|(id, name, says, tag)| skill(id, name, says, &["texts", tag]));
        Profile { name: "writer", description: "Works with texts.", skills: skills.into() }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text();
        let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        match verb.to_lowercase().as_str() {
            "draft" | "improve" => draft(work, rest),
            "review" => review(work, rest),
            "translate" => return translate(work, rest),
            _ => sum_up(work),
        }
        Ending::Completed
    }
}

/// Another version of an earlier draft is better than the one before.
fn draft(work: &Work, topic: &str) {
    let earlier: Vec<Task> = work.referenced();
    let version = 1 + earlier.iter().filter_map(version_of).max().unwrap_or(0);
    let score = 10.min(3 + 2 * version);
    let said = format!("Draft {version}: {}", topic.trim());
    let details = json!({"version": version, "score": score, "remarks": remarks(score)});
    let parts = vec![Part::text(said), Part::data(details)];
    work.version(&format!("{DRAFT}-{version}"), DRAFT, parts);
}

/// The version of the draft that a Task made.
fn version_of(task: &Task) -> Option<u32> {
    let artifact = task.artifacts.iter().rfind(|artifact| artifact.name == DRAFT)?;
    artifact.artifact_id.rsplit_once('-')?.1.parse().ok()
}

fn remarks(score: u32) -> Vec<&'static str> {
    let all = ["name a source", "shorter sentences", "begin with what matters"];
    all.into_iter().take((10_u32.saturating_sub(score) / 2) as usize).collect()
}

fn review(work: &Work, instruction: &str) {
    let parts = work.message.parts.iter().skip(1);
    let texts: Vec<&str> = parts.filter_map(|part| part.as_text()).collect();
    let text = if texts.is_empty() { instruction.to_owned() } else { texts.join("\n") };
    let mut findings = Vec::new();
    for sentence in text.split(['.', '!', '?', '\n']).map(str::trim) {
        let words = sentence.split_whitespace().count();
        if words > LONG_SENTENCE {
            findings.push(format!("a sentence of {words} words is hard to read"));
        }
        if sentence.contains("TODO") {
            findings.push(format!("unfinished: {sentence}"));
        }
    }
    let said = match findings.is_empty() {
        true => "Nothing to mend.".to_owned(),
        false => findings.join("\n"),
    };
    work.artifact("review", vec![Part::text(said), Part::data(json!({ "findings": findings }))]);
}

fn translate(work: &Work, rest: &str) -> Ending {
    let asked = rest.trim().strip_prefix("into ").and_then(|rest| rest.split_once(':'));
    let Some((language, text)) = asked else {
        return Ending::Rejected("Say it like this: Translate into LANGUAGE: TEXT".to_owned());
    };
    let (language, text) = (language.trim(), text.trim());
    let said = Part::text(format!("[{language}] {text}"));
    work.artifact("translation", vec![said, Part::data(json!({ "language": language }))]);
    Ending::Completed
}

fn sum_up(work: &Work) {
    let lines = lines(&work.message);
    let (title, findings) =
        lines.split_first().map_or(("", &[][..]), |(title, rest)| (title, rest));
    let list: Vec<String> = findings.iter().map(|finding| format!("- {finding}")).collect();
    let said = format!("{title}\n{}", list.join("\n"));
    work.artifact(
        "summary",
        vec![Part::text(said.trim()), Part::data(json!({"findings": findings.len()}))],
    );
}

/// The texts of a Message, each on one line.
fn lines(message: &Message) -> Vec<String> {
    let texts = message.parts.iter().filter_map(|part| part.as_text());
    texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
