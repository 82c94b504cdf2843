//! Types that a function may return.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use toolwright_runtime::output::{Content, Piece};
use toolwright_runtime::prelude::*;

use super::{run, shown};

type Fallible<T> = Result<T, Broken>;

#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("it broke")
    }
}

impl Error for Broken {}

#[data]
#[serde(rename_all = "camelCase")]
struct Answer {
    the_id: u64,
}

/// A type without `Serialize`.
struct Celsius(f64);

impl From<Celsius> for Output {
    fn from(celsius: Celsius) -> Output {
        Output::text(format!("{} °C", celsius.0))
    }
}

#[tool]
fn nothing() {}

#[tool]
fn words() -> &'static str {
    "words"
}

#[tool]
fn cow(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

#[tool]
async fn value() -> Answer {
    Answer { the_id: u64::MAX }
}

#[tool]
fn list() -> Vec<i32> {
    vec![1, -2]
}

#[tool]
fn absent() -> Option<Answer> {
    None
}

#[tool]
fn json() -> Json {
    Json::parse("1e400").unwrap()
}

#[tool]
fn own() -> Celsius {
    Celsius(21.5)
}

#[tool]
fn opaque() -> impl Serialize {
    [1, 2]
}

#[tool]
async fn alias(fail: bool) -> Fallible<Answer> {
    if fail { Err(Broken) } else { Ok(Answer { the_id: 1 }) }
}

#[tool]
#[expect(clippy::unnecessary_wraps, reason = "the type is what is tested")]
fn output() -> Result<Output, ToolError> {
    Ok(Output::text("for the model").with_host(7_u8))
}

#[tool]
fn bytes() -> Vec<u8> {
    vec![0xff, 0xfe]
}

#[tokio::test]
async fn every_return_type_becomes_a_result() {
    for (handler, result) in [
        (nothing::handler(), "done"),
        (words::handler(), "words"),
        (value::handler(), r#"{"theId":18446744073709551615}"#),
        (list::handler(), "[1,-2]"),
        (absent::handler(), "null"),
        (json::handler(), "1e400"),
        (own::handler(), "21.5 °C"),
        (opaque::handler(), "[1,2]"),
        (output::handler(), "for the model"),
    ] {
        let name = handler.tool().name.clone();
        assert_eq!(shown(run(handler, "{}").await), result, "{name}");
    }
    assert_eq!(shown(run(cow::handler(), r#"{"text": "lent"}"#).await), "lent");
    assert_eq!(shown(run(alias::handler(), r#"{"fail": false}"#).await), r#"{"theId":1}"#);
    let output = run(output::handler(), "{}").await.unwrap();
    assert_eq!(output.host.and_then(|host| host.get::<u8>().copied()), Some(7));
}

#[tokio::test]
async fn bytes_stay_bytes() {
    let output = run(bytes::handler(), "{}").await.unwrap();
    let [Piece { content: Content::Bytes(blob), .. }] = &*output.pieces else {
        panic!("{output:?}")
    };
    assert_eq!(*blob.bytes, [0xff, 0xfe]);
}

#[tool]
fn standard() -> std::io::Result<String> {
    Err(std::io::Error::other("no disk"))
}

#[tool]
fn boxed() -> Result<(), Box<dyn Error + Send + Sync>> {
    Err(Box::new(Outer(Broken)))
}

#[tool]
fn boxed_plain() -> Result<(), Box<dyn Error>> {
    Err("no luck".into())
}

#[tool]
fn text() -> Result<(), String> {
    Err("in words".to_owned())
}

#[tool]
fn borrowed_text() -> Result<(), &'static str> {
    Err("in words")
}

#[tool]
fn own_error() -> Result<(), ToolError> {
    Err(ToolError::new("later").with_kind("Late").retryable())
}

#[derive(Debug)]
struct Outer(Broken);

impl fmt::Display for Outer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("outside")
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[tokio::test]
async fn every_kind_of_error_is_reported() {
    for (handler, message, kind) in [
        (alias::handler(), "it broke", "Broken"),
        (standard::handler(), "no disk", "Error"),
        (boxed::handler(), "outside: it broke", "Error"),
        (boxed_plain::handler(), "no luck", "Error"),
        (text::handler(), "in words", "ToolError"),
        (borrowed_text::handler(), "in words", "ToolError"),
        (own_error::handler(), "later", "Late"),
    ] {
        let name = handler.tool().name.clone();
        let error = run(handler, r#"{"fail": true}"#).await.unwrap_err();
        assert_eq!((error.message.as_str(), error.kind.as_str()), (message, kind), "{name}");
        assert_eq!(error.retryable, name == "own_error");
    }
}

#[data]
struct Unwritable {
    map: std::collections::BTreeMap<Vec<u8>, u8>,
}

#[tool]
fn unwritable() -> Unwritable {
    Unwritable { map: [(vec![1], 1)].into() }
}

#[tokio::test]
async fn a_result_that_cannot_be_written_is_an_error() {
    let error = run(unwritable::handler(), "{}").await.unwrap_err();
    assert_eq!(error.kind, "unwritable_result");
}
