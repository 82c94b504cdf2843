//! Text for terminals: columns that line up in any script, and nothing that could deceive.

use std::io::{self, IsTerminal, Write};

/// Writes text to stdout, with a line end if it has none. A terminal does not obey it.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    if stdout.is_terminal() {
        return write!(stdout, "{}{end}", plain(text));
    }
    write!(stdout, "{text}{end}")
}

/// Text whose control characters are shown and not obeyed, those that turn the direction included.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if (letter.is_control() && !matches!(letter, '\n' | '\t')) || turns {
            out.extend(letter.escape_unicode());
        } else {
            out.push(letter);
        }
    }
    out
}

/// How many columns a text takes: characters of East Asian scripts take two.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|letter| if is_wide(letter) { 2 } else { 1 }).sum()
}

fn is_wide(letter: char) -> bool {
    matches!(
        letter,
        '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{303e}'
            | '\u{3041}'..='\u{33ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{a000}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{ffe0}'..='\u{ffe6}'
            | '\u{1f300}'..='\u{1faff}'
            | '\u{20000}'..='\u{3fffd}'
    )
}

/// Writes rows under a heading, the columns lined up. The last column is as long as it likes.
pub(crate) fn table<const N: usize>(
    out: &mut impl Write,
    heading: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let heading = heading.map(str::to_owned);
    let all = || std::iter::once(&heading).chain(rows);
    let widths: Vec<usize> =
        (0..N).map(|at| all().map(|row| width(&row[at])).max().unwrap_or_default()).collect();
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
    use super::{plain, table, width};

    #[test]
    fn columns_line_up_in_any_script() {
        let rows = [["读取".to_owned(), "a".to_owned()], ["write".to_owned(), "b".to_owned()]];
        let mut out = Vec::new();
        table(&mut out, ["工具名称", "X"], &rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "工具名称  X\n读取      a\nwrite     b\n");
        assert_eq!(width("Ａb表"), 5);
    }

    #[test]
    fn a_terminal_obeys_no_text() {
        assert_eq!(plain("a\u{1b}[2Jb\n\u{202e}c\r"), "a\\u{1b}[2Jb\n\\u{202e}c\\u{d}");
    }
}
