//! Compares two documents leaf by leaf. Array elements are aligned so that as many leaves as
//! possible are equal; a dropped element does not make its successors differ.

use toolwright_core::Json;
use toolwright_core::json::pointer::escape;

/// Pointers to all values of `original` that are missing or different in `again`.
pub fn lost(original: &Json, again: &Json) -> Vec<String> {
    let mut out = Vec::new();
    compare(original, Some(again), "", &mut out);
    out
}

/// Pointers to arrays and objects with more members in `again`, and to values that differ.
pub fn grown(original: &Json, again: &Json) -> Vec<String> {
    let mut out = Vec::new();
    compare_grown(original, again, "", &mut out);
    out
}

fn compare_grown(original: &Json, again: &Json, pointer: &str, out: &mut Vec<String>) {
    match (original, again) {
        (Json::Object(object), Json::Object(other)) => {
            if other.keys().any(|key| !object.contains_key(key)) {
                out.push(pointer.to_owned());
            }
            for (key, value) in object.iter() {
                if let Some(other) = other.get(key) {
                    compare_grown(value, other, &format!("{pointer}/{}", escape(key)), out);
                }
            }
        }
        (Json::Array(items), Json::Array(others)) => {
            let pairs = align(items, others);
            if pairs.iter().flatten().count() < others.len() {
                out.push(pointer.to_owned());
            }
            for (index, matched) in pairs.into_iter().enumerate() {
                if let Some(at) = matched {
                    let pointer = format!("{pointer}/{index}");
                    compare_grown(&items[index], &others[at], &pointer, out);
                }
            }
        }
        (original, again) if original == again => {}
        _ => out.push(pointer.to_owned()),
    }
}

fn compare(original: &Json, again: Option<&Json>, pointer: &str, out: &mut Vec<String>) {
    match (original, again) {
        (Json::Object(object), Some(again @ Json::Object(_))) => {
            for (key, value) in object.iter() {
                let pointer = format!("{pointer}/{}", escape(key));
                compare(value, again.get(key), &pointer, out);
            }
        }
        (Json::Array(items), Some(Json::Array(others))) => {
            for (index, matched) in align(items, others).into_iter().enumerate() {
                let pointer = format!("{pointer}/{index}");
                compare(&items[index], matched.map(|at| &others[at]), &pointer, out);
            }
        }
        (original, Some(again)) if original == again => {}
        (Json::Object(object), None) if !object.is_empty() => {
            for (key, value) in object.iter() {
                compare(value, None, &format!("{pointer}/{}", escape(key)), out);
            }
        }
        (Json::Array(items), None) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                compare(item, None, &format!("{pointer}/{index}"), out);
            }
        }
        _ => out.push(pointer.to_owned()),
    }
}

/// Returns the partner of each item in the alignment that keeps the most leaves.
fn align(items: &[Json], others: &[Json]) -> Vec<Option<usize>> {
    let (score, best) = scores(items, others);
    let (mut i, mut j) = (0, 0);
    let mut out = vec![None; items.len()];
    while i < items.len() && j < others.len() {
        if score[i][j] > 0 && best[i][j] == score[i][j] + best[i + 1][j + 1] {
            out[i] = Some(j);
            (i, j) = (i + 1, j + 1);
        } else if best[i][j] == best[i + 1][j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    out
}

/// Returns the number of leaves that each pair shares, and that the best alignment of each pair of
/// tails keeps.
fn scores(items: &[Json], others: &[Json]) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let row = |item: &Json| others.iter().map(|other| shared(item, other)).collect();
    let score: Vec<Vec<usize>> = items.iter().map(row).collect();
    let mut best = vec![vec![0; others.len() + 1]; items.len() + 1];
    for i in (0..items.len()).rev() {
        for j in (0..others.len()).rev() {
            let paired = score[i][j] + best[i + 1][j + 1];
            best[i][j] = paired.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    (score, best)
}

fn shared(a: &Json, b: &Json) -> usize {
    let whole = usize::from(a == b);
    whole
        + match (a, b) {
            (Json::Object(object), Json::Object(_)) => {
                let of = |(key, value)| Some(weight(key) * shared(value, b.get(key)?));
                object.iter().filter_map(of).sum()
            }
            (Json::Array(items), Json::Array(others)) => scores(items, others).1[0][0],
            _ => 0,
        }
}

/// Names and ids identify an element better than other members.
fn weight(key: &str) -> usize {
    let names = ["name", "id", "tool_use_id", "toolUseId", "tool_call_id", "call_id"];
    if names.contains(&key) { 16 } else { 1 }
}

/// Whether one pointer is equal to the other or an ancestor of it.
pub fn covers(a: &str, b: &str) -> bool {
    let within = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(a, b) || within(b, a)
}

#[test]
fn a_dropped_element_is_found() {
    let original =
        Json::parse(r#"{"a":[{"x":1,"k":"p"},{"x":2,"k":"q"},{"x":3,"k":"r"}],"b":true}"#).unwrap();
    let again = Json::parse(r#"{"a":[{"x":1,"k":"p"},{"x":3,"k":"s"}]}"#).unwrap();
    assert_eq!(lost(&original, &again), ["/a/1/x", "/a/1/k", "/a/2/k", "/b"]);
    assert_eq!(grown(&original, &again), ["/a/2/k"]);
    // Additional values are named by their position in the original.
    let more = Json::parse(r#"{"a":[{"x":3,"k":"r","y":[]},{"x":4}],"b":true}"#).unwrap();
    assert_eq!(grown(&original, &more), ["/a", "/a/2"]);
}
