//! Text around the arguments: fences, tags and prose.

/// The text after a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tail {
    Blank,
    /// Unmatched closing brackets
    Closers(usize),
    /// Prose, fences, tags
    Prose,
    /// Another document, at this offset
    More(usize),
    /// Text that may belong to the document
    Garbage,
}

/// The location of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Body<'t> {
    /// From the first bracket to the closing fence or tag, or to the end
    pub(super) text: &'t str,
    /// Whether there was surrounding text
    pub(super) dressed: bool,
}

/// Finds the first bracket that begins a document.
pub(super) fn body(text: &str) -> Option<Body<'_>> {
    let spaced = text.trim_matches([' ', '\t', '\n', '\r']);
    let text = spaced.trim_matches(is_blank);
    // A byte order mark, or white space that JSON does not allow.
    let dressed = text.len() < spaced.len();
    if text.starts_with(['"', '\'']) {
        return Some(Body { text, dressed });
    }
    if let Some(text) = quoted(text) {
        return Some(Body { text, dressed: true });
    }
    let start = document(text)?;
    let (head, rest) = text.split_at(start);
    if head.is_empty() {
        return Some(Body { text, dressed });
    }
    is_head(head).then(|| Body { text: undress(head, rest), dressed: true })
}

/// Returns the name and the arguments of a call in Python syntax, alone or as the single item of a
/// list: `[tool(a='x')]`.
pub(super) fn python_call(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let (name, rest) = text.trim().split_once('(')?;
    let arguments = rest.strip_suffix(')')?.trim();
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-'))
    };
    let (first, _) = arguments.split_once('=')?;
    (is_name(name) && is_name(first.trim_end())).then_some((name, arguments))
}

/// Returns a string that is the only content of a fence or tag.
fn quoted(text: &str) -> Option<&str> {
    let inner = if text.starts_with("```") {
        text.split_once('\n')?.1.trim_end().strip_suffix("```")?
    } else {
        let (tag, rest) = text.strip_prefix('<')?.split_once('>')?;
        let (inner, close) = rest.rsplit_once("</")?;
        let name = close.strip_suffix('>')?;
        tag.starts_with(name).then_some(inner)?
    };
    let inner = inner.trim_matches(is_blank);
    let quote = inner.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    (inner.len() > 1 && inner.ends_with(quote)).then_some(inner)
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{feff}'
}

/// Returns the start of a document; a name in brackets is part of the prose.
fn document(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find(['{', '[', '｛', '［'])?;
        match placeholder(&text[at..]) {
            Some(length) => at += length,
            None => return Some(at),
        }
    }
}

/// Returns the length of a short name, note or number in brackets.
fn placeholder(text: &str) -> Option<usize> {
    let close = if text.starts_with('{') { '}' } else { ']' };
    let inner = text.get(1..)?;
    let is_part =
        |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | ' ' | '-' | '.' | '/');
    let length: usize = inner.chars().take(64).take_while(is_part).map(char::len_utf8).sum();
    let closes = inner[length..].starts_with(close) && !inner[..length].trim().is_empty();
    // A list of one number in prose is a citation; alone it is a list.
    closes.then_some(length + 2).filter(|end| !text[*end..].trim().is_empty() || close == '}')
}

/// Whether the text before a document cannot be part of it.
fn is_head(head: &str) -> bool {
    is_prose(head) && !head.trim_end().ends_with([',', '"', '\'', '[', '{', '\\'])
}

/// Whether a text is prose: it has no key, that is, no quote before a colon.
fn is_prose(text: &str) -> bool {
    let mut before = ' ';
    for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
        if matches!(letter, ':' | '：') && matches!(before, '"' | '\'' | '”' | '“') {
            return false;
        }
        before = letter;
    }
    true
}

/// Whether quotes and brackets are balanced. If not, some belong to the document.
fn is_balanced(text: &str) -> bool {
    let mut open = Vec::new();
    for letter in text.chars() {
        match letter {
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' if open.pop() != Some(letter) => return false,
            _ => {}
        }
    }
    open.is_empty() && text.matches('"').count().is_multiple_of(2)
}

/// Removes the fence or tag that closes what the head opened.
fn undress<'t>(head: &str, rest: &'t str) -> &'t str {
    let opened = head.trim_end();
    let line = opened.rsplit('\n').next().unwrap_or_default();
    let close = if line.contains("```") {
        rest.rfind("\n```").or_else(|| rest.rfind("```"))
    } else if line.ends_with('>') {
        let name = line.rsplit('<').next().unwrap_or_default();
        let name: String =
            name.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        if name.is_empty() { None } else { rest.rfind(&format!("</{name}")) }
    } else {
        None
    };
    match close {
        Some(close) if is_tail(&rest[close..]) => &rest[..close],
        _ => rest,
    }
}

fn is_tail(text: &str) -> bool {
    matches!(tail(text), Tail::Blank | Tail::Prose)
}

/// Classifies the text after a document.
pub(super) fn tail(text: &str) -> Tail {
    let rest = text.trim_matches(is_blank);
    let closers = rest.bytes().take_while(|byte| matches!(byte, b'}' | b']')).count();
    let after = rest[closers..].trim_start_matches(is_blank);
    if rest.is_empty() {
        return Tail::Blank;
    }
    if after.starts_with([',', ':', '"', '\'', '=', '}', ']', '\\', '“', '”', '，', '：']) {
        return Tail::Garbage;
    }
    match document(after) {
        Some(start) if closers == 0 => {
            let gap = &after[..start];
            let offset = text.len() - text.trim_start_matches(is_blank).len();
            if gap.is_empty() || is_head(gap) { Tail::More(offset) } else { Tail::Garbage }
        }
        Some(_) => Tail::Garbage,
        None if !is_prose(after) || !is_balanced(after) => Tail::Garbage,
        None if closers > 0 && after.is_empty() => Tail::Closers(closers),
        None if closers > 0 => Tail::Garbage,
        None => Tail::Prose,
    }
}
