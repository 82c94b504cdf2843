//! Unescaped quotes inside a string: they must form quotations.
//!
//! After a lost quote, the strings are inverted: the end of one looks like the start of a
//! quotation. Such a reading is rejected.

/// The state of the quotations in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotation {
    /// There are none
    None,
    /// The last one is open
    Open,
    /// Each one is closed
    Closed,
    /// Each quote so far follows a digit, as for inches or minutes
    Measure,
}

impl Quotation {
    /// Returns the state after another quote, by its neighbours; `None` if it cannot be part of the
    /// string.
    pub(super) fn next(self, before: Option<char>, after: Option<char>) -> Option<Quotation> {
        let is_word_end = before.is_some_and(|before| !starts_quotation(before));
        let closes = is_word_end && after.is_none_or(ends_quotation);
        let opens = !is_word_end && after.is_some_and(|after| !ends_quotation(after));
        let measures = before.is_some_and(|digit| digit.is_ascii_digit())
            && after.is_some_and(|after| after.is_whitespace() || after == ',');
        match self {
            Quotation::None | Quotation::Measure if measures => Some(Quotation::Measure),
            Quotation::None | Quotation::Closed if !closes => Some(Quotation::Open),
            Quotation::Open if !opens => Some(Quotation::Closed),
            _ => None,
        }
    }
}

fn starts_quotation(before: char) -> bool {
    before.is_whitespace() || matches!(before, '(' | '[' | '{' | '=' | ':' | ',' | '"' | '\'' | '`')
}

fn ends_quotation(after: char) -> bool {
    after.is_whitespace()
        || matches!(after, ',' | ':' | ';' | '.' | '!' | '?' | ')' | ']' | '}' | '"' | '\'' | '`')
}
