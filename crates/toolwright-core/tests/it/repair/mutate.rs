//! Damages documents as models do.

#![allow(clippy::unnecessary_wraps, reason = "an operator may find nothing to damage")]

use toolwright_core::Json;
use toolwright_core::json::Object;

use toolwright_testing::fixtures;
use toolwright_testing::seeds::Dice;

/// Some of the recorded arguments, and some that are difficult to write.
pub fn documents() -> Vec<Json> {
    let lines = std::fs::read_to_string(fixtures::root().join("args/valid.jsonl")).unwrap();
    let recorded = lines.lines().step_by(25).map(|line| Json::parse(line).unwrap());
    let recorded = recorded.filter_map(|row| row.get("args").cloned());
    let is_full = |value: &Json| value.as_object().is_some_and(|object| !object.is_empty());
    let hard = HARD.iter().map(|text| Json::parse(text).unwrap());
    recorded.filter(is_full).chain(hard).collect()
}

const HARD: [&str; 6] = [
    r#"{"query":"SELECT name, \"Order\" FROM t WHERE note = 'it''s' AND x LIKE '%a,b%'","limit":50}"#,
    r#"{"code":"const a = {b: [1, 2]};\nlog(`a`); // done\n","env":{"DEBUG":"1","NODE":"20"},"run":true}"#,
    r#"{"pattern":"^\\d{3}-[a-z]+\\s*$","path":"C:\\Users\\me\\docs","flags":["i","m"],"dry":false,"up":null}"#,
    r##"{"html":"<a href=\"x\" class='b'>it's, ok: \"yes\"</a>","list":["a, b","c: d","e\"f","g'h","# no","// no"],"n":1}"##,
    r#"{"msg":"None of this is True","url":"http://a.b/c//d#e","json":"{\"a\": [1, 2], \"b\": \"c\"}","a b":1,"X-Y":"a: b, c"}"#,
    r#"{"text":"他说：“你好，世界”。","标签":["甲","乙"],"n":1.5e3,"neg":-0.5,"deep":[[1,2],[3,[4]]]}"#,
];

/// Returns a damaged text and the document that it should be repaired to.
pub type Operator = fn(&Json, &mut Dice) -> Option<(String, Json)>;

pub const OPERATORS: [(&str, Operator); 14] = [
    ("cut closers", cut),
    ("single quotes", |value, dice| {
        let quote = dice.pick(&["'", "\\'"]);
        styled(value, &Style { apostrophe: quote, quote: "'", ..Style::JSON })
    }),
    ("curly quotes", |value, _| {
        let plain = !value.compact().contains(['“', '”']);
        plain.then(|| styled(value, &Style { quote: "“", ..Style::JSON })).flatten()
    }),
    ("trailing commas", |value, _| styled(value, &Style { trailing: ",", ..Style::JSON })),
    ("bare keys", |value, _| styled(value, &Style { bare: true, ..Style::JSON })),
    ("missing commas", |value, dice| {
        let comma = dice.pick(&[" ", "\n", "\n  "]);
        styled(value, &Style { comma, ..Style::JSON })
    }),
    ("python", |value, _| styled(value, &Style { quote: "'", python: true, ..Style::JSON })),
    ("all at once", |value, _| {
        let style = Style {
            quote: "'",
            python: true,
            trailing: ",",
            comma: ",\n# it is \"so\"\n",
            ..Style::JSON
        };
        styled(value, &style)
    }),
    ("around", around),
    ("raw lines", raw),
    ("again", again),
    ("comments", |value, dice| {
        let comma = dice.pick(&[", // the \"x\", y: 1\n", ", # it's\n", " /* a: {b} */, "]);
        styled(value, &Style { comma, ..Style::JSON })
    }),
    ("inner quotes", inner),
    ("encoded", |value, dice| {
        let text = Json::from(value.compact()).compact();
        let text = match dice.roll(3) {
            0 => text,
            1 => text[1..text.len() - 1].to_owned(),
            _ => Json::from(text).compact(),
        };
        Some((text, value.clone()))
    }),
];

/// How a document is written.
struct Style {
    quote: &'static str,
    apostrophe: &'static str,
    comma: &'static str,
    trailing: &'static str,
    bare: bool,
    python: bool,
}

impl Style {
    const JSON: Style = Style {
        quote: "\"",
        apostrophe: "\\'",
        comma: ", ",
        trailing: "",
        bare: false,
        python: false,
    };

    fn string(&self, text: &str, out: &mut String) {
        let inner = Json::from(text).compact();
        let inner = &inner[1..inner.len() - 1];
        let inner = match self.quote {
            "'" => inner.replace("\\\"", "\"").replace('\'', self.apostrophe),
            "“" => inner.replace("\\\"", "\""),
            _ => inner.to_owned(),
        };
        out.push_str(self.quote);
        out.push_str(&inner);
        out.push_str(if self.quote == "“" { "”" } else { self.quote });
    }

