//! Values of messages that are repeated in HTTP headers: `Mcp-Name`, and parameters that a tool marks with
//! `x-mcp-header`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;
use toolwright_core::Json;
use toolwright_json::{Number, Object};

use super::message::{Request, RpcError};
use super::protocol::{HEADER_MISMATCH, header, meta};

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// The member of a schema that names the header of a parameter.
const ANNOTATION: &str = "x-mcp-header";

/// The largest integer that a header may contain, positive or negative.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// Maximum depth of nested properties that are searched for annotations.
const MAX_DEPTH: usize = 32;

/// Returns a text as a header value: as it is if it is visible ASCII, else in Base64 between marks.
pub(super) fn encode(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && text.trim_matches([' ', '\t']) == text
        && !(text.starts_with(OPEN) && text.ends_with(CLOSE));
    if is_plain { text.to_owned() } else { format!("{OPEN}{}{CLOSE}", STANDARD.encode(text)) }
}

/// A parameter that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParameterHeader {
    /// The keys from the arguments to the value
    path: Vec<String>,
    /// The name of the header
    pub(super) name: String,
}

impl ParameterHeader {
    /// Returns the value of the header for a call, or `None` if the call has no such argument.
    pub(super) fn value(&self, arguments: &Object) -> Option<String> {
        self.text(arguments).map(|text| encode(&text))
    }

    fn argument<'a>(&self, arguments: &'a Object) -> Option<&'a Json> {
        let (first, nested) = self.path.split_first()?;
        nested.iter().try_fold(arguments.get(first)?, |value, key| value.get(key))
    }

    fn text(&self, arguments: &Object) -> Option<String> {
        match self.argument(arguments)? {
            Json::String(text) => Some(text.as_str().to_owned()),
            Json::Number(number) => Some(number.as_str().to_owned()),
            Json::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }
}

/// Returns the parameters of a tool that are repeated in headers, or why an annotation is invalid.
pub(super) fn parameters(schema: &Json) -> Result<Vec<ParameterHeader>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    if count(schema, 0) != found.len() {
        let why = format!("{ANNOTATION} is allowed only below 'properties' of the schema");
        return Err(why);
    }
    for (index, header) in found.iter().enumerate() {
        if found[..index].iter().any(|earlier| earlier.name.eq_ignore_ascii_case(&header.name)) {
            return Err(format!("two parameters have the {ANNOTATION} '{}'", header.name));
        }
    }
    for header in &mut found {
        header.name.insert_str(0, "mcp-param-");
    }
    Ok(found)
}

