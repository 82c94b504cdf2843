//! Durations such as `500ms`, `10s`, `5m`, `1h`, `30d`.

use std::time::Duration;

/// The units, for error messages.
pub const UNITS: &str = "ms, s, m, h, d";

/// Parses an integer with its unit.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let number: u64 = text[..end].parse().ok()?;
    let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
    let duration = match text[end..].trim_start() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(3600),
        "d" => seconds(24 * 3600),
        _ => None,
    };
    duration.filter(|duration| *duration <= MAX_DURATION)
}

/// Maximum duration, which can be added to a clock without overflow.
const MAX_DURATION: Duration = Duration::from_hours(24 * 365);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_unit() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse("10s"), Some(Duration::from_secs(10)));
        assert_eq!(parse(" 5 m "), Some(Duration::from_mins(5)));
        assert_eq!(parse("1h"), Some(Duration::from_hours(1)));
        assert_eq!(parse("30d"), Some(Duration::from_hours(720)));
        assert_eq!(parse("0s"), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_no_length_of_time_is_refused() {
        for text in
            ["", "10", "s", "-1s", "1.5s", "10sec", "1s1", "18446744073709551615h", "9000h", "366d"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
