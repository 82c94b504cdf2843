//! Members without information: explicit defaults and bookkeeping of a wire format.
//!
//! A format has many of them (`n: 1`, the index of a call, the state of an item). A target behaves
//! the same without them, so dropping one is not a [`Loss`](toolwright_core::loss::Loss). Each dialect lists
//! its own in its `wire.rs`. Canonical fields are not listed: the passes of [`fit`](crate::fit)
//! know their defaults.

use toolwright_json::Json;

use super::Dialect;

/// Whether a member of a document in this dialect means the same as its absence. The path is a
/// JSON Pointer.
pub fn is_default(dialect: Dialect, path: &str, value: &Json) -> bool {
    if value.is_null() {
        return true;
    }
    let is_key = |step: &&str| step.is_empty() || !step.bytes().all(|byte| byte.is_ascii_digit());
    let steps = || path.split('/').filter(is_key);
    let same_path = |listed: &str| match listed.strip_suffix("/*") {
        Some(above) => above.split('/').eq(steps().take(above.split('/').count())),
        None => listed.split('/').eq(steps()),
    };
    let values = super::tool_codec(dialect).defaults().iter().find(|(listed, _)| same_path(listed));
    values
        .is_some_and(|(_, values)| values.is_empty() || values.contains(&value.compact().as_str()))
}
