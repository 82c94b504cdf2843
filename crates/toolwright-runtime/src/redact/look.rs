//! Detects secrets by pattern: keys and tokens with a recognizable form.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::MARK;

/// Patterns of secrets. A group named `keep` stays before the mark.
const LOOKS: &[&str] = &[
    // Private keys in PEM, truncated or not.
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]+-----|$)",
    // JSON Web Tokens.
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    // Passwords in URLs.
    r"(?<keep>\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+@",
    // Authorization headers: a word of at least eight characters with a digit, or a very long one.
    r"(?<keep>\b(?i:bearer|basic)\s+)(?:[A-Za-z._~+/=-]*[0-9][A-Za-z0-9._~+/=-]{7,}|[A-Za-z0-9._~+/=-]{7,}[0-9][A-Za-z0-9._~+/=-]*|[A-Za-z0-9._~+/=-]{24,})",
    // Keys by prefix.
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"\bwhsec_[A-Za-z0-9+/=]{16,}",
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,}",
    r"\bgithub_pat_[A-Za-z0-9_]{22,}",
    r"\bglpat-[A-Za-z0-9_-]{20,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\bAIza[A-Za-z0-9_-]{35}",
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bgsk_[A-Za-z0-9]{30,}",
    r"\bxai-[A-Za-z0-9]{30,}",
    r"\bnpm_[A-Za-z0-9]{36}",
    r"\bpypi-[A-Za-z0-9_-]{50,}",
    r"\bdop_v1_[a-f0-9]{64}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
];

/// A test checks that every pattern compiles.
static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| LOOKS.iter().filter_map(|look| Regex::new(look).ok()).collect());

/// Replaces each secret in a text by the mark.
pub(super) fn covered(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    // Every secret is longer than this.
    if text.len() < 10 {
        return out;
    }
    for pattern in PATTERNS.iter() {
        let replaced = pattern.replace_all(&out, |found: &Captures<'_>| {
            let end = if found[0].ends_with('@') { "@" } else { "" };
            [found.name("keep").map_or("", |keep| keep.as_str()), MARK, end].concat()
        });
        if let Cow::Owned(replaced) = replaced {
            out = Cow::Owned(replaced);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_right() {
        assert_eq!(PATTERNS.len(), LOOKS.len());
    }

    #[test]
    fn secrets_are_known_by_their_look() {
        let long = "aB3".repeat(24);
        let digits = "0123456789abcdef".repeat(4);
        for (text, covered_text) in [
            (format!("use sk-proj-{long} now"), "use [redacted] now".to_owned()),
            (format!("sk-ant-api03-{long}"), MARK.to_owned()),
            (format!("sk_live_{long}"), MARK.to_owned()),
            (format!("whsec_{long}"), MARK.to_owned()),
            ("id AKIAIOSFODNN7EXAMPLE.".to_owned(), "id [redacted].".to_owned()),
            (format!("ghp_{long}"), MARK.to_owned()),
            (format!("github_pat_{long}"), MARK.to_owned()),
            (format!("glpat-{long}"), MARK.to_owned()),
            (format!("xoxb-{long}"), MARK.to_owned()),
            (format!("AIza{}", &long[..35]), MARK.to_owned()),
            (format!("ya29.{long}"), MARK.to_owned()),
            (format!("hf_{long}"), MARK.to_owned()),
            (format!("gsk_{long}"), MARK.to_owned()),
            (format!("xai-{long}"), MARK.to_owned()),
            (format!("npm_{}", &long[..36]), MARK.to_owned()),
            (format!("pypi-{long}"), MARK.to_owned()),
            (format!("dop_v1_{digits}"), MARK.to_owned()),
            (format!("SG.{long}.{long}"), MARK.to_owned()),
            ("Bearer abcdefgh1".to_owned(), "Bearer [redacted]".to_owned()),
            ("bearer 1abcdefg".to_owned(), "bearer [redacted]".to_owned()),
            ("Basic dXNlcjpwYXNzd29yZA==".to_owned(), "Basic [redacted]".to_owned()),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0x.abc-_".to_owned(), MARK.to_owned()),
            (
                "postgres://app:hunter2@db.local/x".to_owned(),
                "postgres://app:[redacted]@db.local/x".to_owned(),
            ),
            ("redis://:hunter2@cache:6379".to_owned(), "redis://:[redacted]@cache:6379".to_owned()),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb"
                    .to_owned(),
                "a\n[redacted]\nb".to_owned(),
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIE".to_owned(), MARK.to_owned()),
        ] {
            assert_eq!(covered(&text), covered_text, "{text}");
        }
    }

    #[test]
    fn other_text_is_left() {
        for text in [
            "",
            "risk-assessment-of-the-quarterly-report",
            "task-0123456789abcdef0123",
            "basic understanding of authentication",
            "the bearer of this letter",
            "a bearer token goes into the header",
            "https://example.com:8080/a?b=c",
            "mailto:somebody@example.com",
            "user@example.com: hello",
            "sk-short",
            "AKIA",
            "eyJ",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "tw:0123456789abcdef0123456789abcdef#/rows/0",
            "9007199254740993",
        ] {
            assert_eq!(covered(text), text);
        }
    }
}
