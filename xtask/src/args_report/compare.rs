//! Compares JSON by its text, so that every digit counts.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// An object, its values as written.
pub(crate) type Members = BTreeMap<String, Box<RawValue>>;

/// Reads an object.
pub(crate) fn members(text: &str) -> Option<Members> {
    serde_json::from_str(text).ok()
}

/// Whether two objects are equal.
pub(crate) fn same_members(a: &Members, b: &Members) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|((key, a), (other, b))| key == other && same(a.get(), b.get()))
}

/// Whether two documents are equal. Integers must agree in every digit.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let kind = |text: &str| match text.trim_start().bytes().next() {
        Some(b'-' | b'0'..=b'9') => b'0',
        Some(first) => first,
        None => b' ',
    };
    if kind(a) != kind(b) {
        return false;
    }
    match kind(a) {
        b'{' => members(a).zip(members(b)).is_some_and(|(a, b)| same_members(&a, &b)),
        b'[' => match (list(a), list(b)) {
            (Some(a), Some(b)) => {
                a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a.get(), b.get()))
            }
            _ => false,
        },
        b'"' => {
            let text = |raw| serde_json::from_str::<String>(raw).ok();
            text(a).is_some() && text(a) == text(b)
        }
        b'0' => {
            let (a, b) = (a.trim(), b.trim());
            let is_whole = |text: &str| !text.contains(['.', 'e', 'E']);
            let double = |text: &str| text.parse::<f64>().ok().map(f64::to_bits);
            a == b || !(is_whole(a) && is_whole(b)) && double(a) == double(b)
        }
        _ => a.trim() == b.trim(),
    }
}

fn list(text: &str) -> Option<Vec<Box<RawValue>>> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn documents_are_compared_by_value() {
        assert!(same(r#"{"a": [1, "\u0061"], "b": null}"#, r#"{"b":null,"a":[1.0,"a"]}"#));
        assert!(same("9597000", "9597000.0") && same("1e2", "100"));
        assert!(!same("12345678901234567890123", "12345678901234567890124"));
        assert!(!same("1", "\"1\"") && !same("[1]", "[1,2]") && !same("{}", r#"{"a":1}"#));
    }
}