fn collect(
    schema: &Json,
    path: &mut Vec<String>,
    found: &mut Vec<ParameterHeader>,
) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let Some(properties) = properties.filter(|_| path.len() < MAX_DEPTH) else { return Ok(()) };
    for (key, property) in properties.iter() {
        path.push(key.to_owned());
        if let Some(name) = property.get(ANNOTATION) {
            let at = path.join(".");
            let is_valid = |name: &&str| HeaderName::from_bytes(name.as_bytes()).is_ok();
            let name = name.as_str().filter(is_valid);
            let name = name.ok_or(format!("the {ANNOTATION} of '{at}' is no header name"))?;
            let kind = property.get("type").and_then(Json::as_str);
            if !matches!(kind, Some("string" | "integer" | "boolean")) {
                let why = "is not a string, an integer or a boolean";
                return Err(format!("'{at}' has an {ANNOTATION}, but {why}"));
            }
            found.push(ParameterHeader { path: path.clone(), name: name.to_owned() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// Number of annotations anywhere in a schema. A property may be called like the annotation.
fn count(schema: &Json, depth: usize) -> usize {
    if depth > 2 * MAX_DEPTH {
        return 0;
    }
    match schema {
        Json::Object(members) => {
            let own =
                usize::from(members.get(ANNOTATION).is_some_and(|own| own.as_str().is_some()));
            own + members.iter().map(|(_, member)| count(member, depth + 1)).sum::<usize>()
        }
        Json::Array(items) => items.iter().map(|item| count(item, depth + 1)).sum(),
        _ => 0,
    }
}

/// Whether a text may be the name of a header.
/// Whether all integers that are repeated in headers are within the range of the protocol.
pub(super) fn check_range(headers: &[ParameterHeader], arguments: &Object) -> Result<(), String> {
    for header in headers {
        let Some(value) = header.value(arguments) else { continue };
        if value.parse::<i128>().is_ok_and(|value| value.abs() > i128::from(MAX_INTEGER)) {
            let at = header.path.join(".");
            return Err(format!("'{at}' is too large for the header that repeats it"));
        }
    }
    Ok(())
}

/// Returns the error of a request whose headers do not repeat its message, for servers. `header` returns the value
/// of a header, and `schema` is that of the called tool's parameters.
pub fn header_mismatch<'h>(
    header: impl Fn(&str) -> Option<&'h [u8]>,
    request: &Request,
    schema: Option<&Json>,
) -> Option<RpcError> {
    let params = &request.params;
    let version = params.get(meta::META).and_then(|own| own.get(meta::VERSION));
    let mut expected = vec![
        (header::VERSION.to_string(), version.and_then(Json::as_str).map(str::to_owned)),
        (header::METHOD.to_string(), Some(request.method.clone())),
    ];
    expected.extend(request.target().map(|name| (header::NAME.to_string(), Some(name.to_owned()))));
    let arguments = params.get("arguments").and_then(Json::as_object);
    for parameter in schema.and_then(|schema| parameters(schema).ok()).into_iter().flatten() {
        let value = arguments.and_then(|arguments| parameter.text(arguments));
        let sent = header(&parameter.name);
        let argument = arguments.and_then(|arguments| parameter.argument(arguments));
        // A number may be written in another way.
        if sent.zip(argument).is_some_and(|(sent, argument)| is_number(sent, argument)) {
            continue;
        }
        if value.is_some() || sent.is_some() {
            expected.push((parameter.name, value));
        }
    }
    expected.into_iter().find_map(|(name, expected)| {
        let value = header(&name).and_then(|value| std::str::from_utf8(value).ok());
        let value = value.and_then(decode);
        let (Some(value), Some(expected)) = (&value, &expected) else {
            // The absence of a version in the message is an error of its own.
            let is_missing = expected.is_some() || !name.ends_with("version");
            return is_missing
                .then(|| mismatch(&name, "is missing, or the message has no such value"));
        };
        (value != expected).then(|| mismatch(&name, "differs from the message"))
    })
}

/// Whether the value of a header is the same number as an argument.
fn is_number(sent: &[u8], argument: &Json) -> bool {
    let Json::Number(number) = argument else { return false };
    let sent = std::str::from_utf8(sent).ok().and_then(Number::parse);
    sent.is_some_and(|sent| sent.compare(number).is_eq())
}

fn mismatch(name: &str, what: &str) -> RpcError {
    RpcError::new(HEADER_MISMATCH, format!("Header mismatch: the header {name} {what}"))
}

/// Decodes a header value; `None` if it is invalid.
fn decode(value: &str) -> Option<String> {
    match value.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::CALL_TOOL;

    #[test]
    fn values_that_a_header_cannot_hold_are_encoded() {
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode(text), value);
        }
    }

    #[test]
    fn annotated_parameters_become_headers() {
        let schema = Json::parse(
            r#"{"properties": {"region": {"type": "string", "x-mcp-header": "Region"},
                "where": {"properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}}}}"#,
        );
        let headers = parameters(&schema.unwrap()).unwrap();
        let Ok(Json::Object(arguments)) = Json::parse(r#"{"region": "日", "where": {"zone": 42}}"#)
        else {
            panic!()
        };
        let values: Vec<_> = headers
            .iter()
            .map(|header| (header.name.as_str(), header.value(&arguments).unwrap()))
            .collect();
        let expected = [
            ("mcp-param-Region", "=?base64?5pel?=".to_owned()),
            ("mcp-param-Zone", "42".to_owned()),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn invalid_annotations_are_refused() {
        for schema in [
            r#"{"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}"#,
            r#"{"properties": {"a": {"type": "string", "x-mcp-header": ""}}}"#,
            r#"{"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}"#,
            r#"{"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}}"#,
            r#"{"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}"#,
            r#"{"properties": {"a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"}}}"#,
        ] {
            assert!(parameters(&Json::parse(schema).unwrap()).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_header_repeats_a_number_exactly() {
        let schema = Json::parse(
            r#"{"properties": {"n": {"type": "integer", "x-mcp-header": "N"},
                "s": {"type": "string", "x-mcp-header": "S"}}}"#,
        );
        let schema = schema.unwrap();
        let differs = |arguments: &str, name: &str, value: &'static str| {
            let params = format!(r#"{{"name": "t", "arguments": {arguments}}}"#);
            let Ok(Json::Object(params)) = Json::parse(&params) else { panic!() };
            let request = Request { id: 1_u64.into(), method: CALL_TOOL.to_owned(), params };
            let header = |own: &str| match own {
                "mcp-method" => Some(CALL_TOOL.as_bytes()),
                "mcp-name" => Some(&b"t"[..]),
                own => own.eq_ignore_ascii_case(name).then_some(value.as_bytes()),
            };
            header_mismatch(header, &request, Some(&schema)).is_some()
        };
        assert!(!differs(r#"{"n": 42}"#, "mcp-param-n", "42.0"));
        assert!(differs(r#"{"n": 9007199254740992}"#, "mcp-param-n", "9007199254740993"));
        assert!(differs(r#"{"s": "100"}"#, "mcp-param-s", "1e2"));
        assert!(!differs(r#"{"s": "100"}"#, "mcp-param-s", "100"));
    }
}
