//! The skill `find-agents`: the agent directory answers a Message with what it finds, as `GET /v1/agents` does.

use planner::{is_accepted, media_type};
use protocol::{
    error::{Error, ErrorKind, FieldViolation},
    model::metadata,
    v1::{AgentSkill, Message, Part, SendMessageRequest},
};
use serde_json::{Value, json};

use crate::{
    Delegation, Workflows,
    directory::{Find, Parameters, View, Wrong, wire::HitOut, wire::Listed},
    skills::{self, OwnSkills},
};

/// The id of the skill.
pub(crate) const NAME: &str = "find-agents";

/// What it takes and yields.
const MODES: [&str; 2] = ["text/plain", "application/json"];

/// The longest description of an agent in the text of an answer, in characters.
const LONGEST: usize = 200;

/// The skill as cards show it.
pub(crate) fn skill() -> AgentSkill {
    let modes = || MODES.map(str::to_owned).into();
    AgentSkill {
        id: NAME.to_owned(),
        name: "Find agents".to_owned(),
        description: "Searches the agent directory: text says what for; a data Part has the conditions, as tag, \
                      skill, input_mode or min_evidence. Answers with the agents that fit, best first, and why."
            .to_owned(),
        tags: vec!["directory".to_owned(), "agents".to_owned()],
        examples: vec![
            "book a hotel room".to_owned(),
            json!({ "tag": ["travel"], "min_evidence": "conformant", "facets": true }).to_string(),
        ],
        input_modes: modes(),
        output_modes: modes(),
        ..AgentSkill::default()
    }
}

/// Whether a Message is for the skill: it names it, or names nothing and there is nothing else that its sender may
/// start. A follow-up goes to its Task.
pub(crate) fn is_meant(
    (offered, startable, own): (bool, &Workflows, &OwnSkills),
    tenant: &str,
    request: &SendMessageRequest,
) -> bool {
    let is_first = request.message.as_ref().is_some_and(|message| message.task_id.is_empty());
    if !offered || !is_first {
        return false;
    }
    match skills::named(request, tenant) {
        Some((_, name)) => name == Some(NAME),
        None => {
            let is_for_an_agent = matches!(own.delegation, Delegation::To(_))
                || skills::stated(request, metadata::AGENT).is_some();
            own.finds_agents && startable.is_empty() && !is_for_an_agent
        }
    }
}

/// What is found for a Message, in the forms that its sender accepts.
///
/// # Errors
/// InvalidParams with everything that is wrong with the conditions; ContentTypeNotSupported for a Part that is neither
/// text nor data, and when neither of these is accepted.
pub(crate) fn answer(view: &View, request: &SendMessageRequest) -> Result<Message, Error> {
    let Some(message) = &request.message else {
        return Err(Error::invalid_field("message", "is required"));
    };
    let Find { query, token } = Find::of(conditions(message)?).map_err(|wrong| refused(&wrong))?;
    let found = view.page(query, token.as_deref()).map_err(|wrong| refused(&[wrong]))?;
    let data = data(&found).map_err(|error| Error::internal(error.to_string()))?;
    let parts = [Part::data(data), Part::text(told(&found))];
    let accepts = request.configuration.as_ref().map_or(&[][..], |it| &it.accepted_output_modes);
    let parts: Vec<Part> = parts.into_iter().filter(|part| is_accepted(part, accepts)).collect();
    if parts.is_empty() {
        let why = format!(
            "configuration.acceptedOutputModes takes {}, and {NAME} yields: {}",
            accepts.join(", "),
            MODES.join(", ")
        );
        return Err(Error::new(ErrorKind::ContentTypeNotSupported, why));
    }
    Ok(Message::agent(parts).with_context(message.context_id.as_str()))
}

/// What was found as the API writes it: a score has as many digits as there.
fn data(found: &Listed) -> serde_json::Result<Value> {
    serde_json::from_str(&serde_json::to_string(found)?)
}

/// What a Message asks for: its text as the words, its data as the parameters of `GET /v1/agents`.
fn conditions(message: &Message) -> Result<Parameters, Error> {
    let (mut pairs, mut wrong) = (Vec::new(), Vec::new());
    let text = message.text();
    if !text.trim().is_empty() {
        pairs.push(("q".to_owned(), text.trim().to_owned()));
    }
    for (at, part) in message.parts.iter().enumerate() {
        let field = || format!("message.parts[{at}]");
        match (part.as_text(), part.as_data()) {
            (Some(_), _) => (),
            (_, Some(Value::Object(conditions))) => {
                for (name, value) in conditions {
                    match words(value) {
                        Some(words) => {
                            pairs.extend(words.into_iter().map(|word| (name.clone(), word)));
                        }
                        None => {
                            wrong.push(Wrong::new(name, "has to be a text, or a list of texts"));
                        }
                    }
                }
            }
            (_, Some(_)) => {
                let why = "has to be an object with conditions, such as {\"tag\": \"travel\"}";
                return Err(Error::invalid_field(field(), why));
            }
            (None, None) => {
                let why =
                    format!("{} is {}, and {NAME} takes text and data", field(), media_type(part));
                return Err(Error::new(ErrorKind::ContentTypeNotSupported, why)
                    .with_metadata("mediaType", media_type(part)));
            }
        }
    }
    if wrong.is_empty() { Ok(Parameters::of(pairs)) } else { Err(refused(&wrong)) }
}

