//! Any bytes through the exact JSON reader: no panic, and the parsed document is written and read
//! back unchanged, also if parts of it keep their serialized form or are in the cache of schemas.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use toolwright_core::json::{Json, MAX_DEPTH, SchemaCache};
use toolwright_core::wire_json::{parse_bytes, peek_and_parse};

static SCHEMA_CACHE: LazyLock<SchemaCache> = LazyLock::new(SchemaCache::default);

fuzz_target!(|data: &[u8]| {
    let cached = peek_and_parse(data, &["tools"], &SCHEMA_CACHE).map(|(_, value)| value);
    if let Ok(value) = parse_bytes(data) {
        assert!(cached.is_err() != value.as_object().is_some());
        assert!(cached.is_err() || cached.as_ref() == Ok(&value));
        let plain = std::str::from_utf8(data).map(|text| Json::parse_deep(text, MAX_DEPTH));
        assert_eq!(plain.map(|plain| plain.as_ref() == Ok(&value)), Ok(true));
        let text = value.to_string();
        let again = Json::parse(&text);
        assert_eq!(again.as_ref(), Ok(&value), "{text}");
        assert_eq!(again.map(|value| value.to_string()), Ok(text));
        assert_eq!(Json::parse(&value.pretty()), Ok(value));
    }
});
