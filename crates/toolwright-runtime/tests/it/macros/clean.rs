//! Expansions cause no warning under any denied lint.
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications, unused_lifetimes)]
#![deny(let_underscore_drop, unused_import_braces, unused_results, trivial_casts)]
#![deny(missing_debug_implementations, single_use_lifetimes, variant_size_differences)]
#![forbid(unsafe_code)]

use toolwright_runtime::prelude::*;

// Shadowed names do not matter.
mod shadows {
    #![allow(dead_code, missing_docs, non_camel_case_types)]
    #![allow(missing_debug_implementations)]
    use ::toolwright::prelude::*;

    pub(super) struct Option;
    pub(super) struct Result;
    pub(super) struct String;
    pub(super) struct Handler;
    pub(super) mod std {}
    pub(super) mod core {}
    pub(super) mod toolwright {}
    pub(super) mod serde {}
    pub(super) mod schemars {}

    /// Adds.
    #[tool(read_only)]
    pub(super) fn shadowed(a: u8, #[default(2)] b: u8) -> u8 {
        a + b
    }
}

/// A number.
#[data]
#[derive(Debug)]
#[serde(transparent)]
pub(crate) struct Number {
    /// The value
    value: u8,
}

/// Adds.
#[tool(read_only, cache = "1m", deadline = "500ms")]
pub(crate) async fn add(
    #[context] total: &mut u64,
    #[scope] _scope: &Scope,
    /// How much
    #[schemars(range(min = 1))]
    #[default(Number { value: 1 })]
    amount: Number,
    note: &str,
) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    let _ = note;
    *total += u64::from(amount.value);
    Ok(*total)
}

/// Old.
#[tool]
#[deprecated]
#[must_use]
pub(crate) fn old() -> String {
    String::new()
}

#[tool]
#[cfg(any())]
fn never() -> Unknown {}

#[test]
fn expansions_cause_no_warning() {
    /// Repeats.
    #[tool]
    fn local(text: String) -> String {
        text
    }

    for handler in [add::handler(), shadows::shadowed::handler(), local::handler()] {
        assert!(!handler.tool().name.is_empty());
    }
    assert_eq!(old::handler().tool().name, "old");
}
