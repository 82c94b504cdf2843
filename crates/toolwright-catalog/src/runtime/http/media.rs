//! Kinds of media types.

/// Whether the content is JSON.
pub(crate) fn is_json(media: &str) -> bool {
    let media = essence(media);
    media == "application/json" || media.ends_with("+json") || media == "text/json"
}

/// Whether the content is a form of names and values.
pub(crate) fn is_form(media: &str) -> bool {
    essence(media) == "application/x-www-form-urlencoded"
}

/// Whether the content has parts.
pub(crate) fn is_multipart(media: &str) -> bool {
    essence(media).starts_with("multipart/")
}

/// Whether the content is text.
pub(crate) fn is_text(media: &str) -> bool {
    // "xml" alone is also in the types of office documents, which are archives.
    const WORDS: [&str; 8] =
        ["text/", "json", "/xml", "+xml", "yaml", "csv", "graphql", "javascript"];
    let media = essence(media);
    is_form(&media) || WORDS.into_iter().any(|word| media.contains(word))
}

/// The type without its parameters.
fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
