//! Any bytes through the exact JSON reader: no panic, and the parsed document is written and read
//! back unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolwright_core::json::Json;

fuzz_target!(|data: &[u8]| {
    if let Ok(value) = Json::parse_bytes(data) {
        let text = value.to_string();
        let again = Json::parse(&text);
        assert_eq!(again.as_ref(), Ok(&value), "{text}");
        assert_eq!(again.map(|value| value.to_string()), Ok(text));
        assert_eq!(Json::parse(&value.pretty()), Ok(value));
    }
});