    fn key(&self, key: &str, out: &mut String) {
        let is_name = key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && key.starts_with(|first: char| first.is_ascii_alphabetic());
        if self.bare && is_name { out.push_str(key) } else { self.string(key, out) }
    }

    fn value(&self, value: &Json, out: &mut String) {
        match value {
            Json::String(text) => self.string(text, out),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { self.comma } else { "" });
                    self.value(item, out);
                }
                out.push_str(if items.is_empty() { "" } else { self.trailing });
                out.push(']');
            }
            Json::Object(object) => {
                out.push('{');
                for (index, (key, item)) in object.iter().enumerate() {
                    out.push_str(if index > 0 { self.comma } else { "" });
                    self.key(key, out);
                    out.push_str(": ");
                    self.value(item, out);
                }
                out.push_str(if object.is_empty() { "" } else { self.trailing });
                out.push('}');
            }
            Json::Bool(true) if self.python => out.push_str("True"),
            Json::Bool(false) if self.python => out.push_str("False"),
            Json::Null if self.python => out.push_str("None"),
            other => out.push_str(&other.compact()),
        }
    }
}

fn styled(value: &Json, style: &Style) -> Option<(String, Json)> {
    let mut out = String::new();
    style.value(value, &mut out);
    Some((out, value.clone()))
}

fn cut(value: &Json, dice: &mut Dice) -> Option<(String, Json)> {
    let mut text = value.compact();
    for _ in 0..=dice.roll(4) {
        if text.ends_with(['}', ']', '"']) {
            text.pop();
        }
    }
    Some((text, value.clone()))
}

fn around(value: &Json, dice: &mut Dice) -> Option<(String, Json)> {
    let text = if dice.roll(2) == 0 { value.compact() } else { value.pretty() };
    let (before, after) = [
        ("Here you go: ", ""),
        ("I'll use these:\n\n```json\n", "\n```\n\nThis should work [1]."),
        ("<tool_call>\n", "\n</tool_call>"),
        ("```\n", "\n```"),
        ("Sure! {placeholder} then:\n", "\nLet me know."),
        ("", "\n\nI hope it's \"ok\" {maybe}."),
        ("f(", ");"),
        ("调用工具：", "。好的"),
    ][dice.roll(8)];
    Some((format!("{before}{text}{after}"), value.clone()))
}

fn again(value: &Json, dice: &mut Dice) -> Option<(String, Json)> {
    let text = value.compact();
    let between = dice.pick(&["", "\n", " "]);
    let first = if dice.roll(3) == 0 { "{}" } else { text.as_str() };
    Some((format!("{first}{between}{text}"), value.clone()))
}

/// The object with one of its strings changed.
fn with_string(
    value: &Json,
    dice: &mut Dice,
    change: impl Fn(&str) -> String,
) -> Option<(String, Json)> {
    let object = value.as_object()?;
    let strings: Vec<&str> =
        object.iter().filter(|(_, value)| value.as_str().is_some()).map(|(key, _)| key).collect();
    let key = strings.get(dice.roll(strings.len().max(1)))?.to_string();
    let mut object: Object = object.clone();
    let text = change(object.get(&key)?.as_str()?);
    object.insert(key.clone(), text.as_str());
    Some((key, Json::Object(object)))
}

/// Writes an object with one string unescaped between its quotes.
fn unescaped(value: &Json, key: &str, escapes: &[(&str, &str)]) -> Option<String> {
    let text = Json::from(value.get(key)?.as_str()?).compact();
    let inner = &text[1..text.len() - 1];
    let raw = escapes.iter().fold(inner.to_owned(), |text, (from, to)| text.replace(from, to));
    let name = Json::from(key).compact();
    Some(value.compact().replacen(&format!("{name}:{text}"), &format!("{name}: \"{raw}\""), 1))
}

fn raw(value: &Json, dice: &mut Dice) -> Option<(String, Json)> {
    let (key, value) = with_string(value, dice, |text| {
        format!("{}\nsecond line\twith tab", text.replace('\\', "/"))
    })?;
    Some((unescaped(&value, &key, &[("\\n", "\n"), ("\\t", "\t")])?, value))
}

fn inner(value: &Json, dice: &mut Dice) -> Option<(String, Json)> {
    let note = dice.pick(&[
        "see \"appendix B\" first",
        "a \"b\", c",
        "\"start\" of it",
        "ends in \"quote\"",
        "5\" pipe",
        "he said \"no, never\" and \"left\", ok",
        "say \"x\": y",
        "\"all\"",
        "f(\"a\", \"b\")",
        "{\"a\": 1}",
        "the \"a\" and \"b\"",
    ]);
    let (key, value) = with_string(value, dice, |_| note.to_owned())?;
    Some((unescaped(&value, &key, &[("\\\"", "\"")])?, value))
}
