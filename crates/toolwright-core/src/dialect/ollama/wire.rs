//! Words and paths of Ollama's format, each in one place.

use crate::dialect::Dialect;
use crate::response::StopReason;

/// Whose words these are.
pub(super) const DIALECT: Dialect = Dialect::Ollama;

/// The path of every request.
pub(super) const PATH: &str = "/api/chat";

/// Where canonical fields stand on the wire.
pub(super) const SPELLING: &[(&str, &str)] = &[
    ("usage", ""),
    ("ending", ""),
    // Texts and pictures are plain strings: the value is its own origin.
    ("text", ""),
    ("media", ""),
    ("arguments", "function/arguments"),
    ("call_id", "tool_call_id"),
    // Of all names only an outcome's can be missing elsewhere.
    ("name", "tool_name"),
    ("instructions", "messages/0"),
    ("max_tokens", "options/num_predict"),
    ("temperature", "options/temperature"),
    ("top_p", "options/top_p"),
    ("top_k", "options/top_k"),
    ("stop", "options/stop"),
    ("seed", "options/seed"),
    ("thinking", "think"),
    ("effort", "think"),
    ("reason", "done_reason"),
];

/// The stop reasons, a word each. There is none for calls: what was said decides.
pub(super) const STOPS: &[(StopReason, &str)] =
    &[(StopReason::End, "stop"), (StopReason::MaxTokens, "length")];

/// The word for a reason.
pub(super) fn stop_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        _ => "stop",
    }
}

/// A time in seconds since 1970 by RFC 3339, as `created_at` says it.
pub(super) fn timestamp(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that a leap day is the last day of its year; eras have 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn seconds_become_dates() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_794_700_800, "2026-11-15T00:00:00Z"),
        ] {
            assert_eq!(timestamp(seconds), date);
        }
        assert!(timestamp(u64::MAX).ends_with('Z'));
    }
}
