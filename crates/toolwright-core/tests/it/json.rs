//! Exact JSON: what is read is written back.

use toolwright_core::Json;
use toolwright_core::json::MAX_DEPTH;

#[test]
fn digits_survive() {
    for text in [
        "9007199254740993",
        "18446744073709551615",
        "123456789012345678901234567890",
        "1e400",
        "0.1",
        "-0",
        "1.0",
        "1E+2",
    ] {
        assert_eq!(Json::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn order_and_repeated_keys_survive() {
    let text = r#"{"b":1,"a":[],"b":{"x":null}}"#;
    let value = Json::parse(text).unwrap();
    assert_eq!(value.to_string(), text);
    assert_eq!(value.pointer("/b/x"), Some(&Json::Null));
}

#[test]
fn strings_unescape() {
    let value = Json::parse(r#""\u5317\ud83d\ude00\ud800 \n\"\\\/\u0001""#).unwrap();
    assert_eq!(value.as_str(), Some("北😀\u{fffd} \n\"\\/\u{1}"));
    assert_eq!(Json::parse(&value.to_string()).unwrap(), value);
}

#[test]
fn what_is_not_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "1.",
        ".5",
        "+1",
        "nul",
        "\"\n\"",
        "\"\\x\"",
        "1 2",
        "NaN",
        "{a:1}",
        "'a'",
    ] {
        assert!(Json::parse(text).is_err(), "{text:?} was read");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Json::parse(&nested(MAX_DEPTH)).is_ok());
    assert!(Json::parse(&nested(MAX_DEPTH + 1)).is_err());
    assert!(Json::parse(&"[".repeat(1_000_000)).is_err());
}
