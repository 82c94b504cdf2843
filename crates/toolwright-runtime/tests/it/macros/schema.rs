//! What a model sees: name, description, schema of the arguments and of the result.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use toolwright_core::object;
use toolwright_core::schema::Check;
use toolwright_runtime::prelude::*;
use toolwright_runtime::{Effect, Envelope};

use super::{parameters, run, shown};

/// How warm it is.
#[data]
#[derive(Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[data]
#[derive(Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Place {
    /// Degrees north
    latitude: f64,
    /// Degrees east
    longitude: f64,
    #[serde(default)]
    time_zone: Option<String>,
}

#[data]
struct Node {
    name: String,
    children: Vec<Node>,
}

#[data]
struct Weather {
    degrees: f64,
    /// In words
    sky: String,
}

/// Current weather of a city, or of several,
/// as measured.
///
/// 查询城市的实时天气。
///
/// # Errors
///
/// If there is no such city.
#[tool(
    title = "Weather",
    read_only,
    deadline = "5s",
    cache = "60s",
    retries = 3,
    concurrency = 2,
    budget = 4096,
    hidden = "executor, type"
)]
#[allow(clippy::too_many_arguments, unused_variables)]
async fn get_weather(
    /// The city, e.g. 北京
    city: String,
    #[default(Unit::Celsius)] unit: Unit,
    /// 预报天数
    days: Option<u8>,
    #[default("local")] executor: String,
    place: Option<Place>,
    #[default(vec![Place::default()])] others: Vec<Place>,
    labels: BTreeMap<String, u32>,
    #[default(-3)] offset: i64,
    detailed: bool,
    second_unit: Option<Unit>,
    #[default(None)] r#type: Option<String>,
    #[schemars(range(min = 1, max = 7), extend("x-note" = "narrow"))]
    #[default(3)]
    hours: u8,
    #[allow(unused)] anything: serde_json::Value,
) -> Result<Weather, std::io::Error> {
    Ok(Weather { degrees: 20.0, sky: format!("{city} {unit:?} {days:?}") })
}

#[test]
fn a_rich_function_has_the_golden_schema() {
    let handler = get_weather::handler();
    let golden = Json::parse(include_str!("weather.json")).unwrap();
    assert_eq!(parameters(&handler), golden, "{}", parameters(&handler).pretty());
}

