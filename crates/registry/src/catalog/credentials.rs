//! `credentials` and `origins` of an agent: what it is called with, and where that may go.

use std::path::{Path, PathBuf};

use document::{Diagnostic, Entry as Field, Node, Value};
use protocol::auth::{
    Credential, Flow, Issuer, Method, OAuthClient, Origin, SecretSource, TokenExchange,
};
use url::Url;

use super::Reader;
use crate::brought::folder_of;

const METHODS: [&str; 7] =
    ["api_key", "header", "basic", "bearer", "oauth2", "token_exchange", "certificate"];
const SOURCES: &str =
    "write where it is kept: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, ARGUMENT]}`";

impl Reader<'_> {
    /// Reads credentials. Its problems name their place and do not show it: a secret may stand in the
    /// line after all, and that may be what is wrong.
    pub(super) fn credentials(&mut self, field: &Field) -> Vec<Credential> {
        let before = self.problems.len();
        let credentials = match &field.value.value {
            Value::Null => Vec::new(),
            Value::Sequence(items) => {
                items.iter().filter_map(|item| self.credential(item)).collect()
            }
            _ => {
                self.wrong_type(field, "a list of credentials");
                Vec::new()
            }
        };
        for problem in &mut self.problems[before..] {
            let labels = std::mem::take(&mut problem.labels);
            if let Some(label) = labels.first() {
                problem.message.push_str(&format!(" ({})", self.source.place(label.span)));
            }
        }
        credentials
    }

    pub(super) fn origins(&mut self, field: &Field) -> Vec<Origin> {
        let texts = self.texts(field);
        let mut origins = Vec::new();
        for text in texts {
            match text.parse::<Origin>() {
                Ok(origin) => origins.push(origin),
                Err(error) => self.bad_value("catalog::origin", &error.to_string(), field),
            }
        }
        origins
    }

    fn credential(&mut self, item: &Node) -> Option<Credential> {
        let Some(fields) = item.as_mapping() else {
            let problem = Diagnostic::error("catalog::wrong-type", "a credential is a mapping")
                .at(item.head_span(), "")
                .help("write what it is, as in `- bearer: {env: NAME}`");
            self.problems.push(problem);
            return None;
        };
        let mut scheme = None;
        let mut methods = Vec::new();
        for field in fields {
            match field.key.as_str() {
                "scheme" => scheme = self.text(field),
                key if METHODS.contains(&key) => methods.push(field),
                _ => {
                    let known: Vec<&str> = METHODS.into_iter().chain(["scheme"]).collect();
                    self.unknown_key(field, "a credential", &known);
                }
            }
        }
        match methods.as_slice() {
            [field] => Some(Credential { scheme, method: self.method(field)? }),
            [] => {
                let problem = Diagnostic::error(
                    "catalog::no-method",
                    "the credential does not say what it is",
                )
                .at(item.head_span(), "this credential");
                let known = METHODS.join(", ");
                self.problems.push(problem.help(format!("give it one of {known}")));
                None
            }
            [first, second, ..] => {
                let problem =
                    Diagnostic::error("catalog::two-methods", "a credential is one thing")
                        .at(second.key_span, "this one")
                        .at(first.key_span, "and this one")
                        .help("make each an item of the list");
                self.problems.push(problem);
                None
            }
        }
    }

    fn method(&mut self, field: &Field) -> Option<Method> {
        Some(match field.key.as_str() {
            "api_key" => Method::ApiKey(self.secret(field)?),
            "bearer" => Method::Bearer(self.secret(field)?),
            "header" => {
                let of = self.members(field, &["name", "value"], &["name", "value"])?;
                let (name, value) = (self.string(of, "name"), self.secret_of(of, "value"));
                Method::Header { name: name?, value: value? }
            }
            "basic" => {
                let of =
                    self.members(field, &["username", "password"], &["username", "password"])?;
                let (username, password) =
                    (self.string(of, "username"), self.secret_of(of, "password"));
                Method::Basic { username: username?, password: password? }
            }
            "certificate" => {
                let known = ["certificate", "key", "authorities"];
                let of = self.members(field, &known, &known[..2])?;
                let (certificate, key) =
                    (self.secret_of(of, "certificate"), self.secret_of(of, "key"));
                let authorities = self.secret_of(of, "authorities");
                Method::Certificate { certificate: certificate?, key: key?, authorities }
            }
            "token_exchange" => Method::TokenExchange(self.exchange(field)?),
            _ => {
                let known = ["client_id", "client_secret", "scopes", "issuer", "flow"];
                let of = self.members(field, &known, &known[..1])?;
                Method::Oauth2(self.client(of)?)
            }
        })
    }

    /// What a caller's token is exchanged for has to be for somebody: one for anybody would be worth as much as the caller's.
    fn exchange(&mut self, field: &Field) -> Option<TokenExchange> {
        let known = [
            "client_id",
            "client_secret",
            "scopes",
            "issuer",
            "token_endpoint",
            "audience",
            "resource",
        ];
        let of = self.members(field, &known, &known[..1])?;
        let client = self.client(of);
        let token_endpoint = member(of, "token_endpoint").and_then(|field| self.issuer(field));
        let audience = member(of, "audience").map(|field| self.texts(field)).unwrap_or_default();
        let resource = member(of, "resource").map(|field| self.uris(field)).unwrap_or_default();
        let lacks = |keys: [&str; 2]| keys.iter().all(|key| member(of, key).is_none());
        for (keys, what) in [
            (["issuer", "token_endpoint"], "does not say where tokens are exchanged"),
            (["audience", "resource"], "does not say for whom the token is"),
        ] {
            if lacks(keys) {
                let problem = format!("`{}` {what}", field.key);
                self.problems.push(
                    Diagnostic::error("catalog::missing-key", problem)
                        .at(field.key_span, "")
                        .help(format!("give it `{}` or `{}`", keys[0], keys[1])),
                );
            }
        }
        Some(TokenExchange { client: client?, token_endpoint, audience, resource })
    }

    fn uris(&mut self, field: &Field) -> Vec<String> {
        let texts = self.texts(field);
        for text in texts.iter().filter(|text| Url::parse(text).is_err()) {
            let problem =
                format!("`{text}` is no whole URI; write it as in `https://api.example.com/`");
            self.bad_value("catalog::resource", &problem, field);
        }
        texts
    }

    fn client(&mut self, of: &[Field]) -> Option<OAuthClient> {
        let client_id = self.string(of, "client_id");
        let client_secret = self.secret_of(of, "client_secret");
        let scopes = member(of, "scopes").map(|field| self.texts(field)).unwrap_or_default();
        let issuer = member(of, "issuer").and_then(|field| self.issuer(field));
        let flow = member(of, "flow").and_then(|field| self.flow(field));
        Some(OAuthClient { client_id: client_id?, client_secret, scopes, issuer, flow })
    }

    fn issuer(&mut self, field: &Field) -> Option<Issuer> {
        match self.text(field)?.parse::<Issuer>() {
            Ok(issuer) => Some(issuer),
            Err(error) => {
                self.bad_value("catalog::issuer", &error.to_string(), field);
                None
            }
        }
    }

    fn flow(&mut self, field: &Field) -> Option<Flow> {
        let text = self.text(field)?;
        let flow = Flow::ALL.into_iter().find(|flow| flow.name() == text);
        if flow.is_none() {
            let known = Flow::ALL.map(Flow::name).join(", ");
            let problem = format!("`{text}` is no flow; there are {known}");
            self.bad_value("catalog::flow", &problem, field);
        }
        flow
    }

    fn secret_of(&mut self, of: &[Field], key: &str) -> Option<SecretSource> {
        member(of, key).and_then(|field| self.secret(field))
    }

    fn string(&mut self, of: &[Field], key: &str) -> Option<String> {
        member(of, key).and_then(|field| self.text(field))
    }

    /// Where a secret is kept. One that stands in the file itself is refused, and is not shown.
    fn secret(&mut self, field: &Field) -> Option<SecretSource> {
        let Some([source]) = field.value.as_mapping() else {
            self.plain_secret(field);
            return None;
        };
        match source.key.as_str() {
            "env" => self.text(source).map(SecretSource::Env),
            "file" => {
                let path = self.text(source)?;
                Some(SecretSource::File(absolute(&folder_of(self.source).join(path))))
            }
            "command" => {
                let words = self.texts(source);
                if words.is_empty() {
                    self.wrong_type(source, "a list: the program, then its arguments");
                    return None;
                }
                Some(SecretSource::Command(words))
            }
            _ => {
                self.plain_secret(field);
                None
            }
        }
    }

    fn plain_secret(&mut self, field: &Field) {
        let problem = format!("`{}` does not say where its secret is kept", field.key);
        self.problems.push(
            Diagnostic::error("catalog::plain-secret", problem)
                .at(field.key_span, "")
                .help(format!("a secret does not stand in the catalog itself; {SOURCES}")),
        );
    }

    /// The members of a mapping that knows some keys and needs some of them.
    fn members<'f>(
        &mut self,
        field: &'f Field,
        known: &[&str],
        needed: &[&str],
    ) -> Option<&'f [Field]> {
        let Some(members) = field.value.as_mapping() else {
            self.wrong_type(field, &format!("a mapping of {}", known.join(", ")));
            return None;
        };
        for unknown in members.iter().filter(|it| !known.contains(&it.key.as_str())) {
            self.unknown_key(unknown, &format!("`{}`", field.key), known);
        }
        let missing: Vec<&str> =
            needed.iter().copied().filter(|key| member(members, key).is_none()).collect();
        if !missing.is_empty() {
            let problem = format!("`{}` lacks {}", field.key, missing.join(" and "));
            self.problems
                .push(Diagnostic::error("catalog::missing-key", problem).at(field.key_span, ""));
        }
        Some(members)
    }

    fn bad_value(&mut self, code: &'static str, problem: &str, field: &Field) {
        self.problems
            .push(Diagnostic::error(code, problem.to_owned()).at(field.value.head_span(), ""));
    }
}

fn member<'f>(members: &'f [Field], key: &str) -> Option<&'f Field> {
    members.iter().find(|member| member.key == key)
}

/// The record outlives the folder that the command is run in.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
