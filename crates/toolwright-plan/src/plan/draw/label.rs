//! Texts of a picture: their widths, shortened texts, durations.

use unicode_width::UnicodeWidthChar;

/// Returns the width of a text in pixels, estimated for a sans-serif font of a size.
pub(super) fn width(text: &str, size: i64) -> i64 {
    (text.chars().map(tenths).sum::<i64>() * size + 9) / 10
}

/// Returns the width of a letter in tenths of the size. Wide characters, such as Chinese ones, are as wide as the font
/// is high.
fn tenths(letter: char) -> i64 {
    match letter.width() {
        None | Some(0) => 0,
        Some(1) => 6,
        Some(_) => 10,
    }
}

/// Returns the text in one line, shortened with an ellipsis if it is wider than `max` pixels.
pub(super) fn shorten(text: &str, size: i64, max: i64) -> String {
    let text: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if width(&text, size) <= max {
        return text;
    }
    let room = max - width("…", size);
    let mut used = 0;
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        used += tenths(letter) * size;
        if (used + 9) / 10 > room {
            break;
        }
        end = at + letter.len_utf8();
    }
    format!("{}…", text[..end].trim_end())
}

/// Returns a duration for people.
pub(super) fn duration(ms: u64) -> String {
    let (seconds, tenths) = (ms / 1000, ms.saturating_add(50) / 100);
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{}.{} s", tenths / 10, tenths % 10),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
