//! Exact JSON: documents are written back as they were read.

use toolwright_json::Json;
use toolwright_json::MAX_DEPTH;

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
fn strings_are_unescaped() {
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

#[test]
fn rust_types_receive_every_digit() {
    let parse = |text: &str| Json::parse(text).unwrap();
    assert_eq!(parse("9223372036854775807").to::<i64>(), Ok(i64::MAX));
    assert_eq!(parse("18446744073709551615").to::<u64>(), Ok(u64::MAX));
    assert_eq!(parse("340282366920938463463374607431768211455").to::<u128>(), Ok(u128::MAX));
    assert_eq!(parse("-170141183460469231731687303715884105727").to::<i128>(), Ok(i128::MIN + 1));
    assert_eq!((parse("5.0").to::<u8>(), parse("1e2").to::<i16>()), (Ok(5), Ok(100)));
    assert_eq!(parse("0.1").to::<f64>(), Ok(0.1));
    assert!(parse("256").to::<u8>().is_err() && parse("1.5").to::<i64>().is_err());
    assert!(parse("1e400").to::<f64>().is_err() && parse("\"1\"").to::<i64>().is_err());
}

#[test]
fn rust_types_are_read_and_written_and_errors_name_the_path() {
    use std::collections::BTreeMap;
    let value = Json::parse(r#"{"a":[1,2],"b":[],"a":[3]}"#).unwrap();
    let map: BTreeMap<String, Vec<u8>> = value.to().unwrap();
    assert_eq!(map, BTreeMap::from([("a".into(), vec![3]), ("b".into(), vec![])]));
    assert_eq!(Json::from_serialize(&map).unwrap().to_string(), r#"{"a":[3],"b":[]}"#);
    let wrong = Json::parse(r#"{"a/b":[1,null]}"#).unwrap();
    let error = wrong.to::<BTreeMap<String, Vec<u8>>>().unwrap_err();
    assert_eq!(error.path(), "/a~1b/1");
    let pair = Json::parse(r#"[null,"天气"]"#).unwrap();
    assert_eq!(pair.to::<(Option<bool>, &str)>(), Ok((None, "天气")));
    let keys: BTreeMap<u16, bool> = Json::parse(r#"{"7":true}"#).unwrap().to().unwrap();
    assert!(keys.contains_key(&7));
    assert!(Json::parse("[1,2,3]").unwrap().to::<(u8, u8)>().is_err());
    assert_eq!(Json::from(&serde_json::json!({"a": [1, 0.5]})).to_string(), r#"{"a":[1,0.5]}"#);
}

#[test]
fn rust_numbers_become_json() {
    let written = toolwright_json::object! {
        "minimum": -1, "maximum": 4_000_000_000_u32, "id": i64::MIN, "step": 0.25, "none": f64::NAN,
        "list": vec![1, 2],
    };
    assert_eq!(
        written.compact(),
        concat!(
            r#"{"minimum":-1,"maximum":4000000000,"id":-9223372036854775808,"step":0.25,"#,
            r#""none":null,"list":[1,2]}"#
        )
    );
}

#[test]
fn serde_writes_what_it_can_hold() {
    let text =
        r#"{"a":[null,true,"北京"],"n":[-3,170141183460469231731687303715884105728,1.50],"a":1}"#;
    let value = Json::parse(text).unwrap();
    assert_eq!(
        serde_json::to_string(&value).unwrap(),
        r#"{"n":[-3,170141183460469231731687303715884105728,1.5],"a":1}"#
    );
    let read: Json = serde_json::from_str(r#"{"b":[null,true,-3,1.5,"x"],"a":{}}"#).unwrap();
    assert_eq!(read.compact(), r#"{"b":[null,true,-3,1.5,"x"],"a":{}}"#);
    assert_eq!(value.to::<Json>().unwrap(), value);
}
