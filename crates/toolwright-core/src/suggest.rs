//! Names that are similar to a misspelled one, for "did you mean" hints.

/// Number of characters of a name that are compared.
const MAX_COMPARED_CHARS: usize = 64;

/// Suggests the most similar name, if one is similar enough.
///
/// A name that differs only in case and separators is preferred; otherwise the one with the fewest
/// edits.
pub fn suggest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let folded = fold(name);
    let allowed = (folded.chars().count() / 3).max(1);
    names
        .into_iter()
        .filter(|other| *other != name)
        .filter_map(|other| {
            let folded_other = fold(other);
            let distance = strsim::osa_distance(&folded, &folded_other);
            let is_similar = distance <= allowed && distance < folded_other.chars().count().max(1);
            is_similar.then_some((distance, other))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// Removes case and separators.
fn fold(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-' | '.' | ' '));
    letters.flat_map(char::to_lowercase).take(MAX_COMPARED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_similar_name_is_suggested_and_another_is_not() {
        let names = ["travel_from", "travel_to", "date", "城市"];
        assert_eq!(suggest("travelFrom", names), Some("travel_from"));
        assert_eq!(suggest("Travel-To", names), Some("travel_to"));
        assert_eq!(suggest("dtae", names), Some("date"));
        assert_eq!(suggest("城巿", names), Some("城市"));
        assert_eq!(suggest("weather", names), None);
        assert_eq!(suggest("", names), None);
    }
}
