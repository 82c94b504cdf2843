//! Strategies for JSON values.

pub mod schema;

use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_json::{Json, Number, Object};

/// Text in several scripts.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 .,\"\\\\/\n]{1,24}",
        "[天气航班北京，。]{1,8}",
        "[😀é\u{301}ß\u{200b}]{1,4}"
    ]
}

/// Names, many of which some vendor rejects.
pub fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z][a-z0-9_]{0,20}",
        1 => "[a-zA-Z0-9_.:/-]{1,100}",
        1 => "[0-9][a-z]{1,5}",
        1 => "[天气航班]{1,6}",
    ]
}

/// Numbers, generated as digits.
pub fn number() -> impl Strategy<Value = Number> {
    let digits = prop_oneof![
        Just("9007199254740993".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        Just("1e400".to_owned()),
        Just("0.10".to_owned()),
        any::<i64>().prop_map(|value| value.to_string()),
        "-?[1-9][0-9]{0,5}\\.[0-9]{1,6}",
    ];
    digits.prop_map(|digits| Number::parse(&digits).unwrap())
}

/// JSON values.
pub fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number().prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::Array),
            members(inner).prop_map(Json::Object),
        ]
    })
}

/// Objects with such values.
pub fn members(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Object> {
    vec(("[a-z_]{1,8}", value), 0..4).prop_map(|members| {
        let mut object = Object::new();
        for (key, value) in members {
            object.insert(key, value);
        }
        object
    })
}
