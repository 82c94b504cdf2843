//! The growing view of streamed arguments, compared with the reader of complete documents.

use proptest::prelude::*;
use toolwright_core::Json;
use toolwright_core::args::growing::{Growing, Progress};

use toolwright_testing::generate;

/// Pushes a text in fragments that end at these characters.
fn grown(text: &str, cuts: &[usize]) -> Growing {
    let letters: Vec<char> = text.chars().collect();
    let mut growing = Growing::new();
    let mut start = 0;
    for cut in cuts.iter().map(|cut| cut % (letters.len() + 1)).chain([letters.len()]) {
        if cut > start {
            growing.push(&letters[start..cut].iter().collect::<String>());
            start = cut;
        }
    }
    growing
}

/// Whether more input can turn one value into another.
fn grows_into(part: &Json, whole: &Json) -> bool {
    match (part, whole) {
        (Json::String(part), Json::String(whole)) => whole.starts_with(part.as_str()),
        (Json::Array(part), Json::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(a, b)| grows_into(a, b))
        }
        (Json::Object(part), Json::Object(whole)) => {
            let alike = |(a, b): ((&str, &Json), (&str, &Json))| a.0 == b.0 && grows_into(a.1, b.1);
            part.len() <= whole.len() && part.iter().zip(whole.iter()).all(alike)
        }
        (part, whole) => part == whole,
    }
}

proptest! {
    #[test]
    fn any_split_of_any_document_gives_the_same_tree(
        value in generate::json(),
        mut cuts in prop::collection::vec(any::<usize>(), 0..8),
        pretty in any::<bool>(),
    ) {
        let text = if pretty { value.pretty() } else { value.compact() };
        let length = text.chars().count() + 1;
        cuts.sort_by_key(|cut| cut % length);
        prop_assert_eq!(grown(&text, &cuts).finish(), Some(value));
    }

    #[test]
    fn every_view_is_a_prefix_of_the_whole(value in generate::json()) {
        let text = value.compact();
        let mut growing = Growing::new();
        let mut buffer = [0; 4];
        for letter in text.chars() {
            growing.push(letter.encode_utf8(&mut buffer));
            if let Some(view) = growing.view() {
                prop_assert!(grows_into(view, &value), "{view} of {value}");
                prop_assert!(view.pointer(&growing.path()).is_some());
            }
        }
    }

    #[test]
    fn the_growing_view_accepts_what_the_strict_reader_accepts(text in "[{}\\[\\]\",:0-2a.e+\\\\utrn d8c -]{0,16}") {
        let growing = grown(&text, &[]);
        let strict = Json::parse(&text);
        if growing.progress() == Progress::Broken {
            prop_assert!(strict.is_err());
        }
        prop_assert_eq!(growing.finish(), strict.ok());
    }
}
