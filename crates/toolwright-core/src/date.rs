//! Dates and times of day in UTC, in the form of RFC 3339 without fraction and offset:
//! `2026-11-15T05:15:00`.

const SECONDS_PER_DAY: u64 = 86_400;

/// Writes a time in seconds since 1970.
pub fn write(seconds: u64) -> String {
    let (days, second) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Reads a time in exactly the form that [`write()`] has, from 1970 to 9999, as seconds since 1970.
pub fn read(text: &str) -> Option<u64> {
    let (date, clock) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = day_of(year, month, day) * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second;
    // A value out of range (February 30th, hour 24) formats as another text.
    (write(seconds) == text).then_some(seconds)
}

/// Three numbers of at most four digits.
fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut numbers = text.splitn(3, separator).map(|digits| {
        let is_number = digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok())?
    });
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// Year, month and day of a day since the first of January 1970.
fn date_of(days: u64) -> (u64, u64, u64) {
    // Years begin in March, so that a leap day is the last day of its year; eras have 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_month)
}

/// The day since the first of January 1970. The thirty-first of a month that has none is a day of the
/// next month.
fn day_of(year: u64, month: u64, day: u64) -> u64 {
    let (year, march_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let leap_days = year_of_era / 4 - year_of_era / 100;
    era * 146_097 + 365 * year_of_era + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::{SECONDS_PER_DAY, read, write};

    #[test]
    fn times_become_text_and_back() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (4_107_542_399, "2100-02-28T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (1_794_719_700, "2026-11-15T05:15:00"),
        ] {
            assert_eq!((write(seconds).as_str(), read(text)), (text, Some(seconds)));
        }
        for day in (0..2_000_000).step_by(97) {
            let seconds = day * SECONDS_PER_DAY + day % SECONDS_PER_DAY;
            assert_eq!(read(&write(seconds)), Some(seconds), "{}", write(seconds));
        }
        assert!(!write(u64::MAX).is_empty());
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "T",
            "2026-11-15",
            "2026-11-15T05:15",
            "2026-11-15T05:15:00Z",
            "2026-02-29T00:00:00",
            "2026-04-31T00:00:00",
            "2026-13-01T00:00:00",
            "2026-00-01T00:00:00",
            "2026-11-15T24:00:00",
            "2026-11-15T05:60:00",
            "1969-12-31T23:59:59",
            "+026-11-15T05:15:00",
            "99999999999999999999-11-15T05:15:00",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
