//! Paints, and paints over.

use async_trait::async_trait;
use protocol::v1::{Part, Task, part::Content};

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

const NAME: &str = "sailboat";
const COLORS: [&str; 6] = ["red", "blue", "green", "yellow", "black", "orange"];

/// Paints a sailboat. A Message that refers to an earlier Task of its own gets that picture again with what the
/// Message asks for: an artifact of the same name under a new id (A2A §3.4.3, refinements).
pub(super) struct Painter;

#[async_trait]
impl Agent for Painter {
    fn profile(&self) -> Profile {
        Profile {
            name: "painter",
            description: "Paints sailboats, and changes pictures it painted before.",
            skills: vec![skill(
                "paint",
                "Paint a sailboat",
                "Paints one, or repaints that of a Task the Message refers to in the color it names.",
                &["images", "painting"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text().to_lowercase();
        let color = COLORS.iter().find(|color| text.contains(*color)).copied();
        let earlier: Vec<Task> = work.referenced();
        let version = 1 + earlier.iter().filter_map(version_of).max().unwrap_or(0);
        let color = color.unwrap_or("white");
        let picture = Part {
            content: Some(Content::Raw(picture(color).into_bytes())),
            filename: format!("{NAME}.svg"),
            media_type: "image/svg+xml".to_owned(),
            ..Part::default()
        };
        let said = format!("A sailboat with a {color} sail, version {version}.");
        work.version(&format!("{NAME}-{version}"), NAME, vec![picture, Part::text(said)]);
        Ending::Completed
    }
}

/// The version of the picture that a Task made.
fn version_of(task: &Task) -> Option<u32> {
    let artifact = task.artifacts.iter().rfind(|artifact| artifact.name == NAME)?;
    artifact.artifact_id.rsplit_once('-')?.1.parse().ok()
}

fn picture(color: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 100\">\
         <path d=\"M50 10 L50 70 L85 70 Z\" fill=\"{color}\" stroke=\"black\"/>\
         <path d=\"M15 75 L85 75 L75 90 L25 90 Z\" fill=\"brown\"/></svg>"
    )
}
