//! A Message as it is typed.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use protocol::{
    v1::{Message, Part, SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig},
    wkt::{Struct, check_depth},
};
use serde_json::Value;
use url::Url;

use crate::{args::SendArgs, failure::Failure, workflow_file};

/// The request that was typed.
pub(crate) fn request(send: &SendArgs) -> Result<SendMessageRequest, Failure> {
    let mut message = Message::user(parts(send)?);
    if let Some(id) = &send.message_id {
        message.message_id.clone_from(id);
    }
    message.task_id = send.task.clone().unwrap_or_default();
    message.context_id = send.context.clone().unwrap_or_default();
    message.reference_task_ids.clone_from(&send.references);
    message.metadata = metadata(&send.metadata)?;
    let configuration = configuration(send)?;
    Ok(SendMessageRequest {
        message: Some(message),
        configuration: Some(configuration).filter(|it| *it != SendMessageConfiguration::default()),
        ..SendMessageRequest::default()
    })
}

fn configuration(send: &SendArgs) -> Result<SendMessageConfiguration, Failure> {
    if let Some(wrong) = send.accept.iter().find(|media| !media.contains('/')) {
        let why = "is no media type, as `text/plain` is";
        return Err(Failure::usage(format!("--accept `{wrong}` {why}")));
    }
    let webhook = send.push.as_ref().map(|typed| -> Result<_, Failure> {
        let token = send.push_token.clone().unwrap_or_default();
        let url = url("--push", typed)?;
        Ok(TaskPushNotificationConfig { url, token, ..TaskPushNotificationConfig::default() })
    });
    Ok(SendMessageConfiguration {
        accepted_output_modes: send.accept.clone(),
        task_push_notification_config: webhook.transpose()?,
        history_length: send.history,
        return_immediately: send.return_immediately,
    })
}

/// The texts, then the files, then the addresses, then the data.
fn parts(send: &SendArgs) -> Result<Vec<Part>, Failure> {
    let mut parts = Vec::new();
    for typed in send.texts.iter().cloned().map(Ok).chain(send.more.iter().map(text)) {
        let typed: String = typed?;
        if typed.is_empty() {
            return Err(Failure::usage("a text is empty; leave it out, or say something"));
        }
        parts.push(Part::text(typed));
    }
    for typed in &send.files {
        parts.push(file(typed)?);
    }
    for typed in &send.file_urls {
        parts.push(linked(typed)?);
    }
    for typed in &send.data_parts {
        parts.push(data(typed)?);
    }
    if parts.is_empty() {
        let ways = "a TEXT, --text, --file, --file-url or --data-part";
        return Err(Failure::usage(format!("there is nothing to send; give {ways}")));
    }
    Ok(parts)
}

fn text(typed: &String) -> Result<String, Failure> {
    if typed != "-" {
        return Ok(typed.clone());
    }
    let mut read = String::new();
    std::io::stdin()
        .read_to_string(&mut read)
        .map_err(|error| Failure::usage(format!("cannot read a text from stdin: {error}")))?;
    Ok(read)
}

fn file(typed: &str) -> Result<Part, Failure> {
    let (path, media_type) = path_and_media(typed);
    let bytes = std::fs::read(&path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let guess = || mime_guess::from_path(&path).first_or_octet_stream().essence_str().to_owned();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let part = Part::raw(bytes).with_media_type(media_type.map_or_else(guess, str::to_owned));
    Ok(part.with_filename(name.unwrap_or_default()))
}

/// Splits what is typed for a file at its last colon, if a media type follows that and there is no
/// file of the whole name.
fn path_and_media(typed: &str) -> (PathBuf, Option<&str>) {
    match typed.rsplit_once(':') {
        Some((path, media)) if is_media_type(media) && !Path::new(typed).exists() => {
            (path.into(), Some(media))
        }
        _ => (typed.into(), None),
    }
}

fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default();
    let is_token = |token: &str| {
        !token.is_empty()
            && token.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c))
    };
    essence.trim().split_once('/').is_some_and(|(kind, of)| is_token(kind) && is_token(of))
}

fn linked(typed: &str) -> Result<Part, Failure> {
    let address = url("--file-url", typed)?;
    let parsed = Url::parse(&address).ok();
    let last = parsed.as_ref().and_then(Url::path_segments).and_then(|mut it| it.next_back());
    let name = last.unwrap_or_default().to_owned();
    let guess = mime_guess::from_path(&name).first();
    let media_type = guess.map(|media| media.essence_str().to_owned()).unwrap_or_default();
    Ok(Part::url(address).with_media_type(media_type).with_filename(name))
}

fn data(typed: &str) -> Result<Part, Failure> {
    let (place, json) = match typed.strip_prefix('@') {
        None => ("--data-part", typed.to_owned()),
        Some(path) => {
            let read = std::fs::read_to_string(path);
            (path, read.map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?)
        }
    };
    let wrong = |why: &dyn std::fmt::Display| Failure::usage(format!("{place} is not JSON: {why}"));
    let value: Value = serde_json::from_str(&json).map_err(|error| wrong(&error))?;
    check_depth(&value).map_err(|error| wrong(&error))?;
    Ok(Part::data(value).with_media_type("application/json"))
}

/// Metadata as typed; nothing when there is none.
pub(crate) fn metadata(typed: &[String]) -> Result<Option<Struct>, Failure> {
    let mut metadata = Struct::default();
    for pair in typed {
        let (key, value) = workflow_file::split(pair, "--metadata KEY=VALUE")?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        check_depth(&value)
            .map_err(|error| Failure::usage(format!("--metadata {key}: {error}")))?;
        metadata.0.insert(key.to_owned(), value);
    }
    Ok(Some(metadata).filter(|metadata| !metadata.0.is_empty()))
}

/// An address as it was typed, when it is one.
pub(crate) fn url(flag: &str, typed: &str) -> Result<String, Failure> {
    let parsed = Url::parse(typed);
    let parsed = parsed.map_err(|error| Failure::usage(format!("{flag} `{typed}`: {error}")))?;
    match parsed.has_host() {
        true => Ok(typed.to_owned()),
        false => Err(Failure::usage(format!("{flag} `{typed}` names no host"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_behind_a_path_is_told_from_a_colon_in_it() {
        let split = |typed: &'static str| {
            let (path, media) = path_and_media(typed);
            (path.display().to_string(), media)
        };
        assert_eq!(split("a.bin"), ("a.bin".to_owned(), None));
        assert_eq!(split("a.bin:image/png"), ("a.bin".to_owned(), Some("image/png")));
        assert_eq!(split("a:b/c.d/e"), ("a:b/c.d/e".to_owned(), None));
        assert_eq!(split("C:\\a.bin"), ("C:\\a.bin".to_owned(), None));
        let charset = "text/plain; charset=utf-8";
        assert_eq!(split("a:text/plain; charset=utf-8"), ("a".to_owned(), Some(charset)));
    }

    #[test]
    fn metadata_that_is_json_counts_as_json() {
        let typed = ["a=1", "b=x=y", "c={\"d\":[true]}", "e=\"1\""].map(str::to_owned);
        let metadata = metadata(&typed).unwrap().unwrap();
        let expected = serde_json::json!({"a": 1, "b": "x=y", "c": {"d": [true]}, "e": "1"});
        assert_eq!(Value::Object(metadata.0), expected);
        assert!(super::metadata(&["a".to_owned()]).is_err());
        assert_eq!(super::metadata(&[]).unwrap(), None);
    }
}
