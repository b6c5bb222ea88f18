//! Takes its time.

use std::time::Duration;

use async_trait::async_trait;
use protocol::v1::Part;

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Works for the first delay in the text (`3s`, `250ms`, `2m`), then answers with the text.
pub(super) struct Slow {
    /// The delay of a text that names none.
    pub(super) delay: Duration,
}

#[async_trait]
impl Agent for Slow {
    fn profile(&self) -> Profile {
        Profile {
            name: "slow",
            description: "Finishes after a while; can be canceled meanwhile.",
            skills: vec![skill(
                "wait",
                "Wait",
                "Works for as long as the text says, for example 3s.",
                &["slow", "waiting"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text();
        let delay = text.split_whitespace().find_map(delay).unwrap_or(self.delay);
        let line = format!("Working for {} ms", delay.as_millis());
        work.say(&line);
        work.pause(delay).await;
        work.artifact("result", vec![Part::text(text)]);
        Ending::Completed
    }
}

/// `3s` and the like, with a stop or comma after it or not.
fn delay(word: &str) -> Option<Duration> {
    let word = word.trim_end_matches(['.', ',', ';']);
    let unit = word.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = word.split_at(unit);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_a_number_and_its_unit() {
        assert_eq!(delay("3s"), Some(Duration::from_secs(3)));
        assert_eq!(delay("250ms,"), Some(Duration::from_millis(250)));
        assert_eq!(delay("2m."), Some(Duration::from_secs(120)));
        for word in ["3", "s", "three", "3h", "-3s", ""] {
            assert_eq!(delay(word), None, "{word}");
        }
    }
}
