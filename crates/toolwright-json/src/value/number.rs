//! A JSON number with its exact digits.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use crate::decimal::Decimal;

/// A number as text, so that no digit and no exponent is lost.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Cow<'static, str>);

/// Most numbers of a stream are single digits, which need no allocation.
const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

impl Number {
    /// Creates a number from text that the parser accepted.
    pub(crate) fn from_digits(text: &str) -> Number {
        match text.as_bytes() {
            [digit @ b'0'..=b'9'] => Number(DIGITS[usize::from(digit - b'0')].into()),
            _ => Number(text.to_owned().into()),
        }
    }

    /// Parses a JSON number; `None` for anything else.
    pub fn parse(text: &str) -> Option<Number> {
        match super::Json::parse(text) {
            Ok(super::Json::Number(number)) if number.as_str() == text => Some(number),
            _ => None,
        }
    }

    /// Returns the digits as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value, if it is an integer that fits a `u64`; `3.0` counts as 3.
    pub fn as_u64(&self) -> Option<u64> {
        if let Ok(value) = self.0.parse() {
            return Some(value);
        }
        let whole = self.0.strip_suffix(".0")?;
        whole.parse().ok()
    }

    /// Returns the value like [`Self::as_u64`], but a larger one becomes the maximum.
    pub fn as_count(&self) -> Option<u64> {
        let is_larger = || self.compare(&Number::from(u64::MAX)).is_gt();
        self.as_u64().or_else(|| is_larger().then_some(u64::MAX))
    }

    /// Whether the value is an integer, such as `5.0` and `1e400`.
    pub fn is_integer(&self) -> bool {
        !self.0.contains(['.', 'e', 'E']) || self.decimal().is_integer()
    }

    /// Compares the values, in any notation.
    pub fn compare(&self, other: &Number) -> Ordering {
        self.decimal().cmp(&other.decimal())
    }

    /// Returns the value, for exact arithmetic.
    pub fn decimal(&self) -> Decimal<'_> {
        Decimal::new(&self.0)
    }

    /// Returns the nearest double; for comparisons only.
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        let known = usize::try_from(value).ok().and_then(|value| DIGITS.get(value));
        Number(known.map_or_else(|| value.to_string().into(), |digit| (*digit).into()))
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number(value.to_string().into())
    }
}
