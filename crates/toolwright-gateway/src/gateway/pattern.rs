//! Matches a path against the pattern of a route.
//!
//! A pattern is literal text with parameters: `{name}` stands for one segment, and `{name*}` for
//! text that may contain slashes, if only literal text follows. Neither matches empty text.

use std::ops::Range;

/// The parameters of a path that matched a pattern: each name with its range in the path, in the
/// order of the pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters(Vec<(&'static str, Range<usize>)>);

impl Parameters {
    /// The range of a parameter in the path.
    pub fn range(&self, name: &str) -> Option<Range<usize>> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, range)| range.clone())
    }

    /// The text of a parameter of this path, as it was sent.
    pub fn text<'p>(&self, name: &str, path: &'p str) -> Option<&'p str> {
        self.range(name).and_then(|range| path.get(range))
    }

    /// The parameters of this path, each with its name and text.
    pub fn iter<'p>(&self, path: &'p str) -> impl Iterator<Item = (&'static str, &'p str)> {
        self.0.iter().filter_map(move |(name, range)| Some((*name, path.get(range.clone())?)))
    }
}

/// Matches a whole path against a pattern below a base, which is a pattern without `{name*}`.
pub fn match_path(base: &'static str, pattern: &'static str, path: &str) -> Option<Parameters> {
    let mut parameters = Parameters::default();
    let start = match_prefix(base, path, 0, &mut parameters)?;
    let end = match_prefix(pattern, path, start, &mut parameters)?;
    (end == path.len()).then_some(parameters)
}

/// Matches a pattern from a position of the path, and returns where the match ends.
fn match_prefix(
    mut pattern: &'static str,
    path: &str,
    mut at: usize,
    parameters: &mut Parameters,
) -> Option<usize> {
    loop {
        // Most routes differ in their first bytes, so the literal text is not searched for its end first.
        let bytes = pattern.bytes().zip(path[at..].bytes());
        let same = bytes.take_while(|(own, other)| own == other && *own != b'{').count();
        (at, pattern) = (at + same, &pattern[same..]);
        if pattern.is_empty() {
            return Some(at);
        }
        let (name, after) = pattern.strip_prefix('{')?.split_once('}')?;
        let remaining = &path[at..];
        let (name, length) = match name.strip_suffix('*') {
            Some(name) => (name, remaining.strip_suffix(after)?.len()),
            None => (name, remaining.find('/').unwrap_or(remaining.len())),
        };
        if length == 0 {
            return None;
        }
        parameters.0.push((name, at..at + length));
        at += length;
        pattern = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(base: &'static str, pattern: &'static str, path: &str) -> Option<Vec<String>> {
        let parameters = match_path(base, pattern, path)?;
        Some(parameters.iter(path).map(|(name, text)| format!("{name}={text}")).collect())
    }

    #[test]
    fn parameters_are_segments_or_the_text_before_a_suffix() {
        let found = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect());
        for (base, pattern, path, expected) in [
            ("", "/healthz", "/healthz", found(&[])),
            ("", "/healthz", "/healthz/", None),
            ("", "/healthz", "/health", None),
            ("/v1", "/items/{id}", "/v1/items/7", found(&["id=7"])),
            ("/v1", "/items/{id}", "/v1/items/", None),
            ("/v1", "/items/{id}", "/v1/items/7/8", None),
            ("/v1", "/items/{id}/parts", "/v1/items/7/parts", found(&["id=7"])),
            ("", "/model/{m*}/converse", "/model/a/b/converse", found(&["m=a/b"])),
            ("", "/model/{m*}/converse", "/model//converse", None),
            ("", "/model/{m*}/converse", "/model/converse", None),
            ("/{x}", "/models/{m*}:go", "/p/models/a:b:go", found(&["x=p", "m=a:b"])),
            ("", "/models/{m*}", "/models/快速", found(&["m=快速"])),
        ] {
            assert_eq!(texts(base, pattern, path), expected, "{base}{pattern} {path}");
        }
    }
}
