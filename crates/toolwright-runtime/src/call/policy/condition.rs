//! Conditions of a rule on arguments.

use toolwright_core::Json;
use toolwright_json::Object;
use toolwright_json::pointer::unescape;

use super::Glob;

/// A test of the value at a path in the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// JSON Pointer; a segment `*` stands for each item of an array
    pub path: String,
    /// The test
    pub test: Test,
}

/// A test of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Test {
    /// Equal to this value
    Equals(Json),
    /// Equal to one of these values
    OneOf(Vec<Json>),
    /// A string with this prefix
    Prefix(String),
    /// A string that matches this pattern
    Glob(Glob),
    /// Absent
    Absent,
    /// Present
    Present,
}

impl Condition {
    /// Whether the condition holds. With `every`, it must hold for all items that a `*` matches,
    /// otherwise for any.
    pub(super) fn holds(&self, arguments: &Object, every: bool) -> bool {
        let mut found = Vec::new();
        match self.path.strip_prefix('/') {
            Some(path) => collect_member(arguments, path, &mut found),
            // The empty pointer means the arguments as a whole, which can only be tested for
            // presence; an invalid pointer matches nothing.
            None => return self.path.is_empty() && self.test == Test::Present,
        }
        match &self.test {
            Test::Absent => found.is_empty(),
            Test::Present => !found.is_empty(),
            test if every => !found.is_empty() && found.iter().all(|value| test.accepts(value)),
            test => found.iter().any(|value| test.accepts(value)),
        }
    }
}

impl Test {
    fn accepts(&self, value: &Json) -> bool {
        match self {
            Test::Equals(wanted) => wanted.equals(value),
            Test::OneOf(wanted) => wanted.iter().any(|wanted| wanted.equals(value)),
            Test::Prefix(prefix) => value.as_str().is_some_and(|text| text.starts_with(prefix)),
            Test::Glob(glob) => value.as_str().is_some_and(|text| glob.matches(text)),
            Test::Absent => false,
            Test::Present => true,
        }
    }
}

/// Collects the values at a path whose first segment is a member.
fn collect_member<'v>(object: &'v Object, path: &str, found: &mut Vec<&'v Json>) {
    let (segment, rest) = split(path);
    if let Some(value) = object.get(&unescape(segment)) {
        collect(value, rest, found);
    }
}

/// Collects the values at the remaining path; `None` is its end.
fn collect<'v>(value: &'v Json, path: Option<&str>, found: &mut Vec<&'v Json>) {
    let Some(path) = path else {
        found.push(value);
        return;
    };
    match value {
        Json::Object(object) => collect_member(object, path, found),
        Json::Array(items) => {
            let (segment, rest) = split(path);
            if segment == "*" {
                for item in items {
                    collect(item, rest, found);
                }
            } else if let Some(item) = segment.parse::<usize>().ok().and_then(|at| items.get(at)) {
                collect(item, rest, found);
            }
        }
        _ => {}
    }
}

/// Returns the first segment of a path, and the remaining path.
fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(segment, rest)| (segment, Some(rest)))
}
