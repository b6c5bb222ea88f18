//! Secrets that an agent was shown, taken out of what it says: an agent that repeats its caller's credential, in an
//! error or in what it made, must not have it end up in a log, a journal or with another client.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::HeaderMap;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::Secret;
use crate::error::Error;

/// What stands in place of a secret.
const HIDDEN: &str = "[hidden]";

/// The shortest secret that is looked for, in bytes: a shorter one is a word that stands anywhere.
const SHORTEST: usize = 8;

/// Fields whose values are names by which things are asked for again: another word in their place would name nothing.
const IDS: [&str; 10] = [
    "id",
    "taskId",
    "contextId",
    "messageId",
    "artifactId",
    "referenceTaskIds",
    "task_id",
    "context_id",
    "message_id",
    "artifact_id",
];

/// Fields whose content is made by the agent, whatever names it gives to the fields in it.
const CONTENT: [&str; 4] = ["parts", "content", "data", "metadata"];

/// Why an answer cannot be taken that repeats a secret: where it stands, nothing can be put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// In an id, by the name of its field.
    Id(String),
    /// In the bytes of a file.
    Bytes,
}

/// Secrets that may stand in what an agent answers.
#[derive(Clone, Default)]
pub(crate) struct Hidden(Vec<String>);

impl Hidden {
    pub(crate) fn new(secrets: impl IntoIterator<Item = Secret>) -> Hidden {
        let mut hidden = Hidden::default();
        for secret in secrets {
            hidden.add(secret.expose());
        }
        hidden
    }

    /// Adds the values of headers that are marked as sensitive.
    #[must_use]
    pub(crate) fn with_headers(mut self, headers: &HeaderMap) -> Hidden {
        for value in headers.values().filter(|value| value.is_sensitive()) {
            if let Ok(value) = value.to_str() {
                self.add(value);
            }
        }
        self
    }

