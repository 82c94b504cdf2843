//! Any text as the arguments of a call: no panic, deterministic, the cheapest reading first, and
//! JSON is read unchanged. The growing view ends where the strict reader does.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use toolwright_core::args::growing::{Growing, Progress};
use toolwright_core::args::{Reading, parse};
use toolwright_core::{Arguments, Json};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((cut, rest)) = data.split_first() else { return Corpus::Reject };
    let Ok(text) = std::str::from_utf8(rest) else { return Corpus::Reject };
    let arguments = Arguments::from_text(text);
    let readings = parse(&arguments).readings;
    assert_eq!(parse(&arguments).readings, readings);
    assert!(readings.iter().map(Reading::cost).is_sorted());
    let strict = Json::parse(text);
    match &strict {
        Ok(value) => {
            assert_eq!(&readings[0], &Reading { value: value.clone(), changes: vec![] });
            assert!(readings.len() == 1 || value.as_str().is_some());
        }
        Err(_) if !text.trim().is_empty() => {
            assert!(readings.iter().all(|reading| !reading.changes.is_empty()));
        }
        Err(_) => {}
    }
    for reading in &readings {
        // The value is bounded by the text; closing or decoding a text does not lengthen it.
        assert!(reading.value.compact().len() <= 8 * text.len() + 8);
    }
    let mut growing = Growing::new();
    let mut pieces = text;
    while !pieces.is_empty() {
        let length = 1 + usize::from(*cut) % 16;
        let length = pieces.char_indices().nth(length).map_or(pieces.len(), |(at, _)| at);
        growing.push(&pieces[..length]);
        pieces = &pieces[length..];
    }
    assert!(growing.progress() != Progress::Broken || strict.is_err());
    assert_eq!(growing.finish(), strict.ok());
    Corpus::Keep
});
