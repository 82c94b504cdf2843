//! The exact value of a number, for comparison and divisibility without rounding.

use std::cmp::Ordering;

/// A decimal number that borrows its digits. Different notations of one value are equal (`1`,
/// `1.0`, `10e-1`).
#[derive(Debug, Clone, Copy)]
pub struct Decimal<'t> {
    negative: bool,
    /// The significant digits: these, then those of `fraction`; without leading and trailing zeros
    whole: &'t str,
    fraction: &'t str,
    /// The position of the decimal point, relative to the first significant digit
    point: i64,
}

impl<'t> Decimal<'t> {
    /// Parses text that is a JSON number.
    pub fn new(text: &'t str) -> Decimal<'t> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut whole = whole.trim_start_matches('0');
        let mut fraction = fraction.trim_end_matches('0');
        let mut point = exponent.saturating_add(length(whole));
        if whole.is_empty() {
            let significant = fraction.trim_start_matches('0');
            point = exponent.saturating_sub(length(fraction) - length(significant));
            fraction = significant;
        }
        if fraction.is_empty() {
            whole = whole.trim_end_matches('0');
        }
        let zero = whole.is_empty() && fraction.is_empty();
        if zero {
            point = 0;
        }
        Decimal { negative: negative && !zero, whole, fraction, point }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// Returns the number of significant digits.
    fn count(&self) -> i64 {
        length(self.whole) + length(self.fraction)
    }

    fn digits(&self) -> impl Iterator<Item = u8> + 't {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    /// Whether the value is an integer.
    pub fn is_integer(&self) -> bool {
        self.count() <= self.point || self.is_zero()
    }

    /// Returns the value, if it is an integer and fits.
    pub fn to_i128(self) -> Option<i128> {
        if !self.is_integer() || self.point > 39 {
            return None;
        }
        let zeros = u32::try_from(self.point - self.count()).unwrap_or(0);
        let mut value: i128 = 0;
        for digit in self.digits() {
            // Accumulates with the sign, because there is one more negative number than positive
            // ones.
            let digit = i128::from(digit - b'0');
            let digit = if self.negative { -digit } else { digit };
            value = value.checked_mul(10)?.checked_add(digit)?;
        }
        value.checked_mul(10_i128.checked_pow(zeros)?)
    }

    /// Writes the canonical notation of this value.
    pub fn write(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        out.push('.');
        out.push_str(self.whole);
        out.push_str(self.fraction);
        out.push('e');
        out.push_str(&self.point.to_string());
    }

    /// Whether this is a multiple of another; `None` if the other is zero or has too many digits
    /// for an exact division.
    pub fn is_multiple_of(&self, other: &Decimal<'_>) -> Option<bool> {
        if other.is_zero() {
            return None;
        }
        let mut divisor: u128 = 0;
        for digit in other.digits() {
            divisor = divisor * 10 + u128::from(digit - b'0');
            if divisor > u128::from(u64::MAX) {
                return None;
            }
        }
        if self.is_zero() {
            return Some(true);
        }
        // This is m·10^a and the other n·10^b, where neither m nor n ends in a zero.
        let (own, others) = (self.point - self.count(), other.point - other.count());
        let Ok(mut power) = u64::try_from(own.saturating_sub(others)) else {
            // m would have to be a multiple of ten.
            return Some(false);
        };
        let mut remainder = self
            .digits()
            .fold(0, |remainder, digit| (remainder * 10 + u128::from(digit - b'0')) % divisor);
        let mut ten = 10 % divisor;
        while power > 0 {
            if power & 1 == 1 {
                remainder = remainder * ten % divisor;
            }
            ten = ten * ten % divisor;
            power >>= 1;
        }
        Some(remainder == 0)
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal<'_> {}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |decimal: &Decimal<'_>| match (decimal.is_zero(), decimal.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let (own, others) = (sign(self), sign(other));
        if own != others || own == 0 {
            return own.cmp(&others);
        }
        let size = self.point.cmp(&other.point).then_with(|| self.digits().cmp(other.digits()));
        if self.negative { size.reverse() } else { size }
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX / 4)
}

/// Clamps the exponent, so that sums cannot overflow.
fn read_exponent(text: &str) -> i64 {
    const MAX_EXPONENT: i64 = i64::MAX / 4;
    match text.strip_prefix('+').unwrap_or(text).parse::<i64>() {
        Ok(exponent) => exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT),
        Err(_) if text.starts_with('-') => -MAX_EXPONENT,
        Err(_) => MAX_EXPONENT,
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn order(a: &str, b: &str) -> std::cmp::Ordering {
        Decimal::new(a).cmp(&Decimal::new(b))
    }

    #[test]
    fn values_compare_by_their_digits() {
        for (less, more) in [
            ("-1", "0"),
            ("-2", "-1"),
            ("-1e400", "-1e399"),
            ("0.1", "0.10000000000000000001"),
            ("9007199254740992", "9007199254740993"),
            ("9", "10"),
            ("0.09", "0.1"),
            ("1e-400", "1e-399"),
            ("1234567890123456789012345", "1234567890123456789012346"),
            ("1e400", "1e99999999999999999999"),
        ] {
            assert!(order(less, more).is_lt(), "{less} {more}");
            assert!(order(more, less).is_gt(), "{more} {less}");
        }
        for (a, b) in
            [("1", "1.0"), ("10", "1e1"), ("0", "-0.0"), ("0.001", "1e-3"), ("120", "0.12E+3")]
        {
            assert!(order(a, b).is_eq(), "{a} {b}");
        }
    }

    #[test]
    fn whole_numbers_are_whole_however_written() {
        for text in ["0", "-0.0", "5.0", "1e400", "1234567890123456789012345", "1.50e1", "10e-1"] {
            assert!(Decimal::new(text).is_integer(), "{text}");
        }
        for text in ["0.5", "1e-400", "1.55e1", "12345678901234567890.5"] {
            assert!(!Decimal::new(text).is_integer(), "{text}");
        }
        assert_eq!(Decimal::new("-1.50e1").to_i128(), Some(-15));
        assert_eq!(Decimal::new("18446744073709551616").to_i128(), Some(1 << 64));
        assert_eq!(Decimal::new("1e400").to_i128(), None);
        assert_eq!(Decimal::new(&i128::MIN.to_string()).to_i128(), Some(i128::MIN));
        assert_eq!(Decimal::new(&i128::MAX.to_string()).to_i128(), Some(i128::MAX));
    }

    #[test]
    fn multiples_are_exact() {
        let multiple = |a, b| Decimal::new(a).is_multiple_of(&Decimal::new(b));
        for (a, b) in [("0.3", "0.1"), ("14", "7"), ("1e400", "2"), ("0", "3")] {
            assert_eq!(multiple(a, b), Some(true), "{a} {b}");
        }
        assert_eq!(multiple("19.99", "0.01"), Some(true));
        assert_eq!(multiple("123456789012345678901234500", "100"), Some(true));
        assert_eq!(multiple("123456789012345678901234501", "100"), Some(false));
        assert_eq!(multiple("1e400", "3"), Some(false));
        assert_eq!(multiple("0.35", "0.1"), Some(false));
        assert_eq!(multiple("1e-400", "1"), Some(false));
        assert_eq!(multiple("1", "0"), None);
        assert_eq!(multiple("1", "123456789012345678901234567"), None);
    }
}
