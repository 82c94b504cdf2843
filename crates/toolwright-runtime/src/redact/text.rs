//! Redacts secrets in text: JSON within a string, known patterns, and values after the name of a
//! secret (`password=…`, `"token": "…"`, `Authorization: …`).

use std::sync::LazyLock;

use regex::Regex;
use toolwright_core::Json;
use toolwright_core::args::growing::{Growing, Progress};

use super::subschemas::Subschemas;
use super::{MARK, covered, look, name};

/// A name and the separator before its value, including escaped quotes.
const NAMED: &str = r#"([\w.-]{2,64})[\\"'`]{0,4}\s{0,3}[:=：＝]\s{0,3}"#;

static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NAMED).ok());

/// Schemes before the credential in a header.
const SCHEMES: &[&str] = &["Bearer ", "Basic ", "Token ", "Digest ", "ApiKey ", "Negotiate "];

/// Redacts the secrets in a text.
pub fn text(text: &str) -> String {
    at(text, &Subschemas::root(&Json::Null))
}

/// Redacts text at a place: if it is JSON, the schema applies to it.
pub(super) fn at(text: &str, place: &Subschemas<'_>) -> String {
    inner(text, place).unwrap_or_else(|| named(&look::covered(text)))
}

/// Redacts JSON within a string.
pub(super) fn inner(text: &str, place: &Subschemas<'_>) -> Option<String> {
    let start = text.trim_start();
    if !start.starts_with(['{', '[']) {
        return None;
    }
    let value = Json::parse(text).ok().or_else(|| beginning(text))?;
    let safe = covered(&value, place);
    // Unchanged, including white space, if there is nothing to redact.
    Some(if safe == value { text.to_owned() } else { safe.compact() })
}

/// Parses the beginning of JSON that was cut.
fn beginning(text: &str) -> Option<Json> {
    let mut growing = Growing::new();
    growing.push(text);
    growing.view().filter(|_| growing.progress() == Progress::Growing).cloned()
}

/// Redacts values after the name of a secret.
fn named(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let found = PATTERN.iter().flat_map(|pattern| pattern.captures_iter(text));
    for captures in found {
        let (Some(whole), Some(own)) = (captures.get(0), captures.get(1)) else { continue };
        if whole.start() < from || !name::is_secret(own.as_str()) {
            continue;
        }
        let value = value(own.as_str(), &text[whole.end()..]);
        let (start, end) = (whole.end() + value.0, whole.end() + value.1);
        let is_flag = matches!(&text[start..end], "" | "true" | "false" | "null" | "None");
        if is_flag || text[start..].starts_with(MARK) {
            continue;
        }
        out.push_str(&text[from..start]);
        out.push_str(MARK);
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

/// Returns the range of the value after a name.
fn value(name: &str, rest: &str) -> (usize, usize) {
    let quoted = rest.trim_start_matches('\\');
    if let Some(quote) = quoted.chars().next().filter(|quote| "\"'`".contains(*quote)) {
        let start = rest.len() - quoted.len() + quote.len_utf8();
        let inside = &rest[start..];
        // In escaped text the quotes are escaped as well.
        let end = match &rest[..start] {
            escaped if escaped.starts_with('\\') => inside.find(escaped).unwrap_or(inside.len()),
            _ => closing(inside, quote),
        };
        return (start, start + end);
    }
    let lower = name.to_lowercase();
    let line = lower.contains("cookie") || lower.contains("authorization");
    if line {
        return (0, rest.find(['\n', '\r', '"']).unwrap_or(rest.len()));
    }
    let has_scheme = |scheme: &&&str| {
        rest.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let skip = SCHEMES.iter().find(has_scheme).map_or(0, |scheme| scheme.len());
    let is_end = |letter: char| letter.is_whitespace() || "\"'`,;&)}]，；。".contains(letter);
    (0, rest[skip..].find(is_end).map_or(rest.len(), |end| skip + end))
}

/// Returns the end of a quoted value: an unescaped quote, or the end of the text.
fn closing(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            letter if letter == quote => return at,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_for_names() {
        assert!(PATTERN.is_some());
    }

    #[test]
    fn what_follows_the_name_of_a_secret_is_covered() {
        for (before, after) in [
            ("password=hunter2", "password=[redacted]"),
            ("a=1&api_key=abc&b=2", "a=1&api_key=[redacted]&b=2"),
            ("password: hunter2, user: me", "password: [redacted], user: me"),
            (r#"{"password": "hun\"ter2", "user": "#, r#"{"password":"[redacted]"}"#),
            ("{'token': 'abc'", "{'token': '[redacted]'"),
            (r#"said {\"token\":\"abc\",\"n\":1}"#, r#"said {\"token\":\"[redacted]\",\"n\":1}"#),
            (r#"{"token": "abc"#, r#"{"token":"[redacted]"}"#),
            ("Authorization: Basic abc\nHost: x", "Authorization: [redacted]\nHost: x"),
            ("Cookie: a=b; c=d\nHost: x", "Cookie: [redacted]\nHost: x"),
            ("token: Bearer abcdefgh", "token: [redacted]"),
            ("Server=db;Password=hunter2;Port=1", "Server=db;Password=[redacted];Port=1"),
            ("密码：猎人二号，用户：我", "密码：[redacted]，用户：我"),
            ("export GITHUB_TOKEN=abc", "export GITHUB_TOKEN=[redacted]"),
        ] {
            assert_eq!(text(before), after);
        }
    }

    #[test]
    fn json_in_a_string_is_looked_into() {
        assert_eq!(text(r#"{ "token": "abc", "n": 1 }"#), r#"{"token":"[redacted]","n":1}"#);
        assert_eq!(text(r#"[{"password":"x"}]"#), r#"[{"password":"[redacted]"}]"#);
        assert_eq!(
            text(r#"{"in":"{\"secret\":\"x\"}"}"#),
            r#"{"in":"{\"secret\":\"[redacted]\"}"}"#
        );
        assert_eq!(text("{ \"n\": 1.0 }"), "{ \"n\": 1.0 }", "as it was");
    }

    #[test]
    fn other_text_is_left() {
        for own in [
            "",
            "max_tokens=5",
            "token_count: 7",
            "the password is required",
            "password: null",
            "secret=true",
            "author: Li Wei",
            "a: b, c=d",
            "12:30:00",
            "作者：李伟",
        ] {
            assert_eq!(text(own), own);
        }
    }

    #[test]
    fn covering_twice_changes_nothing_more() {
        for own in ["password=hunter2", "Authorization: Bearer abcdefgh1", r#"{"token":"a"}"#] {
            let once = text(own);
            assert_eq!(text(&once), once);
        }
    }
}
