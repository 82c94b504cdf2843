//! Glob patterns for names: `*` matches any text, `?` any character.

/// A glob pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Glob(Box<str>);

impl Glob {
    /// Creates a pattern. Every text is valid.
    pub fn new(pattern: &str) -> Glob {
        Glob(pattern.into())
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches a whole name.
    pub fn matches(&self, name: &str) -> bool {
        let (mut pattern, mut rest) = (&*self.0, name);
        // The pattern after the last star, and the text that the star has not consumed.
        let mut star: Option<(&str, &str)> = None;
        loop {
            let mut next = pattern.chars();
            match (next.next(), rest.chars().next()) {
                (Some('*'), _) => {
                    pattern = next.as_str();
                    star = Some((pattern, rest));
                    continue;
                }
                (None, None) => return true,
                (Some(wanted), Some(letter)) if wanted == '?' || wanted == letter => {
                    pattern = next.as_str();
                    rest = &rest[letter.len_utf8()..];
                    continue;
                }
                _ => {}
            }
            // On a mismatch the last star consumes one more character.
            let Some((after, untaken)) = star else { return false };
            let Some(letter) = untaken.chars().next() else { return false };
            rest = &untaken[letter.len_utf8()..];
            pattern = after;
            star = Some((after, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn a_pattern_matches_the_whole_name() {
        for (pattern, name, matches) in [
            ("git_add", "git_add", true),
            ("git_add", "git_add2", false),
            ("git_*", "git_add", true),
            ("git_*", "git_", true),
            ("git_*", "agit_add", false),
            ("*_add", "git_add", true),
            ("*a*d*", "git_add", true),
            ("*a*x*", "git_add", false),
            ("g?t", "git", true),
            ("g?t", "gt", false),
            ("城?", "城市", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), matches, "{pattern} {name}");
        }
    }
}
