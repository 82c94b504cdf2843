//! Challenges of a resource that wants a token: the header `www-authenticate` (RFC 6750 §3, RFC 9728 §5.1).

/// What a resource says about the token that it wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// Why it refused the request, such as `insufficient_scope`
    pub error: Option<String>,
    /// The scopes that the request needs
    pub scopes: Vec<String>,
    /// Where the metadata of the resource is
    pub resource_metadata: Option<String>,
}

impl Challenge {
    /// Reads the challenges of a header, and returns that for bearer tokens. A header without one gives an empty
    /// challenge.
    pub fn parse(header: &str) -> Challenge {
        let mut challenge = Challenge::default();
        let mut is_bearer = false;
        let mut rest = header;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                return challenge;
            }
            let (name, after) = split(rest, |letter| " \t,=".contains(letter));
            rest = after;
            let Some(value) = after.trim_start().strip_prefix('=') else {
                is_bearer = name.eq_ignore_ascii_case("bearer");
                continue;
            };
            let value = value.trim_start();
            let (value, after) = if let Some(quoted) = value.strip_prefix('"') {
                unquote(quoted)
            } else {
                let (value, after) = split(value, |letter| " \t,".contains(letter));
                (value.to_owned(), after)
            };
            rest = after;
            match name.to_ascii_lowercase().as_str() {
                _ if !is_bearer => {}
                "error" => challenge.error = Some(value),
                "scope" => {
                    challenge.scopes = value.split_ascii_whitespace().map(str::to_owned).collect();
                }
                "resource_metadata" => challenge.resource_metadata = Some(value),
                _ => {}
            }
        }
    }

    /// Whether the token is valid, but for other scopes.
    pub fn wants_more_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// Splits a text before the first letter that ends its first word.
fn split(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// Reads a quoted string to its end, and returns what follows.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            _ => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_names_error_scopes_and_metadata() {
        for (header, error, scopes, metadata) in [
            (
                r#"Bearer resource_metadata="https://a.test/x", error="y""#,
                Some("y"),
                &[][..],
                Some("https://a.test/x"),
            ),
            (
                "Bearer error=x, resource_metadata=https://a.test/x",
                Some("x"),
                &[],
                Some("https://a.test/x"),
            ),
            (r#"bearer realm="a, \"scope=no", SCOPE="a b""#, None, &["a", "b"], None),
            (r#"Basic scope="x", Bearer scope = "y" , DPoP scope="z""#, None, &["y"], None),
            ("Bearer realm=\"x\"", None, &[], None),
            ("", None, &[], None),
            (r#"Bearer scope="never ends"#, None, &["never", "ends"], None),
        ] {
            let challenge = Challenge::parse(header);
            assert_eq!(challenge.error.as_deref(), error, "{header}");
            assert_eq!(challenge.scopes, scopes, "{header}");
            assert_eq!(challenge.resource_metadata.as_deref(), metadata, "{header}");
        }
    }
}
