//! Bodies of requests: JSON, forms, multipart, text and bytes.

use std::borrow::Cow;
use std::fmt::Write;

use bytes::{BufMut, Bytes, BytesMut};
use toolwright_core::Json;
use toolwright_json::Object;
use toolwright_runtime::ToolError;

use super::InputFile;
use super::media::{is_form, is_json, is_multipart};
use super::style::{Escape, pairs, plain};
use crate::binding::{Body, Location, Parameter};

/// The media type, which may have parameters, and the bytes; none if no part of it is given.
pub(super) fn write(
    body: &Body,
    arguments: &Object,
    files: &[InputFile],
) -> Result<Option<(String, Bytes)>, ToolError> {
    let content_type = body.content_type.clone();
    if let Some(key) = &body.file {
        let file = files.iter().find(|file| file.key == *key);
        return Ok(file.map(|file| {
            // A range such as image/* is no media type.
            let content_type =
                if content_type.contains('*') { file.content_type.clone() } else { content_type };
            (content_type, file.bytes.clone())
        }));
    }
    if let Some(argument) = &body.argument {
        return match arguments.get(argument) {
            None if body.required => Err(ToolError::new(format!("`{argument}` is required"))),
            None => Ok(None),
            Some(value) => Ok(Some(encode(content_type, value))),
        };
    }
    let given: Vec<(&Parameter, Option<&Json>)> = body
        .properties
        .iter()
        .map(|own| (own, arguments.get(own.argument())))
        .filter(|(own, value)| match &own.file {
            Some(key) => files.iter().any(|file| file.key == *key),
            None => value.is_some(),
        })
        .collect();
    if given.is_empty() && !body.required {
        return Ok(None);
    }
    Ok(Some(if is_multipart(&content_type) {
        multipart(&content_type, &given, files)
    } else {
        let values = given.iter().filter_map(|(own, value)| Some((*own, (*value)?)));
        if is_form(&content_type) {
            let text = form(values.filter(|(_, value)| !value.is_null()));
            (content_type, Bytes::from(text))
        } else {
            let members = values.map(|(own, value)| (own.name.clone().into(), value.clone()));
            (content_type, Bytes::from(members.collect::<Object>().compact()))
        }
    }))
}

/// A body that is one value.
fn encode(content_type: String, value: &Json) -> (String, Bytes) {
    if is_json(&content_type) {
        return (content_type, Bytes::from(value.compact()));
    }
    if let Json::Object(object) = value {
        let members: Vec<(Parameter, &Json)> = object
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (Parameter::new(name, Location::Body), value))
            .collect();
        if is_form(&content_type) {
            let text = form(members.iter().map(|(own, value)| (own, *value)));
            return (content_type, Bytes::from(text));
        }
        if is_multipart(&content_type) {
            let given: Vec<_> = members.iter().map(|(own, value)| (own, Some(*value))).collect();
            return multipart(&content_type, &given, &[]);
        }
    }
    (content_type, Bytes::from(plain(value)))
}

fn form<'a>(values: impl Iterator<Item = (&'a Parameter, &'a Json)>) -> String {
    let written = values.flat_map(|(own, value)| {
        // Without a style, an object is JSON, which is the default of OpenAPI.
        if !own.has_style() && matches!(value, Json::Object(_)) {
            let json = Parameter { content_type: Some("application/json".into()), ..own.clone() };
            return pairs(&json, value, Escape::Form);
        }
        pairs(own, value, Escape::Form)
    });
    written.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// One part of a multipart body.
struct Part<'a> {
    name: Cow<'a, str>,
    filename: Option<&'a str>,
    content_type: Option<&'a str>,
    bytes: Bytes,
}

fn multipart(
    content_type: &str,
    given: &[(&Parameter, Option<&Json>)],
    files: &[InputFile],
) -> (String, Bytes) {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for (own, value) in given {
        if let Some(key) = &own.file {
            // A list of types, or a range, is a condition and no type.
            let declared = own.content_type.as_deref().filter(|own| !own.contains([',', '*']));
            parts.extend(files.iter().filter(|file| file.key == *key).map(|file| Part {
                name: own.name.as_str().into(),
                filename: Some(&file.name),
                content_type: Some(declared.unwrap_or(&file.content_type)),
                bytes: file.bytes.clone(),
            }));
        } else if let Some(value) = value {
            values(own, value, &mut parts);
        }
    }
    let boundary = boundary(&parts);
    let mut out = BytesMut::new();
    for part in &parts {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            quoted(&part.name)
        );
        if let Some(filename) = part.filename {
            let _infallible = write!(head, "; filename=\"{}\"", quoted(filename));
        }
        if let Some(content_type) = part.content_type {
            let _infallible = write!(head, "\r\nContent-Type: {content_type}");
        }
        out.put(head.as_bytes());
        out.put(&b"\r\n\r\n"[..]);
        out.put(&part.bytes[..]);
        out.put(&b"\r\n"[..]);
    }
    out.put(format!("--{boundary}--\r\n").as_bytes());
    (format!("{content_type}; boundary={boundary}"), out.freeze())
}

/// The parts of one property: an array has one for each item.
fn values<'a>(own: &'a Parameter, value: &Json, parts: &mut Vec<Part<'a>>) {
    if own.has_style() {
        let pairs = pairs(own, value, Escape::Nothing).into_iter();
        parts.extend(pairs.map(|(name, text)| Part {
            name: name.into(),
            filename: None,
            content_type: None,
            bytes: Bytes::from(text),
        }));
        return;
    }
    let declared = own.content_type.as_deref();
    let is_declared_json = declared.is_some_and(is_json);
    let part = |value: &Json| {
        let is_json = is_declared_json || matches!(value, Json::Object(_) | Json::Array(_));
        let text = if is_json { value.compact() } else { plain(value) };
        let content_type = declared.or(is_json.then_some("application/json"));
        let name = own.name.as_str().into();
        Part { name, filename: None, content_type, bytes: Bytes::from(text) }
    };
    match value {
        Json::Null => {}
        Json::Array(items) => parts.extend(items.iter().map(part)),
        value => parts.push(part(value)),
    }
}

/// A boundary that follows from the content, so that a repeated request has the same bytes. That it occurs in
/// the content would be a collision of the hash.
fn boundary(parts: &[Part<'_>]) -> String {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(part.name.as_bytes());
        hash.update(&part.bytes.len().to_le_bytes());
        hash.update(&part.bytes);
    }
    format!("toolwright-{}", &hash.finalize().to_hex()[..32])
}

/// A name in a `Content-Disposition` header, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_a_header_of_a_part() {
        assert_eq!(quoted("a\"b\r\nc"), "a%22b%0D%0Ac");
    }
}