    /// Adds a secret and the forms in which it is sent: in a URL, and without the name of its scheme.
    fn add(&mut self, secret: &str) {
        let schemes = ["Bearer ", "Basic "];
        let bare = schemes.iter().find_map(|scheme| secret.strip_prefix(scheme)).unwrap_or(secret);
        let pair = STANDARD.decode(bare).ok().and_then(|pair| String::from_utf8(pair).ok());
        let password = pair.as_deref().and_then(|pair| pair.split_once(':')).map(|(_, it)| it);
        for form in [Some(secret), Some(bare), password].into_iter().flatten() {
            let in_url: String = form_urlencoded::byte_serialize(form.as_bytes()).collect();
            let in_path = in_url.replace('+', "%20");
            for form in [form.to_owned(), in_url, in_path] {
                if form.len() >= SHORTEST && !self.0.contains(&form) {
                    self.0.push(form);
                }
            }
        }
        // Where one holds another, the whole of it goes.
        self.0.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// A text without them.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for form in &self.0 {
            if text.contains(form.as_str()) {
                text = Cow::Owned(text.replace(form.as_str(), HIDDEN));
            }
        }
        text
    }

    /// The body of a document without them, however its JSON writes them.
    pub(crate) fn body(&self, body: Bytes) -> Bytes {
        self.searched(&body).map_or(body, |(hidden, _)| hidden)
    }

    /// The body of an answer, in which things have ids, without them.
    pub(crate) fn answer(&self, body: Bytes) -> Result<Bytes, Repeated> {
        match self.searched(&body) {
            None => Ok(body),
            Some((hidden, None)) => Ok(hidden),
            Some((_, Some(id))) => Err(Repeated::Id(id)),
        }
    }

    /// What a body is without them, and the first id that holds one; nothing when there are none in it.
    fn searched(&self, body: &Bytes) -> Option<(Bytes, Option<String>)> {
        if self.0.is_empty() {
            return None;
        }
        let text = String::from_utf8_lossy(body);
        let is_there = self.0.iter().any(|form| text.contains(form.as_str()));
        // Letters may be written as numbers, and strokes with another before them.
        if !is_there && !text.contains("\\u") && !text.contains("\\/") {
            return None;
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(json) => Some((self.json(&json)?.to_string().into(), self.id(&json, None))),
            Err(_) if is_there => Some((self.text(&text).into_owned().into(), None)),
            Err(_) => None,
        }
    }

    /// A message without them, which came in another form than JSON.
    pub(crate) fn message<T: Serialize + DeserializeOwned>(
        &self,
        message: T,
    ) -> Result<T, Repeated> {
        if self.0.is_empty() {
            return Ok(message);
        }
        let json = serde_json::to_value(&message).map_err(|_| Repeated::Bytes)?;
        match (self.json(&json), self.id(&json, None)) {
            (_, Some(id)) => Err(Repeated::Id(id)),
            (Some(hidden), None) => serde_json::from_value(hidden).map_err(|_| Repeated::Bytes),
            (None, None) => Ok(message),
        }
    }

    /// The name of the first id that holds one; `named` is the field that the JSON stands in, where that is an id.
    fn id(&self, json: &Value, named: Option<&str>) -> Option<String> {
        match json {
            Value::String(text) => {
                named.filter(|_| matches!(self.text(text), Cow::Owned(_))).map(str::to_owned)
            }
            Value::Array(items) => items.iter().find_map(|item| self.id(item, named)),
            Value::Object(fields) => fields
                .iter()
                .filter(|(name, _)| !CONTENT.contains(&name.as_str()))
                .find_map(|(name, value)| {
                    self.id(value, Some(name.as_str()).filter(|name| IDS.contains(name)))
                }),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    /// An agent's error without them.
    pub(crate) fn error(&self, error: &mut Error) {
        let hide = |text: &mut String| *text = self.text(text).into_owned();
        hide(&mut error.message);
        error.metadata.values_mut().for_each(hide);
        for violation in &mut error.violations {
            hide(&mut violation.field);
            hide(&mut violation.description);
        }
    }

    /// JSON without them; nothing when it holds none.
    fn json(&self, json: &Value) -> Option<Value> {
        match json {
            Value::String(text) => match self.text(text) {
                Cow::Owned(text) => Some(text.into()),
                Cow::Borrowed(_) => None,
            },
            Value::Array(items) => {
                let hidden: Vec<_> = items.iter().map(|item| self.json(item)).collect();
                hidden.iter().any(Option::is_some).then(|| {
                    let items = items.iter().zip(hidden);
                    items.map(|(item, hidden)| hidden.unwrap_or_else(|| item.clone())).collect()
                })
            }
            Value::Object(fields) => {
                let mut is_changed = false;
                let hidden: Map<_, _> = fields
                    .iter()
                    .map(|(name, value)| {
                        let (name, hidden) = (self.text(name), self.json(value));
                        is_changed |= matches!(name, Cow::Owned(_)) || hidden.is_some();
                        (name.into_owned(), hidden.unwrap_or_else(|| value.clone()))
                    })
                    .collect();
                is_changed.then_some(Value::Object(hidden))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;
    use crate::v1::{Message, Part, part::Content};

    fn hidden(secrets: &[&str]) -> Hidden {
        Hidden::new(secrets.iter().map(|secret| Secret::new(*secret)))
    }

    fn body(hidden: &Hidden, body: &str) -> String {
        String::from_utf8(hidden.body(Bytes::from(body.to_owned())).to_vec()).unwrap()
    }

    #[test]
    fn a_secret_is_hidden_in_every_form_in_which_it_was_sent() {
        let it = hidden(&["planted/key+1=", "Bearer planted-token"]);
        for said in [
            "no planted/key+1= is good",
            "/?key=planted%2Fkey%2B1%3D",
            "Authorization: Bearer planted-token",
            "the token planted-token",
        ] {
            let told = it.text(said);
            assert!(told.contains(HIDDEN) && !told.contains("planted"), "{told}");
        }
        assert_eq!(it.text("nothing of it"), "nothing of it");
        // The whole, and not what another one is of it.
        let it = hidden(&["planted-1", "planted-1-more"]);
        assert_eq!(it.text("planted-1-more"), HIDDEN);
    }

    #[test]
    fn of_a_pair_the_password_is_hidden_as_well() {
        let pair = STANDARD.encode("me:planted-password");
        let it = hidden(&[&format!("Basic {pair}")]);
        assert_eq!(it.text(&format!("{pair} planted-password")), format!("{HIDDEN} {HIDDEN}"));
    }

    #[test]
    fn json_is_searched_however_it_writes_a_letter() {
        let it = hidden(&["planted/key="]);
        for said in [
            r#"{"a": ["planted/key="]}"#,
            r#"{"a": ["planted\/key\u003d"]}"#,
            r#"{"a": ["\u0070lanted/key="]}"#,
        ] {
            assert_eq!(body(&it, said), json!({ "a": [HIDDEN] }).to_string(), "{said}");
        }
        assert_eq!(body(&it, r#"{"planted/key=":1}"#), json!({ HIDDEN: 1 }).to_string());
        assert_eq!(body(&it, "<p>planted/key=</p>"), format!("<p>{HIDDEN}</p>"));
        for same in [r#"{ "a" : "\u0061\/" }"#, r#"{"n": 1.0}"#, "", "\\u no JSON"] {
            assert_eq!(body(&it, same), same, "not a byte of anything else is touched");
        }
    }

    #[test]
    fn short_secrets_are_left_because_they_stand_anywhere() {
        assert_eq!(hidden(&["a", "1234567"]).text("a 1234567"), "a 1234567");
    }

    #[test]
    fn headers_count_when_they_are_sensitive() {
        let mut secret = HeaderValue::from_static("planted-header");
        secret.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert("x-key", secret);
        headers.insert("x-open", HeaderValue::from_static("known-to-all"));
        let it = Hidden::default().with_headers(&headers);
        assert_eq!(it.text("planted-header known-to-all"), format!("{HIDDEN} known-to-all"));
    }

    #[test]
    fn messages_and_errors_are_searched_everywhere() {
        let it = hidden(&["planted-key"]);
        let message = Message::agent(vec![
            Part::text("planted-key"),
            Part::data(json!({ "planted-key": ["planted-key", 1] })),
        ]);
        let told = serde_json::to_string(&it.message(message.clone()).unwrap()).unwrap();
        assert!(told.contains(HIDDEN) && !told.contains("planted"), "{told}");
        let other = Message::agent(vec![Part::text("nothing")]);
        assert_eq!(it.message(other.clone()), Ok(other));
        // What its bytes spell in base64 cannot be taken out of them.
        let bytes = STANDARD.decode("plantedXkeyX").unwrap();
        let raw = Part { content: Some(Content::Raw(bytes)), ..Part::default() };
        let answer = hidden(&["plantedXkeyX"]).message(Message::agent(vec![raw]));
        assert_eq!(answer, Err(Repeated::Bytes));

        let mut error =
            Error::invalid_field("planted-key", "planted-key").with_metadata("k", "planted-key");
        it.error(&mut error);
        assert!(!format!("{error:?}").contains("planted"), "{error:?}");
    }

    #[test]
    fn an_answer_with_a_secret_in_an_id_is_not_taken_because_another_id_names_nothing() {
        let it = hidden(&["planted-key"]);
        let answer = |json: &str| it.answer(Bytes::from(json.to_owned()));
        for (json, id) in [
            (r#"{"result": {"task": {"id": "t-planted-key"}}}"#, "id"),
            (r#"{"statusUpdate": {"taskId": "planted\u002dkey"}}"#, "taskId"),
            (r#"{"message": {"messageId": "1", "contextId": "planted-key"}}"#, "contextId"),
            (r#"{"history": [{"referenceTaskIds": ["1", "planted-key"]}]}"#, "referenceTaskIds"),
            (r#"{"artifact": {"artifactId": "planted-key"}}"#, "artifactId"),
            (r#"{"task_id": "planted-key"}"#, "task_id"),
        ] {
            assert_eq!(answer(json), Err(Repeated::Id(id.to_owned())), "{json}");
        }
        // What the agent made has ids of its own, which nobody asks for.
        let made = r#"{"id":"1","parts":[{"data":{"id":"planted-key"}}]}"#;
        let hidden = r#"{"id":"1","parts":[{"data":{"id":"[hidden]"}}]}"#;
        assert_eq!(answer(made), Ok(Bytes::from(hidden)));
        assert_eq!(answer(r#"{ "id" : "1" }"#), Ok(Bytes::from(r#"{ "id" : "1" }"#)));

        let message = Message::agent(vec![]).with_context("planted-key");
        assert_eq!(it.message(message), Err(Repeated::Id("contextId".to_owned())));
    }
}
