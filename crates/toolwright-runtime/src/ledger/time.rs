//! Times in RFC 3339 with microseconds, in UTC: `2026-11-15T05:15:00.000000Z`.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright_core::date;

/// Formats a time. Times before 1970 become 1970.
pub(super) fn write(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut text = date::write(since.as_secs());
    let _ = write!(text, ".{:06}Z", since.subsec_micros());
    text
}

/// Parses a time in exactly this form.
pub(super) fn read(text: &str) -> Option<SystemTime> {
    let (seconds, micros) = text.strip_suffix('Z')?.split_once('.')?;
    let time = UNIX_EPOCH
        + Duration::from_secs(date::read(seconds)?)
        + Duration::from_micros(micros.parse().ok()?);
    (write(time) == text).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_text_and_back() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
            (1_794_719_700_250_000, "2026-11-15T05:15:00.250000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_micros(micros);
            assert_eq!(write(time), text);
            assert_eq!(read(text), Some(time));
        }
        assert_eq!(write(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "Z",
            "2026-11-15",
            "2026-11-15T05:15:00Z",
            "2026-11-15T05:15:00.25Z",
            "2026-02-29T00:00:00.000000Z",
            "2026-13-01T00:00:00.000000Z",
            "2026-00-01T00:00:00.000000Z",
            "2026-11-15T24:00:00.000000Z",
            "2026-11-15T05:15:00.000000+01:00",
            "1969-12-31T23:59:59.000000Z",
            "+026-11-15T05:15:00.000000Z",
            "99999999999999999999-11-15T05:15:00.000000Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
