//! Days of the calendar, for whoever writes a time as text.

/// Year, month and day of a day since the first of January 1970.
pub fn of_day(days: u64) -> (u64, u64, u64) {
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

/// The day since the first of January 1970 of a year, month and day; `None` if there is no such day
/// or it was before.
pub fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, march_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let leap_days = year_of_era / 4 - year_of_era / 100;
    let days = era * 146_097 + 365 * year_of_era + leap_days + day_of_year - 719_468;
    // The thirty-first of a month that has none is a day of the next.
    (of_day(days).2 == day).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::{day_of, of_day};

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        for day in (0..2_000_000).step_by(97) {
            let (year, month, of_month) = of_day(day);
            assert_eq!(day_of(year, month, of_month), Some(day), "{year}-{month}-{of_month}");
        }
        assert_eq!((day_of(1970, 1, 1), day_of(2000, 2, 29)), (Some(0), Some(11_016)));
        for (year, month, day) in [(1969, 12, 31), (2023, 2, 29), (2024, 4, 31), (2024, 13, 1)] {
            assert_eq!(day_of(year, month, day), None, "{year}-{month}-{day}");
        }
    }
}