#[test]
fn every_schema_compiles_and_matches_its_types() {
    let check = Check::compile(&parameters(&get_weather::handler())).unwrap();
    let accepts = |text: &str| check.accepts(&Json::parse(text).unwrap());
    let least = r#""city": "北京", "labels": {}, "detailed": true, "anything": []"#;
    assert!(accepts(&format!("{{{least}}}")));
    for (more, valid) in [
        (r#""unit": "fahrenheit""#, true),
        (r#""unit": "kelvin""#, false),
        (r#""unit": null"#, false),
        (r#""days": 255"#, true),
        (r#""days": 256"#, false),
        (r#""days": -1"#, false),
        (r#""days": null"#, true),
        (r#""second_unit": null"#, true),
        (r#""second_unit": "kelvin""#, false),
        (r#""place": null"#, true),
        (r#""place": {"latitude": 1, "longitude": 2.5}"#, true),
        (r#""place": {"latitude": 1, "longitude": 2.5, "timeZone": "Asia/Shanghai"}"#, true),
        (r#""place": {"latitude": 1, "longitude": 2.5, "time_zone": "Asia/Shanghai"}"#, false),
        (r#""others": []"#, true),
        (r#""others": [{}]"#, false),
        (r#""labels": {"a": 4294967296}"#, false),
        (r#""hours": 8"#, false),
        (r#""unknown": 1"#, false),
    ] {
        assert_eq!(accepts(&format!("{{{least}, {more}}}")), valid, "{more}");
    }
    assert!(!accepts("{}"));
}

#[test]
fn options_become_settings() {
    let handler = get_weather::handler();
    let settings = handler.settings();
    assert_eq!(settings.effect, Effect::None);
    assert_eq!(settings.deadline, Duration::from_secs(5));
    assert_eq!(settings.cache, Some(Duration::from_mins(1)));
    assert_eq!(settings.retry.map(|retry| retry.max), Some(3));
    assert_eq!(settings.concurrency, Some(2));
    assert_eq!(settings.budget, 4096);
    assert_eq!(settings.hidden, ["executor", "type"]);
    assert!(settings.envelope.is_none());
    let tool = handler.tool();
    assert_eq!(tool.title.as_deref(), Some("Weather"));
    assert_eq!(tool.annotations, Some(object! {"readOnlyHint": true}));
    assert_eq!(
        tool.description.as_deref(),
        Some("Current weather of a city, or of several, as measured.\n\n查询城市的实时天气。")
    );
}

/// Not this.
#[tool(name = "删除", description = "删除文件", keyed, envelope = "result")]
fn remove(path: &Path) -> Weather {
    Weather { degrees: 0.0, sky: path.display().to_string() }
}

#[tokio::test]
async fn a_name_and_a_description_may_be_given() {
    let handler = remove::handler();
    assert_eq!(handler.tool().name, "删除");
    assert_eq!(handler.tool().description.as_deref(), Some("删除文件"));
    assert_eq!(handler.settings().effect, Effect::Keyed);
    assert_eq!(handler.settings().envelope, Some(Envelope::Result));
    assert_eq!(handler.tool().annotations, Some(object! {"idempotentHint": true}));
    assert_eq!(handler.tool().output, None, "an envelope is not what the function returns");
    assert!(shown(run(handler, r#"{"path": "a"}"#).await).contains(r#""sky":"a""#));
}

#[tool]
fn plain() {}

#[test]
fn a_function_without_parameters_takes_an_empty_object() {
    let handler = plain::handler();
    let schema = object! {
        "type": "object", "properties": object! {}, "additionalProperties": false,
    };
    assert_eq!(parameters(&handler), Json::from(schema));
    assert_eq!(handler.tool().description, None);
    assert_eq!(handler.tool().annotations, None);
    assert_eq!(handler.settings().effect, Effect::Once);
    assert_eq!(handler.settings().deadline, toolwright_runtime::Settings::default().deadline);
}

#[tool]
fn trees(first: Node, second: Option<Node>) -> Node {
    let children = [Some(first), second].into_iter().flatten().collect();
    Node { name: "root".to_owned(), children }
}

#[tokio::test]
async fn a_type_that_contains_itself_stays_a_definition() {
    let schema = parameters(&trees::handler());
    assert_eq!(
        schema.pointer("/properties/first").map(Json::compact).as_deref(),
        Some(r##"{"$ref":"#/$defs/Node"}"##)
    );
    let check = Check::compile(&schema).unwrap();
    let valid = r#"{"first": {"name": "a", "children": [{"name": "b", "children": []}]}}"#;
    assert!(check.accepts(&Json::parse(valid).unwrap()));
    let wrong = r#"{"first": {"name": "a", "children": [{"name": "b"}]}}"#;
    assert!(!check.accepts(&Json::parse(wrong).unwrap()));
    assert!(shown(run(trees::handler(), valid).await).contains(r#""name":"b""#));
}

#[tool]
fn bare() -> Vec<Weather> {
    Vec::new()
}

#[tool]
#[expect(clippy::unnecessary_wraps, reason = "the type is what is tested")]
fn unknown() -> Result<Undescribed, String> {
    Ok(Undescribed { a: 1 })
}

#[derive(Serialize)]
#[serde(crate = "toolwright_runtime::serde")]
struct Undescribed {
    a: u8,
}

#[test]
fn a_result_has_a_schema_if_it_is_an_object_with_one() {
    let output = get_weather::handler().tool().output.clone().expect("a schema");
    assert_eq!(output.get("type").and_then(Json::as_str), Some("object"));
    assert_eq!(
        output.pointer("/properties/sky/description").and_then(Json::as_str),
        Some("In words")
    );
    assert_eq!(bare::handler().tool().output, None);
    assert_eq!(unknown::handler().tool().output, None);
    assert_eq!(plain::handler().tool().output, None);
}

#[tool]
fn wide(#[default(u128::MAX)] a: u128, #[default(0.1)] b: f32, #[default(NoWords)] _c: NoWords) {
    let _ = (a, b);
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolwright_runtime::serde")]
#[schemars(crate = "toolwright_runtime::schemars")]
struct NoWords;

#[test]
fn defaults_are_written_with_every_digit_if_representable() {
    let schema = parameters(&wide::handler());
    let default = |pointer: &str| schema.pointer(pointer).map(Json::compact);
    assert_eq!(
        default("/properties/a/default").as_deref(),
        Some("340282366920938463463374607431768211455")
    );
    assert_eq!(default("/properties/b/default").as_deref(), Some("0.1"));
    assert_eq!(default("/properties/_c/default"), None);
    assert_eq!(schema.get("required"), None);
}

#[data]
struct Query {
    filter: toolwright_json::Object,
    extra: Json,
}

/// Takes anything.
#[tool]
fn take(value: Json, options: Option<Json>, query: Query) -> Query {
    let Query { filter, .. } = query;
    Query { filter, extra: vec![value, options.unwrap_or_default(), query.extra].into() }
}

#[tokio::test]
async fn any_json_is_an_argument_with_all_its_digits() {
    assert_eq!(
        parameters(&take::handler()).compact(),
        concat!(
            r#"{"type":"object","properties":{"value":{},"options":{},"query":"#,
            r#"{"type":"object","properties":{"filter":{"type":"object"},"extra":{}},"#,
            r#""required":["filter","extra"]}},"required":["value","query"],"#,
            r#""additionalProperties":false}"#,
        )
    );
    let arguments = r#"{"value":12345678901234567890123,"options":{"b":1,"a":[null,0.1]},
        "query":{"filter":{"北京":"x"},"extra":-0}}"#;
    assert_eq!(
        shown(run(take::handler(), arguments).await),
        r#"{"filter":{"北京":"x"},"extra":[12345678901234567890123,{"b":1,"a":[null,0.1]},0]}"#
    );
    let value = Json::parse(r#"{"a":1.10,"a":1e400}"#).unwrap();
    assert_eq!(value.to::<Json>().unwrap(), value);
    let refused = Json::from(vec![1]).to::<toolwright_json::Object>().unwrap_err();
    assert_eq!(refused.message(), "invalid type: array, expected an object");
}
