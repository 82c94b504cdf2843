//! Names that are near another, for did-you-mean.

/// How much of a name is compared; nobody mistypes more.
const MOST: usize = 64;

/// The nearest of some names, if one is near enough to be what was meant.
///
/// A name that differs only in case and separators is nearest; else one that few edits lead to.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let folded = fold(name);
    let allowed = (folded.len() / 3).max(1);
    names
        .into_iter()
        .filter(|other| *other != name)
        .map(|other| (distance(&folded, &fold(other)), other))
        .filter(|(distance, other)| *distance <= allowed && *distance < fold(other).len().max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// A name without case and separators.
fn fold(name: &str) -> Vec<char> {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-' | '.' | ' '));
    letters.flat_map(char::to_lowercase).take(MOST).collect()
}

/// How many letters must be added, removed, replaced or swapped with a neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, other) in b.iter().enumerate() {
            let mut edits =
                (last[j] + usize::from(letter != other)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                edits = edits.min(before[j - 1] + 1);
            }
            row.push(edits);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let names = ["travel_from", "travel_to", "date", "城市"];
        assert_eq!(nearest("travelFrom", names), Some("travel_from"));
        assert_eq!(nearest("Travel-To", names), Some("travel_to"));
        assert_eq!(nearest("dtae", names), Some("date"));
        assert_eq!(nearest("城巿", names), Some("城市"));
        assert_eq!(nearest("weather", names), None);
        assert_eq!(nearest("", names), None);
    }
}
