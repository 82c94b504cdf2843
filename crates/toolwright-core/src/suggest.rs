//! Names that are similar to a misspelled one, for "did you mean" hints.

/// Number of characters of a name that are compared.
const MAX_COMPARED_CHARS: usize = 64;

/// Suggests the most similar name, if one is similar enough.
///
/// A name that differs only in case and separators is preferred; otherwise the one with the fewest
/// edits.
pub fn suggest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    similar(name, names).min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// Suggests the most similar names, the best first, as [`suggest`] does.
pub fn suggestions<'n>(
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
    limit: usize,
) -> Vec<&'n str> {
    let mut found: Vec<(usize, &str)> = similar(name, names).collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().map(|(_, other)| other).take(limit).collect()
}

/// Returns the names that are similar enough, with their distances.
fn similar<'n>(
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> impl Iterator<Item = (usize, &'n str)> {
    let folded = fold(name);
    let allowed = (folded.chars().count() / 3).max(1);
    names.into_iter().filter(move |other| *other != name).filter_map(move |other| {
        let folded_other = fold(other);
        let distance = strsim::osa_distance(&folded, &folded_other);
        let is_similar = distance <= allowed && distance < folded_other.chars().count().max(1);
        is_similar.then_some((distance, other))
    })
}

/// Removes case and separators.
fn fold(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-' | '.' | ' '));
    letters.flat_map(char::to_lowercase).take(MAX_COMPARED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::{suggest, suggestions};

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

    #[test]
    fn the_most_similar_names_come_first() {
        let names = ["read_files", "write_file", "read_file", "weather"];
        assert_eq!(suggestions("readfile", names, 2), ["read_file", "read_files"]);
        assert!(suggestions("城市", names, 2).is_empty());
    }
}
