//! An agent's error in answer to a Message, as it is handed on.

use std::{collections::BTreeMap, time::Duration};

use protocol::{
    client::{ClientError, FailureClass},
    error::{Error, ErrorKind, FieldViolation},
};
use serde::{Deserialize, Serialize};

use crate::report::clip;

/// How many field violations are kept, and how many values for programs.
const MOST: usize = 32;

/// The A2A error that an agent answered to a Message instead of a Task. Persisted with the failure of the attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Its kind, by the reason that stands for it (A2A §9.5).
    pub reason: String,
    /// The agent's words; our own where it had none.
    pub message: String,
    /// Values for programs, such as `requiredExtensions`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What is wrong with the Message: paths of fields, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<(String, String)>,
    /// How long the agent asks to be left alone, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Refusal {
    /// Keeps what an agent answered; `None` for a failure that is not the agent's own word.
    pub(crate) fn of(error: &ClientError) -> Option<Self> {
        let remote = error.remote.as_deref();
        let said = remote.map(|remote| remote.message.as_str()).filter(|said| !said.is_empty());
        let metadata = remote.into_iter().flat_map(|remote| &remote.metadata).take(MOST);
        let violations = remote.into_iter().flat_map(|remote| &remote.violations).take(MOST);
        let is_no_a2a = error.class == FailureClass::InvalidResponse;
        let kind = error.kind.or(is_no_a2a.then_some(ErrorKind::InvalidAgentResponse))?;
        Some(Self {
            reason: kind.row().reason.to_owned(),
            message: clip(said.unwrap_or(&error.message)),
            metadata: metadata.map(|(key, value)| (clip(key), clip(value))).collect(),
            violations: violations.map(|it| (clip(&it.field), clip(&it.description))).collect(),
            retry_after_ms: error
                .retry_after
                .map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    /// The kind; `None` for one that this version does not know.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        ErrorKind::from_reason(&self.reason)
    }

    /// The same error as another kind: what the agent said, field by field.
    #[must_use]
    pub fn error(&self, kind: ErrorKind) -> Error {
        let violation = |(field, description): &(String, String)| FieldViolation {
            field: field.clone(),
            description: description.clone(),
        };
        Error {
            metadata: self.metadata.clone(),
            violations: self.violations.iter().map(violation).collect(),
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            ..Error::new(kind, self.message.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{client::Delivery, operation::Operation};

    use super::*;

    fn answered(remote: Option<Error>) -> ClientError {
        ClientError {
            operation: Operation::SendMessage,
            class: FailureClass::Invalid,
            kind: remote.as_ref().map(|remote| remote.kind),
            retry_after: remote.as_ref().and_then(|remote| remote.retry_after),
            delivery: Delivery::Answered,
            is_ours: false,
            message: "http://agent answered: no".to_owned(),
            remote: remote.map(Box::new),
        }
    }

    #[test]
    fn an_error_comes_back_from_the_journal_as_the_agent_answered_it() {
        let violations = vec![FieldViolation {
            field: "message.parts".to_owned(),
            description: "is empty".to_owned(),
        }];
        let said = Error {
            violations,
            retry_after: Some(Duration::from_millis(1_500)),
            ..Error::new(ErrorKind::InvalidParams, "no").with_metadata("key", "value")
        };
        let refusal = Refusal::of(&answered(Some(said.clone()))).expect("it is an answer");
        let kept = serde_json::to_string(&refusal).expect("JSON");
        let refusal: Refusal = serde_json::from_str(&kept).expect("a refusal");
        assert_eq!(refusal.kind(), Some(ErrorKind::InvalidParams));
        assert_eq!(refusal.error(ErrorKind::InvalidParams), said);
    }

    #[test]
    fn a_failure_without_a_kind_is_no_answer_and_an_answer_without_words_gets_ours() {
        assert_eq!(Refusal::of(&answered(None)), None);
        let silent = Refusal::of(&answered(Some(Error::internal("")))).expect("it is an answer");
        assert_eq!(silent.message, "http://agent answered: no");
    }

    #[test]
    fn a_novel_is_cut() {
        let text = "é".repeat(5_000);
        let mut novel = Error::internal(text.as_str());
        for key in 0..100 {
            novel = novel.with_metadata(&key.to_string(), "value");
        }
        let refusal = Refusal::of(&answered(Some(novel))).expect("it is an answer");
        assert_eq!((refusal.message.as_str(), refusal.metadata.len()), (&*clip(&text), MOST));
        assert!(refusal.message.len() < text.len());
    }
}
