//! `peek` and `walk` agree with the parsed tree.

use proptest::prelude::*;
use toolwright_json::Json;
use toolwright_json::{JsonError, MAX_DEPTH, Object, Value, peek, skim};

use toolwright_testing::generate;

/// Asserts that `peek` accepts the same documents as the parser, and finds the same members.
#[track_caller]
fn agrees(bytes: &[u8], keys: [&str; 2]) {
    let tree = Json::parse_bytes(bytes).ok().filter(|tree| tree.as_object().is_some());
    walks(bytes, tree.as_ref());
    let (Ok(found), Some(tree)) = (peek(bytes, &keys), tree.as_ref()) else {
        assert_eq!(peek(bytes, &keys).is_ok(), tree.is_some(), "{}", bytes.escape_ascii());
        return;
    };
    for (key, member) in keys.into_iter().zip(found) {
        let value = tree.get(key);
        assert_eq!(member.as_ref().map(|own| Json::parse(own.text()).unwrap()).as_ref(), value);
        let Some(member) = member else { continue };
        assert_eq!(member.as_str().as_deref(), value.and_then(Json::as_str));
        assert_eq!(member.as_bool(), value.and_then(Json::as_bool));
        let times = tree.as_object().unwrap().keys().filter(|own| *own == key).count();
        assert_eq!(member.is_repeated(), times > 1);
        let Some(changed) = member.replaced("[\"天\"]") else {
            assert!(member.is_repeated());
            continue;
        };
        let mut expected = tree.clone();
        *expected.as_object_mut().unwrap().get_mut(key).unwrap() = vec!["天"].into();
        assert_eq!(Json::parse_bytes(&changed), Ok(expected));
    }
}

/// Asserts that `walk` accepts the same documents as the parser, however much it reads, and reads
/// the same values.
#[track_caller]
fn walks(bytes: &[u8], tree: Option<&Json>) {
    let mut members = Object::new();
    let read = skim(bytes, |key, value| {
        members.push(key.to_owned(), value.json()?);
        Ok(())
    });
    let read = read.ok().map(|()| Json::Object(members));
    assert_eq!(read.as_ref(), tree, "{}", bytes.escape_ascii());
    let passed = skim(bytes, |_, _| Ok(()));
    assert_eq!(passed.is_ok(), tree.is_some(), "{}", bytes.escape_ascii());
    let wandered = skim(bytes, |_, value| wander(value));
    assert_eq!(wandered.is_ok(), tree.is_some(), "{}", bytes.escape_ascii());
}

/// Reads every member everywhere, and more than once.
fn wander(value: &mut Value<'_, '_>) -> Result<(), JsonError> {
    value.members(|_, value| wander(value))?;
    value.items(wander)?;
    value.text()?;
    if !value.is_null() {
        value.items(wander)?;
    }
    Ok(())
}

/// Text that is JSON, almost JSON or neither.
fn crumbs() -> impl Strategy<Value = String> {
    const CRUMBS: [&str; 29] = [
        "{",
        "}",
        "{",
        "}",
        "[",
        "]",
        ",",
        ",",
        ":",
        ":",
        "\"a\"",
        "\"a\"",
        "\"b\"",
        "\"\\u0061\"",
        "\"\\ud83d\\ude00\\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"",
        "true",
        "false",
        "null",
        "nul",
        "0",
        "-1.5e+7",
        "01",
        "1.",
        " ",
        "\n",
        "天",
    ];
    let crumb = proptest::sample::select(&CRUMBS);
    proptest::collection::vec(crumb, 0..12).prop_map(|crumbs| crumbs.concat())
}

proptest! {
    #[test]
    fn peek_agrees_with_the_parsed_tree(value in generate::json(), other in generate::json()) {
        agrees(value.compact().as_bytes(), ["a", ""]);
        let text = format!(" {{\"a\" : {}, \"\\u0062\":{} }}\n", value.pretty(), other.compact());
        agrees(text.as_bytes(), ["a", "b"]);
        agrees(text.replace("\\u0062", "a").as_bytes(), ["a", "b"]);
        agrees(text.as_bytes().split_last().unwrap().1, ["b", "none"]);
        agrees(&text.as_bytes()[..text.len() - 3], ["b", "none"]);
    }

    #[test]
    fn peek_refuses_what_the_parser_refuses(
        text in crumbs(),
        bytes in proptest::collection::vec(any::<u8>(), 0..4),
    ) {
        agrees(text.as_bytes(), ["a", "b"]);
        agrees(format!("{{\"a\":{text}}}").as_bytes(), ["a", "b"]);
        let broken = [b"{\"a\":\"".as_slice(), &bytes, b"\",\"b\":true}"].concat();
        agrees(&broken, ["a", "b"]);
    }
}

#[test]
fn peek_is_bounded_in_depth() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(peek(nested(MAX_DEPTH - 1).as_bytes(), &["a"]).is_ok());
    assert!(peek(nested(MAX_DEPTH).as_bytes(), &["a"]).is_err());
    assert!(peek("{\"a\":".repeat(1_000_000).as_bytes(), &["a"]).is_err());
}

#[test]
fn peek_reports_why_it_failed() {
    let refused = |bytes: &[u8]| peek(bytes, &[]).unwrap_err();
    assert_eq!(refused(b"[1]").to_string(), "expected an object at byte 0");
    assert_eq!(refused(b"{\"a\":\"\xff\"}").to_string(), "not UTF-8 at byte 6");
    assert!(refused(b"{\"a\":").is_truncated() && refused(b"").is_truncated());
}
