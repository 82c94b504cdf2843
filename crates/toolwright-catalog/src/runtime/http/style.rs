//! Texts of values in paths, queries, headers, cookies and forms: the styles of OpenAPI, which are those of RFC
//! 6570 and three more.

use form_urlencoded::byte_serialize;
use percent_encoding::{AsciiSet, utf8_percent_encode};
use toolwright_core::Json;
use toolwright_core::percent::{self, RESERVED};

use super::media::is_json;
use crate::binding::{Location, Parameter, Style};

/// Reserved characters stay, except those that end a query or a pair of it.
const ALLOWED: &AsciiSet = &RESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

/// How characters of names and values are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// Everything but the unreserved characters
    All,
    /// Reserved characters stay
    Reserved,
    /// As `application/x-www-form-urlencoded`
    Form,
    /// Nothing, as in headers
    Nothing,
}

impl Escape {
    pub(super) fn apply(self, text: &str) -> String {
        match self {
            Escape::All => percent::encode(text),
            Escape::Reserved => reserved(text),
            Escape::Form => byte_serialize(text.as_bytes()).collect(),
            Escape::Nothing => text.to_owned(),
        }
    }

    fn delimiter(self, style: Style) -> &'static str {
        match (style, self) {
            (Style::SpaceDelimited, Escape::Form) => "+",
            (Style::SpaceDelimited, Escape::Nothing) => " ",
            (Style::SpaceDelimited, _) => "%20",
            (Style::PipeDelimited, Escape::Nothing) => "|",
            (Style::PipeDelimited, _) => "%7C",
            (Style::TabDelimited, Escape::Nothing) => "\t",
            (Style::TabDelimited, _) => "%09",
            _ => ",",
        }
    }
}

/// Escapes what is not reserved. What is escaped already stays.
fn reserved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, after) = rest.split_at(at);
        out.extend(utf8_percent_encode(before, ALLOWED));
        let is_triple =
            after.len() >= 3 && after.as_bytes()[1..3].iter().all(u8::is_ascii_hexdigit);
        let (kept, next) =
            if is_triple { (&after[..3], &after[3..]) } else { ("%25", &after[1..]) };
        out.push_str(kept);
        rest = next;
    }
    out.extend(utf8_percent_encode(rest, ALLOWED));
    out
}

/// The text of a value that is not an array or object: nested ones are JSON.
pub(super) fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.as_str().to_owned(),
        value => value.compact(),
    }
}

/// Items or members of a value, in order: the key if it is a member, and the text.
enum Parts {
    One(String),
    Items(Vec<String>),
    Members(Vec<(String, String)>),
}

impl Parts {
    fn of(value: &Json) -> Parts {
        match value {
            Json::Array(items) => Parts::Items(items.iter().map(plain).collect()),
            Json::Object(object) => {
                let defined = object.iter().filter(|(_, value)| !value.is_null());
                Parts::Members(defined.map(|(key, value)| (key.to_owned(), plain(value))).collect())
            }
            value => Parts::One(plain(value)),
        }
    }
}

/// Writes a value for a path or a header: its text, with the prefix and the names of its style.
pub(super) fn text(parameter: &Parameter, value: &Json) -> String {
    let Parameter { name, location, .. } = parameter;
    let escape = if *location == Location::Header { Escape::Nothing } else { Escape::All };
    if parameter.content_type.as_deref().is_some_and(is_json) {
        return escape.apply(&value.compact());
    }
    let style = parameter.style.unwrap_or(Style::Simple);
    let explode = parameter.explode.unwrap_or(style == Style::Form);
    let esc = |text: &str| escape.apply(text);
    let (first, separator) = match style {
        Style::Label => (".", if explode { "." } else { "," }),
        Style::Matrix => (";", if explode { ";" } else { "," }),
        other => ("", escape.delimiter(other)),
    };
    let named = |name: &str, text: &str| match text {
        "" => esc(name),
        text => format!("{}={}", esc(name), esc(text)),
    };
    let is_matrix = style == Style::Matrix;
    let list = match Parts::of(value) {
        Parts::One(text) if is_matrix => named(name, &text),
        Parts::One(text) => esc(&text),
        Parts::Items(items) if is_matrix && explode => {
            join(items.iter().map(|item| named(name, item)), separator)
        }
        Parts::Members(members) if explode => {
            let pair = |(key, text): &(String, String)| format!("{}={}", esc(key), esc(text));
            join(members.iter().map(pair), separator)
        }
        parts => {
            let list = joined(parts, separator, escape);
            if is_matrix { format!("{}={list}", esc(name)) } else { list }
        }
    };
    format!("{first}{list}")
}

/// Writes a value for a query, a cookie or a form: pairs of escaped names and values.
pub(super) fn pairs(parameter: &Parameter, value: &Json, escape: Escape) -> Vec<(String, String)> {
    let name = &parameter.name;
    let escape = if parameter.allow_reserved { Escape::Reserved } else { escape };
    let pair = |name: &str, text: &str| (escape.apply(name), escape.apply(text));
    if !parameter.has_style() && parameter.content_type.as_deref().is_some_and(is_json) {
        return vec![pair(name, &value.compact())];
    }
    let style = parameter.style.unwrap_or(Style::Form);
    if style == Style::DeepObject {
        let mut out = Vec::new();
        deep(name, value, escape, &mut out);
        return out;
    }
    let explode = parameter.explode.unwrap_or(style == Style::Form);
    match Parts::of(value) {
        Parts::One(text) => vec![pair(name, &text)],
        Parts::Items(items) if explode => items.iter().map(|item| pair(name, item)).collect(),
        Parts::Members(members) if explode => {
            members.iter().map(|(key, text)| pair(key, text)).collect()
        }
        parts => vec![(escape.apply(name), joined(parts, escape.delimiter(style), escape))],
    }
}

/// Nested members and items in brackets, at any depth.
fn deep(name: &str, value: &Json, escape: Escape, out: &mut Vec<(String, String)>) {
    match value {
        Json::Object(object) => {
            for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
                deep(&format!("{name}[{key}]"), value, escape, out);
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                deep(&format!("{name}[{index}]"), item, escape, out);
            }
        }
        value => out.push((escape.apply(name), escape.apply(&plain(value)))),
    }
}

fn joined(parts: Parts, separator: &str, escape: Escape) -> String {
    let list = match parts {
        Parts::One(text) => vec![text],
        Parts::Items(items) => items,
        Parts::Members(members) => {
            members.into_iter().flat_map(|(key, text)| [key, text]).collect()
        }
    };
    join(list.iter().map(|text| escape.apply(text)), separator)
}

fn join(texts: impl Iterator<Item = String>, separator: &str) -> String {
    texts.collect::<Vec<_>>().join(separator)
}
