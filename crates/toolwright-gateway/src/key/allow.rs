//! Permissions of a client: lists of name patterns.

use std::fmt;

use toolwright_runtime::call::Glob;

/// The names that a client may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Allow {
    /// Every name
    #[default]
    All,
    /// Names that match one of these patterns
    Only(Vec<Pattern>),
}

impl Allow {
    /// No name.
    pub const NONE: Allow = Allow::Only(Vec::new());

    /// Whether a name is allowed.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Allow::All => true,
            Allow::Only(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
        }
    }

    /// Whether a path or URI is allowed; every `*` matches `/`, too.
    pub fn has_path(&self, path: &str) -> bool {
        match self {
            Allow::All => true,
            Allow::Only(patterns) => patterns.iter().any(|own| Glob::new(&own.0).matches(path)),
        }
    }
}

/// A name pattern, in which `*` matches any text and `?` any character.
///
/// A `*` before the first `/` does not match a `/`: `gpt-*` means names of models, not an upstream
/// whose name happens to begin that way. `*` alone matches everything.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Creates a pattern.
    pub fn new(text: impl Into<String>) -> Pattern {
        Pattern(text.into())
    }

    /// Returns the upstream that it names, if it names exactly one.
    pub fn upstream(&self) -> Option<&str> {
        let (upstream, _) = self.0.split_once('/')?;
        (!upstream.contains('*')).then_some(upstream)
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        if self.0 == "*" {
            return true;
        }
        match (self.0.split_once('/'), name.split_once('/')) {
            (None, None) => Glob::new(&self.0).matches(name),
            (Some((upstream, model)), Some((own, rest))) => {
                Glob::new(upstream).matches(own) && Glob::new(model).matches(rest)
            }
            _ => false,
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters() {
        for (pattern, name, expected) in [
            ("fast", "fast", true),
            ("fast", "faster", false),
            ("openai/*", "openai/gpt-4o", true),
            ("openai/*", "openai", false),
            ("openrouter/*", "openrouter/meta/llama", true),
            ("*/gpt-*", "azure/gpt-4o", true),
            ("gpt-*", "gpt-4o", true),
            ("gpt-*", "gpt-x/claude", false),
            ("*", "gpt-x/claude", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*a", "a", false),
            ("**", "", true),
            ("", "", true),
            ("通义*", "通义千问", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_long_pattern_takes_no_long_time() {
        let pattern = Pattern::new("a*".repeat(1000) + "b");
        assert!(!pattern.matches(&"a".repeat(100_000)));
    }

    #[test]
    fn an_empty_list_has_no_name() {
        assert!(!Allow::Only(Vec::new()).has("fast"));
        assert!(Allow::All.has("fast"));
    }
}
