//! Claude, at Anthropic, on Bedrock, on Vertex and behind other gateways.

use super::{Family, FixedSampling, version, words};

/// Effort words since Opus 4.7.
const ALL: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// Minimum `budget_tokens`.
const LEAST_BUDGET: u64 = 1024;

/// Any Claude model.
const ANY: Family = Family { context_window: Some(200_000), ..Family::UNKNOWN };

/// Families since Opus 4.7: adaptive thinking only, sampling settings refused.
const ADAPTIVE: Family = Family {
    max_output: Some(128_000),
    fixed_sampling: FixedSampling::Always,
    efforts: ALL,
    hidden: true,
    ..ANY
};

/// Families that think by default, and can be switched off.
const DEFAULT_ON: Family = Family { default_on: true, late_system: true, ..ADAPTIVE };

/// Families that always think, and therefore refuse a forced call.
const ALWAYS_ON: Family = Family { can_disable: false, forced_choice: false, ..DEFAULT_ON };

/// Families up to 4.5: thinking needs a budget.
const BUDGET: Family = Family {
    max_output: Some(64_000),
    fixed_sampling: FixedSampling::WhileThinking,
    budget: Some((LEAST_BUDGET, 63_999)),
    adaptive: false,
    ..ANY
};

/// 4.6: budgets and adaptive thinking.
const BOTH: Family = Family {
    max_output: Some(128_000),
    one_of_sampling: true,
    efforts: &["low", "medium", "high", "max"],
    budget: Some((LEAST_BUDGET, 127_999)),
    adaptive: true,
    ..BUDGET
};

/// A model of unknown version with Claude's interface: every thinking setting is passed on.
pub const ANY_CLAUDE: Family = Family {
    name: "any",
    context_window: None,
    max_output: None,
    one_of_sampling: false,
    efforts: ALL,
    budget: Some((LEAST_BUDGET, u64::MAX)),
    ..BOTH
};

/// Families that do not think.
const PLAIN: Family = Family { max_output: Some(8192), ..ANY };

/// A row of the table: the tier, the first version, and the family.
type Row = (&'static [&'static str], (u32, u32), Family);

/// All families, newest first within each tier. An empty tier stands for every tier.
pub const CLAUDE: &[Row] = &[
    (&["fable", "mythos"], (0, 0), Family { name: "fable, mythos", ..ALWAYS_ON }),
    (&["opus"], (5, 5), Family { name: "opus 5.5", ..ALWAYS_ON }),
    (&["opus"], (5, 0), Family { name: "opus 5", ..DEFAULT_ON }),
    (&["opus"], (4, 8), Family { name: "opus 4.8", late_system: true, ..ADAPTIVE }),
    (&["opus"], (4, 7), Family { name: "opus 4.7", ..ADAPTIVE }),
    (&["opus"], (4, 6), Family { name: "opus 4.6", ..BOTH }),
    (
        &["opus"],
        (4, 5),
        Family {
            name: "opus 4.5",
            one_of_sampling: true,
            efforts: &["low", "medium", "high"],
            ..BUDGET
        },
    ),
    (
        &["opus"],
        (4, 1),
        Family {
            name: "opus 4.1",
            max_output: Some(32_000),
            one_of_sampling: true,
            budget: Some((LEAST_BUDGET, 31_999)),
            ..BUDGET
        },
    ),
    (
        &["opus"],
        (4, 0),
        Family {
            name: "opus 4",
            max_output: Some(32_000),
            budget: Some((LEAST_BUDGET, 31_999)),
            ..BUDGET
        },
    ),
    (&["sonnet"], (5, 5), Family { name: "sonnet 5.5", ..ALWAYS_ON }),
    (&["sonnet"], (5, 0), Family { name: "sonnet 5", ..DEFAULT_ON }),
    (&["sonnet"], (4, 6), Family { name: "sonnet 4.6", ..BOTH }),
    (&["sonnet"], (4, 5), Family { name: "sonnet 4.5", one_of_sampling: true, ..BUDGET }),
    (&["sonnet"], (4, 0), Family { name: "sonnet 4", ..BUDGET }),
    (&["sonnet"], (3, 7), Family { name: "sonnet 3.7", ..BUDGET }),
    (&["haiku"], (5, 0), Family { name: "haiku 5.5", ..DEFAULT_ON }),
    (&["haiku"], (4, 5), Family { name: "haiku 4.5", one_of_sampling: true, ..BUDGET }),
    (&[], (3, 5), Family { name: "claude 3.5", ..PLAIN }),
    (&[], (0, 0), Family { name: "claude 3", max_output: Some(4096), ..PLAIN }),
];

/// Returns the family of a Claude model; `None` for other ids. An id with a tier and no version
/// gets the newest family of that tier.
pub fn claude(model: &str) -> Option<&'static Family> {
    let words = words(model);
    let at = words.iter().position(|word| word == "claude")?;
    let words = &words[at + 1..];
    let has = |tier: &&str| words.iter().any(|word| word == tier);
    let version = match version(words) {
        Some(version) => version,
        None if ["fable", "mythos", "opus", "sonnet", "haiku"].iter().any(has) => (u32::MAX, 0),
        None => return None,
    };
    let row = CLAUDE
        .iter()
        .find(|(tiers, since, _)| (tiers.is_empty() || tiers.iter().any(has)) && version >= *since);
    row.map(|(_, _, family)| family)
}
