//! OpenAI's models, in Chat Completions and in Responses.

use super::{Family, FixedSampling, version, words};

/// Reasoning models: sampling settings and stop sequences are refused.
const REASONING: Family = Family {
    context_window: Some(400_000),
    max_output: Some(128_000),
    fixed_sampling: FixedSampling::Always,
    stop: false,
    efforts: &["low", "medium", "high"],
    default_on: true,
    can_disable: false,
    ..Family::UNKNOWN
};

/// Models that reason only on request, and accept sampling settings otherwise.
const OPTIONAL: Family = Family {
    fixed_sampling: FixedSampling::WhileThinking,
    default_on: false,
    can_disable: true,
    ..REASONING
};

/// The o-series.
const O: Family = Family { context_window: Some(200_000), max_output: Some(100_000), ..REASONING };

/// Models that do not reason.
const PLAIN: Family = Family { can_disable: true, ..Family::UNKNOWN };

/// A row of the table: the series, a word that the id must contain (or none), the first version,
/// and the family.
type Row = (&'static str, &'static str, (u32, u32), Family);

/// All families. Rows with a word precede those without.
pub const OPENAI: &[Row] = &[
    ("o", "", (3, 0), Family { name: "o3, o4-mini", ..O }),
    ("o", "", (1, 0), Family { name: "o1", stop: true, ..O }),
    (
        "gpt",
        "chat",
        (5, 0),
        Family {
            name: "gpt-5-chat",
            context_window: Some(128_000),
            max_output: Some(16_384),
            ..PLAIN
        },
    ),
    (
        "gpt",
        "codex",
        (5, 2),
        Family { name: "gpt-5.2-codex", efforts: &["low", "medium", "high", "xhigh"], ..REASONING },
    ),
    ("gpt", "codex", (5, 0), Family { name: "gpt-5-codex", ..REASONING }),
    (
        "gpt",
        "pro",
        (5, 2),
        Family { name: "gpt-5.2-pro", efforts: &["medium", "high", "xhigh"], ..REASONING },
    ),
    ("gpt", "pro", (5, 0), Family { name: "gpt-5-pro", efforts: &["high"], ..REASONING }),
    (
        "gpt",
        "astra",
        (6, 0),
        Family {
            name: "gpt-6-astra",
            efforts: &["low", "medium", "high", "xhigh", "max"],
            tools_exclude_reasoning: true,
            ..REASONING
        },
    ),
    (
        "gpt",
        "",
        (5, 6),
        Family {
            name: "gpt-5.6",
            efforts: &["none", "low", "medium", "high", "xhigh", "max"],
            default_on: true,
            tools_exclude_reasoning: true,
            ..OPTIONAL
        },
    ),
    (
        "gpt",
        "",
        (5, 5),
        Family {
            name: "gpt-5.5",
            efforts: &["none", "low", "medium", "high", "xhigh"],
            default_on: true,
            tools_exclude_reasoning: true,
            ..OPTIONAL
        },
    ),
    (
        "gpt",
        "",
        (5, 2),
        Family {
            name: "gpt-5.2, gpt-5.4",
            efforts: &["none", "low", "medium", "high", "xhigh"],
            tools_exclude_reasoning: true,
            ..OPTIONAL
        },
    ),
    (
        "gpt",
        "",
        (5, 1),
        Family { name: "gpt-5.1", efforts: &["none", "low", "medium", "high"], ..OPTIONAL },
    ),
    (
        "gpt",
        "",
        (5, 0),
        Family { name: "gpt-5", efforts: &["minimal", "low", "medium", "high"], ..REASONING },
    ),
    (
        "gpt",
        "",
        (4, 1),
        Family {
            name: "gpt-4.1",
            context_window: Some(1_047_576),
            max_output: Some(32_768),
            ..PLAIN
        },
    ),
    (
        "gpt",
        "4o",
        (0, 0),
        Family { name: "gpt-4o", context_window: Some(128_000), max_output: Some(16_384), ..PLAIN },
    ),
    ("gpt", "turbo", (0, 0), Family { name: "gpt-4-turbo", max_output: Some(4096), ..PLAIN }),
    ("gpt", "", (0, 0), Family { name: "gpt-4", max_output: Some(8192), ..PLAIN }),
];

/// Returns the family of an OpenAI model; `None` for other ids.
pub fn openai(model: &str) -> Option<&'static Family> {
    let words = words(model);
    let words = if words.first()? == "openai" { &words[1..] } else { &words[..] };
    let (first, second) = (words.first()?, words.get(1));
    let (series, version) = match first.strip_prefix('o').and_then(|rest| rest.parse().ok()) {
        Some(major) => ("o", (major, 0)),
        // `gpt-oss` is served by others; `gpt-image` and similar models write no text.
        None if !second?.starts_with(|own: char| own.is_ascii_digit()) => return None,
        None if first == "gpt" || first == "chatgpt" => {
            ("gpt", version(&words[1..words.len().min(3)]).unwrap_or((0, 0)))
        }
        None => return None,
    };
    let has = |word: &str| word.is_empty() || words.iter().any(|own| own == word);
    let row = OPENAI
        .iter()
        .find(|(own, word, since, _)| *own == series && has(word) && version >= *since);
    row.map(|(_, _, _, family)| family)
}