/// The values of a condition; `null` is none.
fn words(value: &Value) -> Option<Vec<String>> {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    match value {
        Value::Null => Some(Vec::new()),
        Value::Array(values) => values.iter().map(word).collect(),
        value => word(value).map(|word| vec![word]),
    }
}

/// What is wrong with conditions.
fn refused(wrong: &[Wrong]) -> Error {
    let violation = |wrong: &Wrong| FieldViolation {
        field: format!("message.parts.data.{}", wrong.name),
        description: wrong.message.clone(),
    };
    Error::invalid_fields(wrong.iter().map(violation).collect())
}

/// What was found, for people.
fn told(found: &Listed) -> String {
    let head = match (found.total, found.agents.len()) {
        (0, _) => return "No agent of the directory fits.".to_owned(),
        (1, _) => "1 agent fits.".to_owned(),
        (total, shown) if total == shown => format!("{total} agents fit, best first."),
        (total, shown) => format!("{total} agents fit, best first; these are {shown} of them."),
    };
    let lines: String = found.agents.iter().map(line).collect();
    let more = found.next_page_token.as_ref();
    let more = more.map(|token| format!("\nFor more, ask again with the page_token {token}."));
    format!("{head}{lines}{}", more.unwrap_or_default())
}

/// One hit. What a card says is a stranger's: it stays in its line.
fn line(hit: &HitOut) -> String {
    let agent = &hit.agent;
    let tier = agent.evidence.as_ref().and_then(|seen| seen.tier);
    let tier = tier.map(|tier| format!(", {tier}")).unwrap_or_default();
    let mut line =
        format!("\n- {} ({}{tier}): {}", agent.name, agent.standing, short(&agent.description));
    for (what, words) in [("skills", agent.skills.clone()), ("found by", hit.why.clone())] {
        if !words.is_empty() {
            line += &format!("; {what} {}", short(&words.join(", ")));
        }
    }
    if !agent.url.is_empty() {
        line += &format!("; {}", agent.url);
    }
    line
}

/// A text in one line and no longer than is good for a list.
fn short(text: &str) -> String {
    let line = text.split(|char: char| char.is_whitespace() || char.is_control());
    let line = line.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(parts: Vec<Part>) -> Result<(registry::Query, Option<String>), String> {
        let read = conditions(&Message::user(parts))
            .and_then(|it| Find::of(it).map_err(|wrong| refused(&wrong)));
        read.map(|find| (find.query, find.token)).map_err(|error| error.message)
    }

    #[test]
    fn text_is_looked_for_and_data_has_the_conditions_of_the_api() {
        let data = json!({ "tag": ["a", "b"], "skill": "s", "page_size": 3, "facets": true, "page_token": "t", "q": null });
        let (query, token) =
            asked(vec![Part::text(" two "), Part::text("words"), Part::data(data)]).unwrap();
        let expected = Find::of(Parameters::read(Some(
            "q=two+%0Awords&tag=a&tag=b&skill=s&page_size=3&facets=true&page_token=t",
        )));
        let Ok(expected) = expected else { panic!("it is right") };
        assert_eq!((query, token), (expected.query, expected.token));
        assert_eq!(asked(vec![Part::data(json!({ "q": "x" }))]).unwrap().0.text, "x");
        assert_eq!(asked(Vec::new()).unwrap().0.text, "");
    }

    #[test]
    fn what_is_no_condition_is_refused_with_the_nearest_name() {
        let wrong = |data: Value| asked(vec![Part::data(data)]).unwrap_err();
        assert_eq!(
            wrong(json!({ "tags": "a", "state": "good" })),
            "invalid parameters: message.parts.data.state: is one of proposed, approved, deprecated, retired, \
             rejected, suspended; message.parts.data.tags: is not known here; did you mean `tag`?"
        );
        assert!(
            wrong(json!({ "tag": { "a": 1 } }))
                .contains("data.tag: has to be a text, or a list of texts")
        );
        assert!(wrong(json!([1])).contains("message.parts[0]: has to be an object"));
        let twice = asked(vec![Part::text("a"), Part::data(json!({ "q": "b" }))]).unwrap_err();
        assert!(twice.contains("data.q: is given more than once"), "{twice}");
        let file = asked(vec![Part::raw(*b"x")]).unwrap_err();
        assert!(file.contains("message.parts[0] is application/octet-stream"), "{file}");
    }

    #[test]
    fn what_cards_say_stays_in_one_line_and_short() {
        assert_eq!(short("a\n\n- b\u{1b}[1m\tc"), "a - b [1m c");
        assert_eq!(short(&"x".repeat(LONGEST + 1)).chars().count(), LONGEST + 1);
        assert_eq!(short(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
    }
}
