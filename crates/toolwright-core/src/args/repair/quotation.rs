//! Quotes inside a string that should have been escaped: they must make quotations.
//!
//! Where a quote was lost, the strings after it are inside out: what looks like the end of one is
//! taken for the start of a quotation. Such a string is never read.

/// How far the quotations of a string are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotation {
    /// There are none
    None,
    /// The last one is open
    Open,
    /// Each one is closed
    Closed,
    /// Each quote so far stands after a digit, for inches or minutes
    Measure,
}

impl Quotation {
    /// After another quote, by what stands around it; `None` if it cannot be part of the string.
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
