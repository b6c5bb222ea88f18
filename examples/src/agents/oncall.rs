//! Who is asked when something breaks: one that knows databases, one that knows a little of everything, and one that tells
//! people.

use async_trait::async_trait;
use protocol::v1::Part;
use serde_json::json;

use super::booking;
use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

const DATABASE_WORDS: [&str; 5] = ["database", "sql", "query", "replica", "deadlock"];

/// Diagnoses incidents of databases, and refuses all others.
pub(super) struct Specialist;

#[async_trait]
impl Agent for Specialist {
    fn profile(&self) -> Profile {
        Profile {
            name: "specialist",
            description: "Diagnoses incidents of databases.",
            skills: vec![skill(
                "diagnose-database",
                "Diagnose a database",
                "Says what is wrong with a database; refuses everything else.",
                &["incidents", "diagnosis", "databases"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text().to_lowercase();
        if !DATABASE_WORDS.iter().any(|word| text.contains(word)) {
            return Ending::Rejected("This is nothing of a database.".to_owned());
        }
        diagnose(work, "database", 2);
        Ending::Completed
    }
}

/// Diagnoses whatever it is.
pub(super) struct Generalist;

#[async_trait]
impl Agent for Generalist {
    fn profile(&self) -> Profile {
        Profile {
            name: "generalist",
            description: "Diagnoses incidents of any kind, with less in depth.",
            skills: vec![skill(
                "diagnose",
                "Diagnose an incident",
                "Says what is probably wrong.",
                &["incidents", "diagnosis", "general"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        diagnose(work, "unknown", 3);
        Ending::Completed
    }
}

fn diagnose(work: &Work, component: &str, severity: u32) {
    let text = work.text();
    let severity = if text.to_lowercase().contains("down") { 1 } else { severity };
    let said = format!("Severity {severity}, component {component}: {text}");
    let details = json!({"component": component, "severity": severity});
    work.artifact("diagnosis", vec![Part::text(said), Part::data(details)]);
}

/// Tells people.
pub(super) struct Notifier;

#[async_trait]
impl Agent for Notifier {
    fn profile(&self) -> Profile {
        Profile {
            name: "notifier",
            description: "Tells people what they have to know.",
            skills: vec![skill(
                "notify",
                "Tell people",
                "Sends a notice, or takes one back when the Message begins with `Withdraw`.",
                &["notify"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text();
        let notice = booking::reference("NOTICE", &text);
        work.artifact(
            "notice",
            vec![Part::text(format!("Sent: {text}")), Part::data(json!({"notice": notice}))],
        );
        Ending::Completed
    }
}
