//! Google's Gemini models.

use super::{Family, version, words};

/// Effort words (`thinkingLevel`) of the third generation's Flash models.
const ALL: &[&str] = &["minimal", "low", "medium", "high"];

/// Models that do not think.
const PLAIN: Family =
    Family { context_window: Some(1_048_576), max_output: Some(8192), ..Family::UNKNOWN };

/// Models that think, and show it on request.
const THINKING: Family =
    Family { max_output: Some(65_536), default_on: true, hidden: true, ..PLAIN };

/// A model of unknown version: levels and budgets are passed on.
pub const ANY_GEMINI: Family = Family {
    name: "any",
    context_window: None,
    max_output: None,
    efforts: ALL,
    budget: Some((1, u64::MAX)),
    ..THINKING
};

/// A row of the table: a word that the id must contain (or none), the first version, and the
/// family.
type Row = (&'static str, (u32, u32), Family);

/// All families. Rows with a word precede those without.
pub const GEMINI: &[Row] = &[
    (
        "pro",
        (3, 1),
        Family {
            name: "gemini 3.1 pro",
            efforts: &["low", "medium", "high"],
            budget: Some((128, 32_768)),
            can_disable: false,
            ..THINKING
        },
    ),
    (
        "pro",
        (3, 0),
        Family {
            name: "gemini 3 pro",
            efforts: &["low", "high"],
            budget: Some((128, 32_768)),
            can_disable: false,
            ..THINKING
        },
    ),
    (
        "",
        (3, 0),
        Family {
            name: "gemini 3",
            efforts: ALL,
            budget: Some((1, 24_576)),
            can_disable: false,
            ..THINKING
        },
    ),
    (
        "pro",
        (2, 5),
        Family {
            name: "gemini 2.5 pro",
            budget: Some((128, 32_768)),
            can_disable: false,
            ..THINKING
        },
    ),
    (
        "lite",
        (2, 5),
        Family {
            name: "gemini 2.5 flash lite",
            budget: Some((512, 24_576)),
            default_on: false,
            ..THINKING
        },
    ),
    ("", (2, 5), Family { name: "gemini 2.5", budget: Some((1, 24_576)), ..THINKING }),
    ("", (0, 0), Family { name: "gemini 2", ..PLAIN }),
];

/// Returns the family of a Gemini model; `None` for other ids and for ids without a version.
pub fn gemini(model: &str) -> Option<&'static Family> {
    let words = words(model);
    let at = words.iter().position(|word| word == "gemini")?;
    let version = version(&words[at + 1..])?;
    let has = |word: &str| word.is_empty() || words.iter().any(|own| own == word);
    let row = GEMINI.iter().find(|(word, since, _)| has(word) && version >= *since);
    row.map(|(_, _, family)| family)
}
