//! Rust as text: code without its comments and strings, and the paths that it names.

/// Blanks comments and the contents of literals, and keeps the lines.
pub(super) fn code(text: &str) -> String {
    blanked(text, |_| true)
}

/// Blanks comments, and keeps the lines.
pub(super) fn without_comments(text: &str) -> String {
    blanked(text, |literal| literal.starts_with('/'))
}

/// Blanks those comments and literals that are to be blanked.
fn blanked(text: &str, is_blanked: impl Fn(&str) -> bool) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(text, at).unwrap_or(at);
        if end == at {
            let width = text[at..].chars().next().map_or(1, char::len_utf8);
            out.push_str(&text[at..at + width]);
            at += width;
        } else {
            let literal = &text[at..end];
            if is_blanked(literal) {
                let blank = |character: char| if character == '\n' { '\n' } else { ' ' };
                out.extend(literal.chars().map(blank));
            } else {
                out.push_str(literal);
            }
            at = end;
        }
    }
    out
}

/// The end of the comment, string or character that starts here, if any.
fn literal_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let in_word = at > 0 && word(text.as_bytes()[at - 1]);
    let until = |length: Option<usize>| Some(length.map_or(text.len(), |length| at + length));
    if rest.starts_with("//") {
        return until(rest.find('\n'));
    }
    if rest.starts_with("/*") {
        return until(block_comment(rest));
    }
    if rest.starts_with('"') {
        return until(quoted(rest, '"'));
    }
    if !in_word && (rest.starts_with("r\"") || rest.starts_with("r#")) {
        let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
        if rest[1 + hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let body = hashes + 2;
            return until(rest[body..].find(&close).map(|end| body + end + close.len()));
        }
    }
    if let Some(inner) = rest.strip_prefix('\'') {
        // A lifetime has no closing quote after one character.
        let mut characters = inner.chars();
        let first = characters.next()?;
        return (first == '\\' || characters.next() == Some('\''))
            .then(|| until(quoted(rest, '\'')))?;
    }
    None
}

fn block_comment(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    None
}

fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return Some(index + quote.len_utf8());
        }
    }
    None
}

/// A path in code, with groups expanded: `use a::{b, c::d}` names `a::b` and `a::c::d`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) line: usize,
    pub(super) segments: Vec<String>,
}

/// Every path of two or more segments in code that [`code`] has blanked.
pub(super) fn paths(code: &str) -> Vec<Named> {
    let mut tokens = Tokens { code, at: 0 };
    let mut found = Vec::new();
    while let Some(token) = tokens.next() {
        if is_word(token.text) && tokens.peek() == Some("::") {
            path(&mut tokens, vec![token.text.to_owned()], token.line, &mut found);
        }
    }
    found
}

/// Reads what follows a segment, to the end of the path or of its group.
fn path(tokens: &mut Tokens<'_>, mut sofar: Vec<String>, line: usize, found: &mut Vec<Named>) {
    while tokens.peek() == Some("::") {
        tokens.next();
        match tokens.peek() {
            Some("{") => {
                tokens.next();
                while let Some(token) = tokens.next() {
                    match token.text {
                        "}" => return,
                        word if is_word(word) => {
                            let mut own = sofar.clone();
                            own.push(word.to_owned());
                            path(tokens, own, token.line, found);
                        }
                        _ => {}
                    }
                }
                return;
            }
            Some(word) if is_word(word) => {
                sofar.push(word.to_owned());
                tokens.next();
            }
            _ => break,
        }
    }
    if sofar.len() > 1 {
        found.push(Named { line, segments: sofar });
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

struct Token<'t> {
    text: &'t str,
    line: usize,
}

struct Tokens<'t> {
    code: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    fn peek(&self) -> Option<&'t str> {
        Tokens { code: self.code, at: self.at }.next().map(|token| token.text)
    }

    fn next(&mut self) -> Option<Token<'t>> {
        let rest = &self.code[self.at..];
        let start = self.at + rest.find(|character: char| !character.is_whitespace())?;
        let rest = &self.code[start..];
        let word = |character: char| character.is_alphanumeric() || character == '_';
        let length = if rest.starts_with("::") {
            2
        } else if rest.starts_with(word) {
            rest.find(|character: char| !word(character)).unwrap_or(rest.len())
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        self.at = start + length;
        Some(Token { text: &rest[..length], line: 1 + self.code[..start].matches('\n').count() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        let text = "a // b\n\"c\\\"d\" r#\"e\"f\"# '\\'' 'g' /* h /* i */ j */ k<'l>";
        let found = code(text);
        let words: Vec<&str> = found.split_whitespace().collect();
        assert_eq!(words, ["a", "k<'l>"]);
        assert_eq!(found.lines().count(), 2);
    }

    #[test]
    fn groups_are_taken_apart() {
        let named =
            paths("use crate::dialect::{\n anthropic, bedrock::{wire, tool}};\nstd::fs::read(x);");
        let text: Vec<String> = named
            .iter()
            .map(|path| format!("{} {}", path.line, path.segments.join("::")))
            .collect();
        assert_eq!(
            text,
            [
                "2 crate::dialect::anthropic",
                "2 crate::dialect::bedrock::wire",
                "2 crate::dialect::bedrock::tool",
                "3 std::fs::read"
            ]
        );
    }
}
