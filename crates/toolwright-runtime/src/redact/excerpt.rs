//! The beginning of a value, without secrets: cut first, so that the cost does not depend on the size of the value.

use toolwright_core::Json;
use toolwright_json::Object;

use super::Redactor;

/// Number of bytes after the excerpt that are looked at as well, so that a secret that begins in it is recognized.
const OVERLAP: usize = 16 << 10;

/// Marks the end of what was cut.
const CUT: &str = "…";

/// Copies the beginning of a value: at most `left` bytes of keys, texts and numbers, and that many values. `mark` is
/// where something is missing.
fn cut(value: &Json, left: &mut usize, mark: Option<&str>) -> Json {
    *left = left.saturating_sub(1);
    match value {
        Json::String(text) if text.len() > *left => {
            let text = text.as_str();
            let end = text.floor_char_boundary(std::mem::take(left));
            Json::from(format!("{}{}", &text[..end], mark.unwrap_or_default()))
        }
        Json::String(text) => {
            *left -= text.len();
            value.clone()
        }
        Json::Array(items) => {
            let mut out = Vec::new();
            for item in items {
                if *left == 0 {
                    out.extend(mark.map(Json::from));
                    break;
                }
                out.push(cut(item, left, mark));
            }
            Json::Array(out)
        }
        Json::Object(members) => Json::Object(cut_members(members, left, mark)),
        Json::Number(number) => {
            *left = left.saturating_sub(number.as_str().len());
            value.clone()
        }
        Json::Null | Json::Bool(_) => value.clone(),
    }
}

fn cut_members(members: &Object, left: &mut usize, mark: Option<&str>) -> Object {
    let mut out = Object::new();
    for (key, value) in members.iter() {
        *left = left.saturating_sub(key.len());
        if *left == 0 {
            out.insert_some(CUT, mark);
            break;
        }
        out.push(key.to_owned(), cut(value, left, mark));
    }
    out
}

/// Returns the beginning of a value, of about this many bytes, without secrets.
pub(crate) fn excerpt(redactor: Redactor<'_>, value: &Json, bytes: usize) -> Json {
    let redacted = redactor.json(&before_excerpt(value, bytes));
    cut(&redacted, &mut { bytes }, Some(CUT))
}

/// Returns the part of a value that its excerpt depends on.
pub fn before_excerpt(value: &Json, bytes: usize) -> Json {
    cut(value, &mut (bytes + OVERLAP), None)
}

/// Returns the part of an object that the excerpt of it depends on.
pub(crate) fn members_before_excerpt(members: &Object, bytes: usize) -> Object {
    cut_members(members, &mut (bytes + OVERLAP), None)
}

/// Returns the beginning of a text, of about this many bytes, without secrets.
pub(crate) fn text_excerpt(redactor: Redactor<'_>, text: &str, bytes: usize) -> String {
    let end = text.floor_char_boundary(bytes + OVERLAP);
    let redacted = redactor.text(&text[..end]);
    if redacted.len() <= bytes && end == text.len() {
        return redacted;
    }
    format!("{}{CUT}", &redacted[..redacted.floor_char_boundary(bytes)])
}

/// Returns the beginning of the JSON text of a value, of at most this many bytes, without secrets.
pub fn preview(value: &Json, bytes: usize) -> String {
    let text = excerpt(Redactor::new(&Json::Bool(true)), value, bytes).compact();
    if text.len() <= bytes {
        return text;
    }
    format!("{}{CUT}", &text[..text.floor_char_boundary(bytes)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_at_the_cut_is_redacted_and_the_rest_is_not_read() {
        for at in 0..40 {
            let text =
                format!("{} sk-proj-{} {}", "x".repeat(at), "aB3".repeat(24), "y ".repeat(500_000));
            let value = Json::from(vec![Json::from(text)]);
            let shown = preview(&value, 30);
            assert!(!shown.contains("aB3") && shown.ends_with(CUT), "{shown}");
        }
        let inner =
            format!(r#"{{"a":1,"password":{{"x":"hunter2"}},"rest":"{}"}}"#, "z".repeat(100_000));
        let shown = preview(&Json::from(inner), 60);
        assert!(!shown.contains("hunter2") && shown.contains("[redacted]"), "{shown}");
    }

    #[test]
    fn small_values_are_shown_whole_and_large_ones_by_their_beginning() {
        let small = Json::parse(r#"{"a":[1,2,{"b":"文"}],"c":null}"#).unwrap();
        assert_eq!(preview(&small, 100), small.compact());
        let many = Json::Array(vec![Json::from(7); 1_000_000]);
        let shown = preview(&many, 20);
        assert!(shown.starts_with("[7,7,7") && shown.len() < 30, "{shown}");
        let text = Json::from("文".repeat(1000));
        assert!(preview(&text, 20).len() <= 20 + CUT.len());
    }
}
