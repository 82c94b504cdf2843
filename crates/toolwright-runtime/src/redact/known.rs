//! Redacts secrets whose values are known, such as those that a function received.

use std::borrow::Cow;
use std::fmt;

use toolwright_core::{Json, percent};
use toolwright_json::Object;

use super::MARK;

/// Minimum length in bytes of a secret whose value is no ordinary number or text.
pub const MIN_SECRET: usize = 8;

/// Maximum length in bytes of a secret that is redacted only as a whole word, because it may be a part of
/// many others.
const MAX_WORD: usize = 5;

/// Minimum number of bytes before the end of a truncated text that are not shown.
const MIN_MARGIN: usize = 1 << 10;

/// Secrets that what comes back from a function must not contain: as they are, and as JSON and URLs write
/// them.
#[derive(Default)]
pub struct KnownSecrets {
    /// The forms of all secrets, longest first
    forms: Vec<String>,
}

impl KnownSecrets {
    /// Creates a set of secrets.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> KnownSecrets {
        let mut forms = Vec::new();
        for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
            let quoted = Json::from(secret).compact();
            forms.push(quoted[1..quoted.len() - 1].to_owned());
            forms.push(percent::encode(secret));
            forms.push(secret.to_owned());
        }
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        KnownSecrets { forms }
    }

    /// Redacts a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for form in &self.forms {
            if out.contains(form.as_str()) {
                out = Cow::Owned(if form.len() > MAX_WORD {
                    out.replace(form, MARK)
                } else {
                    replace_words(&out, form)
                });
            }
        }
        out
    }

    /// Redacts every text and key of a value, and numbers that are not so short that others equal them by chance.
    pub fn json(&self, value: Json) -> Json {
        if self.forms.is_empty() {
            return value;
        }
        match value {
            Json::String(own) => match self.text(&own) {
                Cow::Borrowed(_) => Json::String(own),
                Cow::Owned(redacted) => Json::from(redacted),
            },
            Json::Number(own) => {
                let text = own.to_string();
                let is_secret = text.len() >= MIN_SECRET && self.forms.contains(&text);
                if is_secret { MARK.into() } else { Json::Number(own) }
            }
            Json::Array(items) => {
                Json::Array(items.into_iter().map(|item| self.json(item)).collect())
            }
            Json::Object(members) => Json::Object(self.object(members)),
            other => other,
        }
    }

    /// Redacts an object as [`json`](KnownSecrets::json) does.
    pub fn object(&self, members: Object) -> Object {
        if self.forms.is_empty() {
            return members;
        }
        let mut out = Object::with_capacity(members.len());
        for (key, value) in members {
            out.push(self.text(&key).into_owned(), self.json(value));
        }
        out
    }

    /// Number of bytes that must follow those that are shown of a longer text, so that a secret at the end is
    /// recognized.
    pub fn margin(&self) -> usize {
        self.forms.first().map_or(0, String::len).max(MIN_MARGIN)
    }

    /// Redacts the beginning of a text, including secrets that are recognized by their form. If the text was
    /// truncated, the end of the beginning may be a part of a secret, and is dropped.
    pub fn beginning(&self, bytes: &[u8], is_truncated: bool) -> String {
        let text = String::from_utf8_lossy(bytes);
        let mut text = super::text(&self.text(&text));
        if is_truncated {
            let length = text.len().saturating_sub(self.margin());
            text.truncate(text.floor_char_boundary(length));
        }
        text
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KnownSecrets").finish_non_exhaustive()
    }
}

/// Replaces a text where it is no part of a longer word.
fn replace_words(text: &str, word: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (start, _) in text.match_indices(word) {
        let end = start + word.len();
        let is_part = text[..start].ends_with(char::is_alphanumeric)
            || text[end..].starts_with(char::is_alphanumeric);
        if !is_part {
            out.push_str(&text[from..start]);
            out.push_str(MARK);
            from = end;
        }
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_secret_is_redacted_in_every_form() {
        let known = KnownSecrets::new(["a\"b c/d!", "a\"b c", "pin", "12345678", "42", ""]);
        for (text, redacted) in [
            ("x a\"b c/d! y", "x [redacted] y"),
            ("{\"k\":\"a\\\"b c/d!\"}", "{\"k\":\"[redacted]\"}"),
            ("?q=a%22b%20c%2Fd%21&", "?q=[redacted]&"),
            ("x a\"b c y", "x [redacted] y"),
            ("the pin, pin-pin and spinning", "the [redacted], [redacted]-[redacted] and spinning"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(known.text(text), redacted);
        }
        let value = Json::parse(r#"{"a\"b c":[12345678,"x12345678",42,true],"\u0070in":"ping"}"#);
        let redacted = r#"{"[redacted]":["[redacted]","x[redacted]",42,true],"[redacted]":"ping"}"#;
        assert_eq!(known.json(value.unwrap()).compact(), redacted);
    }

    #[test]
    fn a_secret_that_the_end_cuts_is_not_shown() {
        let secret = "s".repeat(3000);
        let known = KnownSecrets::new([secret.as_str()]);
        let text = format!("shown {}", secret.repeat(3));
        for length in [0, 5, 7, 2000, 3005, 3007, 9000] {
            let shown = known.beginning(&text.as_bytes()[..length], true);
            assert!(shown.matches('s').count() <= 1, "{length}: {shown}");
        }
        assert_eq!(known.beginning(b"shown", false), "shown");
    }
}
