//! Text that is not JSON: what it is repaired to, what is refused, and that both take bounded time.

mod mutate;
mod slips;

use proptest::prelude::*;
use toolwright_core::args::{Op, Reading, parse};
use toolwright_core::json::Object;
use toolwright_core::{Arguments, Json};
use toolwright_testing::generate;
use toolwright_testing::seeds::{self, Dice};

use self::mutate::OPERATORS;

fn readings(text: &str) -> Vec<Reading> {
    parse(&Arguments::from_text(text)).readings
}

/// The cheapest reading that is an object, unless another has the same cost.
fn understood(text: &str) -> Option<Reading> {
    let readings = readings(text);
    let mut objects = readings.into_iter().filter(|reading| reading.value.as_object().is_some());
    let first = objects.next()?;
    objects.next().is_none_or(|second| second.cost() > first.cost()).then_some(first)
}

#[track_caller]
fn assert_becomes(text: &str, expected: &str) {
    let found = understood(text).map(|reading| reading.value.compact());
    let expected = Json::parse(expected).unwrap().compact();
    assert_eq!(found.as_deref(), Some(expected.as_str()), "{text}");
}

#[track_caller]
fn assert_refused(text: &str) {
    let found = understood(text).map(|reading| reading.value.compact());
    assert_eq!(found, None, "{text}");
}

fn ops(text: &str) -> Vec<(String, &'static str)> {
    let reading = understood(text).unwrap();
    reading.changes.iter().map(|change| (change.path.clone(), change.op.as_str())).collect()
}

#[test]
fn json_is_read_unchanged() {
    for text in [r#"{"a": "it's // not a {comment}, \"x\""}"#, "[{}]", "12"] {
        let readings = readings(text);
        assert_eq!(readings.len(), 1, "{text}");
        assert_eq!(Ok(&readings[0].value), Json::parse(text).as_ref(), "{text}");
        assert_eq!(readings[0].cost(), 0, "{text}");
    }
    let free = parse(&Arguments::Free("{'a': 1}".into()));
    assert_eq!(free.readings[0].value, Json::from("{'a': 1}"));
}

