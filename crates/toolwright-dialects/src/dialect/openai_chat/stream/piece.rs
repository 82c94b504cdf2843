//! Detects chunks that only add content, by their text.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Keys that a summary needs.
static NOTED: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["\"name\"", "\"error\""].map(Finder::new));

/// Keys that a summary needs unless they are null, as many vendors send them in each chunk.
static NULLABLE: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["\"finish_reason\"", "\"usage\""].map(Finder::new));

/// Whether a summary needs nothing of a chunk. False if in doubt.
pub(super) fn is_mere(data: &str) -> bool {
    data.starts_with('{')
        && NOTED.iter().all(|key| key.find(data.as_bytes()).is_none())
        && NULLABLE.iter().all(|key| !says(data, key))
}

/// Whether a text contains a key with a value other than null. Within the model's text the quote of
/// the key would be escaped.
fn says(data: &str, key: &Finder<'_>) -> bool {
    key.find_iter(data.as_bytes()).any(|at| {
        let rest = data[at + key.needle().len()..].trim_start();
        rest.strip_prefix(':').is_none_or(|value| !value.trim_start().starts_with("null"))
    })
}
