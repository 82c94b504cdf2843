//! Words that are similar to a misspelled one, for "did you mean" hints.

/// Suggests the word that was probably meant, if one is similar enough or starts with it.
pub(crate) fn suggest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = |known: &str| known.chars().count().max(word.chars().count()).div_ceil(3);
    words
        .into_iter()
        .map(|known| (strsim::osa_distance(word, known), known))
        .filter(|(distance, known)| *distance <= allowed(known) || known.starts_with(word))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::suggest;

    const WORDS: [&str; 4] = ["deadline", "read_only", "retries", "name"];

    #[test]
    fn a_slip_finds_its_word() {
        for (slip, word) in [
            ("dedline", "deadline"),
            ("readonly", "read_only"),
            ("retry", "retries"),
            ("nmae", "name"),
        ] {
            assert_eq!(suggest(slip, WORDS), Some(word), "{slip}");
        }
    }

    #[test]
    fn a_beginning_finds_its_word() {
        assert_eq!(suggest("dead", WORDS), Some("deadline"));
    }

    #[test]
    fn another_word_finds_none() {
        assert_eq!(suggest("colour", WORDS), None);
    }
}