#[test]
fn quotes_of_other_languages_are_read() {
    assert_becomes("{'a': 'it's', 'b': 'x'}", r#"{"a":"it's","b":"x"}"#);
    assert_becomes("{'a': 'the dogs' bowl', 'b': 1}", r#"{"a":"the dogs' bowl","b":1}"#);
    let mixed = "{'n': \"O'Brien\", 'a': 'x', 'b': 'y', 'c': 'z', 'd': 'w', 'w': \"it's\"}";
    assert_becomes(mixed, r#"{"n":"O'Brien","a":"x","b":"y","c":"z","d":"w","w":"it's"}"#);
    assert_becomes("｛“城市”：“北京”，“天数”：3｝", r#"{"城市":"北京","天数":3}"#);
    assert_becomes("{“a”: “他说\"好\"”}", r#"{"a":"他说\"好\""}"#);
    assert_becomes("{「a」: 「b」}", r#"{"a":"b"}"#);
    assert_becomes("{\"a\": `x\ny`}", r#"{"a":"x\ny"}"#);
    let python = "{\"code\": \"\"\"print(\"x\")\nprint('y')\"\"\", \"n\": 1}";
    assert_becomes(python, r#"{"code":"print(\"x\")\nprint('y')","n":1}"#);
    assert_refused("{\"a\": `x ${y}`}");
    assert_refused("{\"a\": 'b\", \"c\": 1}");
    assert_refused("{\"a\": \"b', \"c\": 1}");
}

#[test]
fn quotes_inside_a_string_stay_there() {
    assert_becomes(
        r#"{"q": "say "hi", then "bye", ok", "n": 1}"#,
        r#"{"q":"say \"hi\", then \"bye\", ok","n":1}"#,
    );
    assert_becomes(
        r#"{"body": "{"a": 1, "b": "x"}", "c": 1}"#,
        r#"{"body":"{\"a\": 1, \"b\": \"x\"}","c":1}"#,
    );
    assert_becomes(r#"{"l": ["say "hi" now", "b"]}"#, r#"{"l":["say \"hi\" now","b"]}"#);
    assert_becomes(r#"{"l": ["echo "" > f"]}"#, r#"{"l":["echo \"\" > f"]}"#);
    assert_becomes("{\"note\": \"x \"a\" # y\"\n}", r#"{"note":"x \"a\" # y"}"#);
    for (text, expected) in [
        (
            r#"{"c": "if [ -z "$2" ]; then exit 1; fi"}"#,
            r#"{"c":"if [ -z \"$2\" ]; then exit 1; fi"}"#,
        ),
        (
            r#"{"c": "rm -rf "$DIR" ) || echo "failed""}"#,
            r#"{"c":"rm -rf \"$DIR\" ) || echo \"failed\""}"#,
        ),
        (r#"{"c": "echo "a"} && rm b"}"#, r#"{"c":"echo \"a\"} && rm b"}"#),
        ("{\"c\": \"OUT=\"x\"\nTYPE=\"y\"\"}", r#"{"c":"OUT=\"x\"\nTYPE=\"y\""}"#),
        (r#"{"c": "<input id="a" type="b" />"}"#, r#"{"c":"<input id=\"a\" type=\"b\" />"}"#),
        ("{\"c\": \"$(\"#id\").on(\"click\")\"\n}", r##"{"c":"$(\"#id\").on(\"click\")"}"##),
        (
            r#"{"c": "the 27" screen and the 24" one"}"#,
            r#"{"c":"the 27\" screen and the 24\" one"}"#,
        ),
    ] {
        assert_becomes(text, expected);
    }
    assert_refused(r#"{"a": "one "two three", "b": 1}"#);
    assert_refused(r#"{"text": "foo" "bar" "baz"}"#);
    assert_refused(r#"{"text": "foo" + "bar"}"#);
}

#[test]
fn unquoted_text_is_read_if_it_is_unambiguous() {
    assert_becomes("{a: hello, b: 2}", r#"{"a":"hello","b":2}"#);
    assert_becomes(
        "{url: https://a.b/c?x=1#f, d: 2024-01-01, t: 12:30}",
        r#"{"url":"https://a.b/c?x=1#f","d":"2024-01-01","t":"12:30"}"#,
    );
    assert_becomes("{a: hello\nb: 2}", r#"{"a":"hello","b":2}"#);
    for text in [
        "{address: 12 Main St, Springfield, zip: 1}",
        "{note: issue #5}",
        "{a: x # y\n}",
        "{d: new Date(2024)}",
        "{a: 1 + 2}",
        "{\"a\": <value>}",
        "{\"a\": u'x'}",
    ] {
        assert_refused(text);
    }
}

#[test]
fn literals_of_other_languages_are_read() {
    assert_becomes(
        "{\"a\": True, \"b\": None, \"c\": \"None\", \"d\": (1, 2)}",
        r#"{"a":true,"b":null,"c":"None","d":[1,2]}"#,
    );
    assert_becomes(
        "{\"a\": 0x1F, \"b\": +1, \"c\": .5, \"d\": 1_000, \"e\": 5.}",
        r#"{"a":31,"b":1,"c":0.5,"d":1000,"e":5.0}"#,
    );
    for word in ["NaN", "-Infinity", "undefined", "nil", "[1, ...]", "...", "{1, 2}"] {
        assert_refused(&format!("{{\"a\": {word}}}"));
    }
}

#[test]
fn commas_and_brackets_are_repaired() {
    assert_becomes("{,\"a\": 1,, \"b\": [1, 2,],}", r#"{"a":1,"b":[1,2]}"#);
    assert_becomes("{\"a\": [1 2 3] \"b\": 2 c: 3}", r#"{"a":[1,2,3],"b":2,"c":3}"#);
    assert_becomes("{\"a\": [{\"x\": 1], \"y\": 2}", r#"{"a":[{"x":1}],"y":2}"#);
    assert_becomes("{\"a\": [1, 2}", r#"{"a":[1,2]}"#);
    assert_becomes("{\"a\": 1}}", r#"{"a":1}"#);
    assert_becomes("{{\"a\": {{\"b\": 1}}}}", r#"{"a":{"b":1}}"#);
    assert_becomes("{\"a\" = 1, \"b\" => 2, \"c\" 3}", r#"{"a":1,"b":2,"c":3}"#);
    // A comma may be missing between two values, and a space may separate thousands.
    assert_refused("{\"n\": [1, , 2]}");
    assert_refused("{\"n\": [1 500, 2 500]}");
    assert_refused("{\"a\", \"b\": 1}");
    assert_refused("{\"a\": \"x\", \"b\":}");
}

#[test]
fn one_missing_or_doubled_character_is_repaired() {
    let expected = r#"{"city":"Rome, IT","mode":["drive","walk"],"n":{"a":1}}"#;
    for text in [
        r#"{city": "Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city: "Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT, "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT", "mode": ["drive, "walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT", "mode": ["drive", walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT", "mode": ["drive", "walk], "n": {"a": 1}}"#,
        r#"{""city": "Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city"": "Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": ""Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT"", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT", "mode": ["drive",, "walk"], "n": {"a": 1}}"#,
        r#"{"city":: "Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT", "mode": ["drive", "walk"]], "n": {"a": 1}}"#,
        r#"{{"city": "Rome, IT", "mode": ["drive", "walk"], "n": {"a": 1}}"#,
        r#"{"city": "Rome, IT", "mode": ["drive", "walk", "n": {"a": 1}}"#,
    ] {
        assert_becomes(text, expected);
    }
    assert_becomes(r#"{"a": 1, "b": "x}"#, r#"{"a":1,"b":"x"}"#);
    for text in [
        // A quote in the wrong position, or in place of another character.
        r#"{"a:" 1, "b": 2}"#,
        r#"{"a": "x," "b": 2}"#,
        r#"{"a": "x}""#,
        r#"{"a": ["x]"}"#,
        r#"{"a": "x[, "b": 2}"#,
        r#"{"a": :x", "b": 2}"#,
        r#"{"a]: "x", "b": 2}"#,
        // Two errors.
        r#"{"a": "x, b": 1, c": 2}"#,
        // A superfluous or a missing bracket.
        r#"{"a": [["x"], "b": 2}"#,
        // A superfluous word.
        r#"{"a": "x", and "b": 2}"#,
        // Trailing text belongs to the value.
        r#"{"a": [1} 2, 3]}"#,
        r#"{"a": [[1, 2], }[3, 4]]}"#,
        // Truncated, and the ends of strings are ambiguous.
        r#"{"a": "say "hi" now", "b": "y"#,
    ] {
        assert_refused(text);
    }
}

#[test]
fn entities_and_calls_in_python_are_read() {
    assert_becomes("{&quot;a&quot;: &quot;x &amp; y&quot;}", r#"{"a":"x & y"}"#);
    for text in ["[f(a='x', b=[1, True])]", "f(a='x', b=[1, True])"] {
        assert_becomes(text, r#"{"name":"f","arguments":{"a":"x","b":[1,true]}}"#);
    }
    assert_refused("[f(a='x'), g(b=1)]");
}

#[test]
fn backslashes_are_taken_for_text_only_if_unambiguous() {
    assert_becomes(r#"{"p": "C:\Users\me"}"#, r#"{"p":"C:\\Users\\me"}"#);
    assert_becomes(r#"{"p": "C:\dir\", "x": 1}"#, r#"{"p":"C:\\dir\\","x":1}"#);
    assert_becomes(
        r#"{"re": "^\d+\.\d$", "l": "\alpha + \beta"}"#,
        r#"{"re":"^\\d+\\.\\d$","l":"\\alpha + \\beta"}"#,
    );
    assert_becomes(r#"{"t": "it\'s"}"#, r#"{"t":"it's"}"#);
    for path in [r"C:\temp\new\x", r"C:\new\", r"\\host\share\new", r"\\host\share"] {
        let expected = format!(r#"{{"p":{},"n":1}}"#, Json::from(path).compact());
        assert_becomes(&format!("{{'p': '{path}', 'n': 1}}"), &expected);
    }
    assert_becomes(
        r#"{"t": "\begin{cases} 0 & x \\ 1 & y \end{cases}"}"#,
        r#"{"t":"\\begin{cases} 0 & x \\\\ 1 & y \\end{cases}"}"#,
    );
    assert_refused(r#"{"p": "see \temp\new\q"}"#);
    assert_refused(r#"{"user\_id": 1}"#);
    let keys: Vec<_> =
        readings(r#"{"user\_id": 1}"#).iter().map(|reading| reading.value.compact()).collect();
    assert_eq!(keys, [r#"{"user\\_id":1}"#, r#"{"user_id":1}"#]);
}

#[test]
fn truncated_text_is_closed_only_if_nothing_is_invented() {
    for (text, expected) in [
        (r#"{"a": "x", "b": "y"#, r#"{"a":"x","b":"y"}"#),
        (r#"{"a": [1, {"b": true"#, r#"{"a":[1,{"b":true}]}"#),
        (r#"{"a": 1, "b": 12"#, r#"{"a":1,"b":12}"#),
    ] {
        assert_becomes(text, expected);
        let last = understood(text).unwrap().changes.pop().unwrap();
        assert_eq!(last.op, Op::Close, "{text}");
    }
    for text in [
        "{",
        "{\"a\": [",
        "{\"a\": \"",
        "{\"a\": 1,",
        "{\"a\": 1, \"b",
        "{\"a\": 1, \"b\"",
        "{\"a\": 1, \"b\":",
        "{\"a\": tr",
        "{\"a\": 12.",
        "{\"a\": -",
        "{\"a\": 1e",
        "{\"a\": \"x\\",
        "{\"a\": \"x\\u12",
        "{\"a\": 1 // x, \"b\": 2}",
    ] {
        assert_refused(text);
    }
    assert_becomes("```json\n{\"a\": \"b\n```\n", r#"{"a":"b"}"#);
    assert_becomes("<tool_call>{\"a\": \"x</tool_call>", r#"{"a":"x"}"#);
}

#[test]
fn of_several_documents_none_is_guessed() {
    assert_becomes("{\"a\": 1}{\"a\": 1}\n{\"a\": 1}", r#"{"a":1}"#);
    assert_becomes("{}{\"a\": 1}", r#"{"a":1}"#);
    for text in [
        "{\"a\": 1}{\"a\": 2}",
        "{\"a\": 1}\n{\"b\": 2}",
        "{\"a\": 1}, {\"a\": 1}",
        "Use {\"a\": 1} or {\"a\": 2}.",
        "{\"a\": {\"b\": 1}}, \"c\": 2}",
        "\"a\": 1, {\"b\": 2}",
        "Sure: {\"a\": 1}. Also \"b\": 2",
    ] {
        assert_refused(text);
    }
}

#[test]
fn a_string_never_swallows_another_call() {
    for between in
        ["", "\n", ", ", "\n---\n", " and ", "</tool_call><tool_call>", "\n```\n```json\n"]
    {
        assert_refused(&format!(r#"{{"a":"x"}}{between}{{"a":"y"}}"#));
        assert_refused(&format!("{{'a':'x'}}{between}{{'a':'y'}}"));
        assert_refused(&format!(r#"{{a:"x",}}{between}{{a:"y",}}"#));
    }
    for tail in [r#"""#, r#""}"#, r#", "b": "y"}"#, r#" "b": "y"}"#, r#"{"b":"y""#] {
        assert_refused(&format!(r#"{{"a":"x"}}{tail}"#));
    }
    assert_becomes(r#"{"a": "say "x}{y" now"}"#, r#"{"a": "say \"x}{y\" now"}"#);
}

#[test]
fn surrounding_text_is_removed() {
    for text in [
        "\u{feff}{\"a\": [1]}",
        "foo({\"a\": [1]});",
        "Use {this} and [1]: {\"a\": [1]}. It's \"fine\".",
        "<function=f>{'a': [1]}</function>",
        "`{\"a\": [1]}`",
        "```json\n\"{\\\"a\\\": [1]}\"\n```",
        "{\\n \\\"a\\\": [1]\\n}",
        "\"\\\"{\\\\\\\"a\\\\\\\": [1]}\\\"\"",
        "'{\"a\": [1]}'",
    ] {
        assert_becomes(text, r#"{"a":[1]}"#);
    }
    for text in ["hello", "no {json} at all", "{here}", "\"hello\"", "nul", "[1, 2"] {
        assert_refused(text);
    }
}

#[test]
fn a_space_that_json_does_not_know_is_a_change() {
    assert_eq!(ops("\u{feff}{\"a\": 1}"), [(String::new(), "unfence")]);
    assert_eq!(ops("{\"a\":\u{a0}1}"), [(String::new(), "mark")]);
}

#[test]
fn every_change_names_its_path() {
    assert_eq!(
        ops("{'a': [True, 'x\ny',], b: \"C:\\d\" /* c */}"),
        [
            ("/a", "quote"),
            ("/a/0", "literal"),
            ("/a/1", "quote"),
            ("/a/1", "escape"),
            ("/a", "comma"),
            ("/b", "quote"),
            ("/b", "escape"),
            ("", "comment"),
        ]
        .map(|(path, op)| (path.to_owned(), op))
    );
    assert_eq!(
        ops("ok: {\"a\": {\"b\": \"c"),
        [(String::new(), "unfence"), ("/a/b".into(), "close")]
    );
}

/// Applies every operator to every document: the repair returns the document or nothing.
#[test]
fn damage_is_undone_or_refused() {
    seeds::check(|seed| {
        let mut dice = Dice::new(seed);
        for (name, damage) in OPERATORS {
            let (mut right, mut all) = (0, 0);
            for document in mutate::documents() {
                for _ in 0..6 {
                    let Some((text, expected)) = damage(&document, &mut dice) else { continue };
                    if Json::parse(&text).is_ok_and(|value| value.as_object().is_some()) {
                        continue;
                    }
                    all += 1;
                    let Some(found) = understood(&text) else { continue };
                    assert!(found.value.same(&expected), "{name}: {text}\n became {}", found.value);
                    assert!(!found.changes.is_empty(), "{name}: {text}");
                    right += 1;
                }
            }
            assert!(all > 20 && right * 100 >= all * 97, "{name}: {right} of {all}");
        }
    });
}

proptest! {
    /// Strict JSON is never repaired, however unusual.
    #[test]
    fn strict_json_is_the_first_reading(value in generate::json()) {
        let readings = readings(&value.compact());
        // `null` arguments count as no arguments.
        let value = if value.is_null() { Json::Object(Object::new()) } else { value };
        prop_assert_eq!(&readings[0].value, &value);
        prop_assert!(readings[0].changes.is_empty());
        prop_assert!(readings.len() == 1 || value.as_str().is_some());
    }

    /// Any text causes no panic, and the cheapest reading comes first.
    #[test]
    fn readings_are_sorted(text in "[{}\\[\\]\"',:a1 \\\\\n#/(){}“，\u{feff}&=-]{0,40}") {
        let costs: Vec<u32> = readings(&text).iter().map(Reading::cost).collect();
        prop_assert!(costs.is_sorted());
    }
}
