//! Whether a chunk is but one more piece of what has begun, told by its text.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Keys of which something is noted.
static NOTED: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["\"name\"", "\"error\""].map(Finder::new));

/// Keys of which something is noted unless they are null, as many vendors say them in each chunk.
static NULLABLE: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["\"finish_reason\"", "\"usage\""].map(Finder::new));

/// Whether nothing is noted of a chunk. If in doubt, it is not so.
pub(super) fn is_mere(data: &str) -> bool {
    data.starts_with('{')
        && NOTED.iter().all(|key| key.find(data.as_bytes()).is_none())
        && NULLABLE.iter().all(|key| !says(data, key))
}

/// Whether a key stands in a text with anything but null after it. In the words of a model its last
/// quote would be escaped.
fn says(data: &str, key: &Finder<'_>) -> bool {
    key.find_iter(data.as_bytes()).any(|at| {
        let rest = data[at + key.needle().len()..].trim_start();
        rest.strip_prefix(':').is_none_or(|value| !value.trim_start().starts_with("null"))
    })
}
