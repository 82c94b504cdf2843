//! Text for terminals and logs: aligned columns in any script, and no control characters.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};

use unicode_width::UnicodeWidthChar;

/// Writes text to stdout, with a newline if it has none. Control characters are escaped.
pub fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    if stdout.is_terminal() {
        return write!(stdout, "{}{end}", plain(text));
    }
    write!(stdout, "{text}{end}")
}

/// Escapes control characters in a text of several lines, except for line breaks and tabs.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unsafe(letter) && !matches!(letter, '\n' | '\t') {
            out.extend(letter.escape_unicode());
        } else {
            out.push(letter);
        }
    }
    out
}

/// Writes a number and a noun, which is `one` or `many`.
pub fn counted<N>(number: N, one: &str, many: &str) -> String
where
    N: fmt::Display + PartialEq + From<u8>,
{
    format!("{number} {}", if number == N::from(1) { one } else { many })
}

/// What sentences say that tell a model what to do next, separated by `|`.
const ADVICE: &str = "tell the user|ontinue without it|nswer without them|all the tool again|named here|\
    in several calls|for less at once";

/// Removes advice to a model from the end of a message, for a person.
pub fn without_advice(message: &str) -> &str {
    let mut text = message.trim_end();
    loop {
        let end = text.trim_end_matches('.').rfind(['.', '\n']).map_or(0, |end| end + 1);
        if !ADVICE.split('|').any(|advice| text[end..].contains(advice)) {
            return text;
        }
        text = text[..end].trim_end();
    }
}

/// Displays a text on one line: control characters and line separators are escaped.
pub struct Escaped<'t>(pub &'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_printable_ascii(self.0) {
            return out.write_str(self.0);
        }
        for letter in self.0.chars() {
            if is_unsafe(letter) {
                write!(out, "{}", letter.escape_default())?;
            } else {
                out.write_char(letter)?;
            }
        }
        Ok(())
    }
}

fn is_printable_ascii(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'))
}

/// Whether a terminal or a viewer of logs may interpret a character instead of showing it: control
/// characters, line separators, and those that change the direction of the text.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// The number of columns that an escaped text takes.
pub fn width(text: &str) -> usize {
    if is_printable_ascii(text) {
        return text.len();
    }
    let columns = text.chars().map(|letter| match letter {
        letter if is_unsafe(letter) => letter.escape_default().len(),
        letter => letter.width().unwrap_or_default(),
    });
    columns.sum()
}

/// Writes rows under a heading in aligned columns. The last column is not padded.
pub fn table(
    out: &mut impl Write,
    heading: &[impl ToString],
    rows: &[impl AsRef<[String]>],
) -> io::Result<()> {
    let heading: Vec<String> = heading.iter().map(ToString::to_string).collect();
    let all = || std::iter::once(&*heading).chain(rows.iter().map(AsRef::as_ref));
    let widest = |at: usize| all().map(|row| width(&row[at])).max().unwrap_or_default();
    let widths: Vec<usize> = (0..heading.len()).map(widest).collect();
    for row in all() {
        let mut line = String::new();
        for (cell, wide) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', wide.saturating_sub(width(cell)) + 2));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Escaped, plain, table, width, without_advice};

    #[test]
    fn columns_line_up_in_any_script() {
        let rows = [["读取".to_owned(), "a".to_owned()], ["write".to_owned(), "b".to_owned()]];
        let mut out = Vec::new();
        table(&mut out, &["工具名称", "X"], &rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "工具名称  X\n读取      a\nwrite     b\n");
        assert_eq!(width("Ａb表"), 5);
        assert_eq!((width("e\u{301}"), width("⌚")), (1, 2));
    }

    #[test]
    fn advice_to_models_is_removed_from_the_end() {
        for (message, rest) in [
            (
                "Nothing was done. Do not call it again; continue without it, or tell the user.",
                "Nothing was done.",
            ),
            (
                "- 'a.b' is missing\nCall the tool again. Correct only what is named here.",
                "- 'a.b' is missing",
            ),
            ("Continue without it.", ""),
            ("It failed: \"a.txt\" does not exist", "It failed: \"a.txt\" does not exist"),
        ] {
            assert_eq!(without_advice(message), rest);
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(plain("a\u{1b}[2Jb\n\u{202e}c\r"), "a\\u{1b}[2Jb\n\\u{202e}c\\u{d}");
    }

    #[test]
    fn an_escaped_text_is_one_line_of_its_width() {
        for (text, escaped) in [
            ("gpt-4o", "gpt-4o"),
            ("a\n\r\tb", r"a\n\r\tb"),
            ("\u{1b}[31m\u{9b}0m", r"\u{1b}[31m\u{9b}0m"),
            ("\u{202e}\u{2028}", r"\u{202e}\u{2028}"),
            ("通义/模型", "通义/模型"),
        ] {
            assert_eq!(Escaped(text).to_string(), escaped);
            assert_eq!(width(text), width(escaped));
        }
    }
}
