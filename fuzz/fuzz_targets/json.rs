//! Any bytes through the exact JSON reader: no panic, and the parsed document is written and read
//! back unchanged, also where parts of it keep their form, or are schemas of earlier documents.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use toolwright_core::json::{Json, MAX_DEPTH, SeenSchemas, peek_and_parse};

static SEEN: LazyLock<SeenSchemas> = LazyLock::new(SeenSchemas::default);

fuzz_target!(|data: &[u8]| {
    let seen = peek_and_parse(data, &["tools"], &SEEN).map(|(_, value)| value);
    if let Ok(value) = Json::parse_bytes(data) {
        assert!(seen.is_err() != value.as_object().is_some());
        assert!(seen.is_err() || seen.as_ref() == Ok(&value));
        let plain = std::str::from_utf8(data).map(|text| Json::parse_deep(text, MAX_DEPTH));
        assert_eq!(plain.map(|plain| plain.as_ref() == Ok(&value)), Ok(true));
        let text = value.to_string();
        let again = Json::parse(&text);
        assert_eq!(again.as_ref(), Ok(&value), "{text}");
        assert_eq!(again.map(|value| value.to_string()), Ok(text));
        assert_eq!(Json::parse(&value.pretty()), Ok(value));
    }
});
