//! Times by RFC 3339, to the microsecond and in UTC: `2026-11-15T05:15:00.000000Z`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright_core::date;

const DAY: u64 = 86_400;

/// The text of a time. Times before 1970 become 1970.
pub(super) fn write(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, day) = date::of_day(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The time of a text in exactly the form above.
pub(super) fn read(text: &str) -> Option<SystemTime> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str| -> Option<u64> {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
    };
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, micros) = clock.split_once('.')?;
    let mut clock = clock.splitn(3, ':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let micros = number(micros)?;
    let in_range = (1970..=9999).contains(&year) && (1..=12).contains(&month) && day >= 1;
    if !in_range {
        return None;
    }
    let (year, march_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    let seconds = days * DAY + hour * 3_600 + minute * 60 + second;
    let time = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(micros);
    // Whatever is out of range (February 30th, hour 24) comes out as another text.
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
