//! "Did you mean": the word of a list that is most like another.

/// The nearest word, if it is near enough to have been meant.
pub(crate) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |known: &str| known.chars().count().max(word.chars().count()).div_ceil(3);
    words
        .into_iter()
        .map(|known| (distance(word, known), known))
        .filter(|(distance, known)| *distance <= near(known) || known.starts_with(word))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// How many letters must be added, taken away or changed, two neighbours in the wrong order being
/// one change.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = rows[i][j] + usize::from(from != to);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const WORDS: [&str; 4] = ["deadline", "read_only", "retries", "name"];

    #[test]
    fn a_slip_finds_its_word() {
        for (slip, word) in [
            ("dedline", "deadline"),
            ("readonly", "read_only"),
            ("retry", "retries"),
            ("nmae", "name"),
        ] {
            assert_eq!(nearest(slip, WORDS), Some(word), "{slip}");
        }
    }

    #[test]
    fn a_beginning_finds_its_word() {
        assert_eq!(nearest("dead", WORDS), Some("deadline"));
    }

    #[test]
    fn another_word_finds_none() {
        assert_eq!(nearest("colour", WORDS), None);
    }
}
