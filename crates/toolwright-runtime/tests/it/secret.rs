//! Secrets: a type that is never shown, and values that are redacted by type, name and pattern.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolwright_core::Json;
use toolwright_core::args::{Change, Op};
use toolwright_runtime::redact::{Redactor, redact, text};
use toolwright_transport::{secret::Secret, secret::SecretString};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Login {
    user: String,
    opening: SecretString,
    digits: Secret<u32>,
    spare: Option<SecretString>,
    nested: Vec<Inner>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Inner {
    phrase: SecretString,
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn schema<T: JsonSchema>() -> Json {
    json(&serde_json::to_string(&schemars::schema_for!(T)).unwrap())
}

const LOGIN: &str = r#"{"user":"me","opening":"hunter2","digits":4711,"spare":"hunter3","nested":[{"phrase":"hunter4"}]}"#;

#[test]
fn a_secret_is_read_and_never_shown() {
    let login: Login = serde_json::from_str(LOGIN).unwrap();
    assert_eq!(login.opening.expose(), "hunter2");
    assert_eq!(*login.digits.expose(), 4711);
    assert_eq!(login.nested[0].phrase.expose(), "hunter4");
    let shown = format!("{login:?} {login:#?} {}", serde_json::to_string(&login).unwrap());
    assert!(shown.contains("Secret(…)"), "{shown}");
    for secret in ["hunter", "4711"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert_eq!(SecretString::from("a").clone().expose(), "a");
    assert_eq!(Secret::from(vec![1_u8]).expose(), &[1]);
}

#[test]
fn the_mark_of_a_secret_is_no_secret() {
    let written = serde_json::to_string(&SecretString::from("hunter2")).unwrap();
    assert_eq!(written, r#""[redacted]""#);
    let error = serde_json::from_str::<SecretString>(&written).unwrap_err();
    assert!(error.to_string().contains("not a secret"), "{error}");
    assert!(serde_json::from_str::<SecretString>("5").is_err());
}

#[test]
fn the_schema_of_a_secret_says_so() {
    let schema = schema::<Login>();
    let opening = schema.pointer("/properties/opening").unwrap();
    assert!(opening.same(&json(r#"{"type":"string","format":"password","writeOnly":true}"#)));
    let digits = schema.pointer("/properties/digits").unwrap();
    assert_eq!(digits.get("writeOnly"), Some(&Json::Bool(true)));
    assert_eq!(digits.get("type"), Some(&Json::from("integer")));
}

#[test]
fn arguments_are_redacted_by_type() {
    let redacted = redact(&json(LOGIN), &schema::<Login>());
    assert_eq!(
        redacted.compact(),
        r#"{"user":"me","opening":"[redacted]","digits":"[redacted]","spare":"[redacted]","nested":[{"phrase":"[redacted]"}]}"#
    );
    let without = redact(&json(r#"{"user":"me","spare":null}"#), &schema::<Login>());
    assert_eq!(without.compact(), r#"{"user":"me","spare":null}"#);
}

#[test]
fn every_schema_keyword_is_followed_for_redaction() {
    let hidden = r#"{"format":"password"}"#;
    for schema in [
        format!(r#"{{"properties":{{"a":{hidden}}}}}"#),
        format!(r##"{{"$ref":"#/$defs/x","$defs":{{"x":{{"properties":{{"a":{hidden}}}}}}}}}"##),
        format!(r#"{{"allOf":[{{"properties":{{"a":{hidden}}}}}]}}"#),
        format!(r#"{{"anyOf":[true,{{"properties":{{"a":{{"oneOf":[{hidden}]}}}}}}]}}"#),
        format!(r#"{{"if":true,"then":{{"properties":{{"a":{hidden}}}}}}}"#),
        format!(r#"{{"dependentSchemas":{{"b":{{"properties":{{"a":{hidden}}}}}}}}}"#),
        format!(r#"{{"additionalProperties":{hidden}}}"#),
        format!(r#"{{"patternProperties":{{"^a$":{hidden}}}}}"#),
        format!(r#"{{"properties":{{"b":true}},"unevaluatedProperties":{hidden}}}"#),
        r#"{"properties":{"a":{"writeOnly":true,"type":"object"}}}"#.to_owned(),
    ] {
        let value = json(r#"{"a":{"in":["hunter2"]}}"#);
        assert_eq!(redact(&value, &json(&schema)).compact(), r#"{"a":"[redacted]"}"#, "{schema}");
    }
    for schema in [
        format!(r#"{{"items":{hidden}}}"#),
        format!(r#"{{"prefixItems":[true,{hidden}]}}"#),
        format!(r#"{{"items":[true,{hidden}]}}"#),
        format!(r#"{{"prefixItems":[true],"items":{hidden}}}"#),
    ] {
        let redacted = redact(&json(r#"[null,"hunter2"]"#), &json(&schema));
        assert_eq!(redacted.compact(), r#"[null,"[redacted]"]"#, "{schema}");
    }
    assert_eq!(redact(&Json::from("hunter2"), &json(hidden)), Json::from("[redacted]"));
}

#[test]
fn recursive_schemas_are_bounded() {
    let circle = json(
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},
            "b":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#"}],"properties":{"next":{"$ref":"#"},"x":{"writeOnly":true}}}}}"##,
    );
    let value = json(r#"{"next":{"next":{"x":"hunter2","y":1.50}}}"#);
    let redacted = redact(&value, &circle);
    assert_eq!(redacted.compact(), r#"{"next":{"next":{"x":"[redacted]","y":1.50}}}"#);
    for schema in
        ["true", "false", "null", "[]", r##"{"$ref":"#/nowhere"}"##, r#"{"$ref":"http://x"}"#]
    {
        assert_eq!(redact(&value, &json(schema)), value, "{schema}");
    }
}

#[test]
fn values_are_redacted_by_name_and_pattern() {
    let value = json(
        r#"{"password":"hunter2","Password":"hunter2","password_hint":{"api_key":"x"},
            "token":["hunter2"],"pin":4711,"secret":true,"credentials":null,"max_tokens":5,
            "author":"Li","令牌":"hunter2","令牌数":5,"note":"key AKIAIOSFODNN7EXAMPLE",
            "text":"{\"password\":\"hunter2\"}","ids":[9007199254740993,1e400],
            "AKIAIOSFODNN7EXAMPLE":1}"#,
    );
    let redacted = redact(&value, &Json::Bool(true));
    let expected = json(
        r#"{"password":"[redacted]","Password":"[redacted]","password_hint":"[redacted]",
            "token":"[redacted]","pin":"[redacted]","secret":true,"credentials":null,"max_tokens":5,
            "author":"Li","令牌":"[redacted]","令牌数":5,"note":"key [redacted]",
            "text":"{\"password\":\"[redacted]\"}","ids":[9007199254740993,1e400],
            "[redacted]":1}"#,
    );
    assert_eq!(redacted.pretty(), expected.pretty());
    assert_eq!(redact(&redacted, &Json::Bool(true)), redacted, "once is enough");
}

#[test]
fn changes_are_redacted_by_their_path() {
    let schema = schema::<Login>();
    let redactor = Redactor::new(&schema);
    let change = |path: &str| {
        let change = Change::new(path, Op::Text).with_values(4711_u64, "hunter2");
        redactor.change(&change)
    };
    let mark = Some(Json::from("[redacted]"));
    for path in
        ["/opening", "/digits", "/nested/0/phrase", "/spare", "/other/api_key", "/api_key/0"]
    {
        let change = change(path);
        assert_eq!((&change.from, &change.to), (&mark, &mark), "{path}");
    }
    assert_eq!(change("/user").to, Some(Json::from("hunter2")));
    let whole = Change::new("", Op::Decode).with_values(LOGIN, json(LOGIN));
    let whole = redactor.change(&whole);
    assert!(!Json::Object(whole.to_json()).compact().contains("hunter2"));
    let broken = Change::new("", Op::Close).with_values(&LOGIN[..40], json(LOGIN));
    let broken = redactor.change(&broken);
    assert!(!Json::Object(broken.to_json()).compact().contains("hunter2"));
}

#[test]
fn unparsable_text_is_fully_redacted_if_the_schema_has_secrets() {
    let (with, without) = (schema::<Login>(), Json::Bool(true));
    assert_eq!(Redactor::new(&with).text("{'opening': 'hunter2'"), "[redacted]");
    assert_eq!(Redactor::new(&without).text("{'opening': 'x'"), "{'opening': 'x'");
    assert_eq!(Redactor::new(&without).text("{'token': 'x'"), "{'token': '[redacted]'");
    assert_eq!(Redactor::new(&with).text(r#"{"user":"me"}"#), r#"{"user":"me"}"#);
    assert!(!Redactor::new(&with).text(LOGIN).contains("hunter2"));
}

#[test]
fn text_for_logs_is_redacted() {
    assert_eq!(text("login with password=hunter2"), "login with password=[redacted]");
    assert_eq!(text("nothing here"), "nothing here");
}
