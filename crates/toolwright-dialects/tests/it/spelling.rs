//! Spellings that a format treats as equal. Law 2 is checked up to these and no others.

use toolwright_core::json::Object;
use toolwright_core::json::pointer::escape;
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::{self, Dialect};

/// Below these keys every byte is significant: arguments, schemas, results.
const EXACT: [&str; 11] = [
    "input",
    "arguments",
    "args",
    "input_schema",
    "inputSchema",
    "parameters",
    "parametersJsonSchema",
    "json",
    "response",
    "data",
    "schema",
];

/// Normalizes a wire document, so that equal meanings are equal values.
pub fn normal(dialect: Dialect, value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(|item| normal(dialect, item)).collect()),
        Json::Object(object) => Json::Object(members(dialect, object)),
        other => other.clone(),
    }
}

fn members(dialect: Dialect, object: &Object) -> Object {
    let mut out = Object::new();
    for (key, value) in object.iter() {
        // Absent or null.
        if value.is_null() || is_silent(dialect, key, value) {
            continue;
        }
        let mut key = key_of(dialect, key);
        // Vendors that follow OpenAI Chat use either name for reasoning.
        if is_chat(dialect) && key == "reasoning" && value.as_str().is_some() {
            "reasoning_content".clone_into(&mut key);
        }
        // Gemini's Python SDK sends the settings even if none is set.
        if key == "generationConfig" && value.as_object().is_some_and(Object::is_empty) {
            continue;
        }
        // The Responses API calls its list of items `input`; there it is not arguments.
        let exact = EXACT.contains(&key.as_str())
            && !(dialect == Dialect::OpenaiResponses && value.as_array().is_some());
        let mut value =
            if exact { value.clone() } else { text(dialect, &key, normal(dialect, value)) };
        if dialect == Dialect::Cohere && key == "usage" {
            drop_bill(&mut value);
            if value.as_object().is_some_and(Object::is_empty) {
                continue;
            }
        }
        if dialect == Dialect::Ollama && key == "tool_calls" {
            drop_positions(&mut value);
        }
        // A string or a list of one, for the stop sequences of OpenAI Chat.
        if is_chat(dialect) && key == "stop" && value.as_str().is_some() {
            value = Json::Array(vec![value]);
        }
        out.insert(key, value);
    }
    if dialect == Dialect::OpenaiResponses && !out.contains_key("type") {
        one_message(&mut out);
    }
    // A message of the model without a status is completed.
    let done = out.get("status").and_then(Json::as_str) == Some("completed");
    if dialect == Dialect::OpenaiResponses && out.contains_key("role") && done {
        out.remove("status");
    }
    out
}

fn is_chat(dialect: Dialect) -> bool {
    dialect.shares_wire(Dialect::OpenaiChat)
}

/// Absent or the default of a format: empty strings of Ollama's server and of Cohere's plan;
/// unmeasured durations of Ollama; in the Responses API, the type of an item with a role, empty
/// annotations, and any detail.
fn is_silent(dialect: Dialect, key: &str, value: &Json) -> bool {
    match (dialect, key) {
        (Dialect::Ollama, "content" | "thinking" | "done_reason")
        | (Dialect::Cohere, "tool_plan") => value.as_str() == Some(""),
        (
            Dialect::Ollama,
            "total_duration" | "load_duration" | "prompt_eval_duration" | "eval_duration",
        ) => value.as_u64() == Some(1),
        (Dialect::OpenaiResponses, "type") => value.as_str() == Some("message"),
        (Dialect::OpenaiResponses, "detail") => value.as_str() == Some("auto"),
        (Dialect::OpenaiResponses, "annotations" | "logprobs") => value.as_array() == Some(&[]),
        _ => false,
    }
}

/// Absent or equal to the tokens, for the units that Cohere bills; zero if there are none.
fn drop_bill(usage: &mut Json) {
    let Some(usage) = usage.as_object_mut() else { return };
    let tokens = usage.get("tokens").cloned().unwrap_or_default();
    let plain = usage.get("billed_units").and_then(Json::as_object).is_some_and(|billed| {
        billed.iter().all(|(key, value)| {
            tokens.get(key) == Some(value) || (tokens.is_null() && value.as_u64() == Some(0))
        })
    });
    if plain {
        usage.remove("billed_units");
    }
}

/// Absent or the position among the calls, for the index of Ollama's calls.
fn drop_positions(calls: &mut Json) {
    let Json::Array(calls) = calls else { return };
    for (position, call) in calls.iter_mut().enumerate() {
        let function = call.as_object_mut().and_then(|call| call.get_mut("function"));
        let Some(function) = function.and_then(Json::as_object_mut) else { continue };
        if function.get("index") == Some(&Json::from(position)) {
            function.remove("index");
        }
    }
}

/// In a request of the Responses API, a string or one message of the user.
fn one_message(request: &mut Object) {
    if let Some(text @ Json::String(_)) = request.get("input").cloned() {
        let content = vec![object! {"type": "text", "text": text}];
        request.insert("input", vec![object! {"role": "user", "content": content}]);
    }
}

/// Snake or camel case, for proto-JSON.
fn key_of(dialect: Dialect, key: &str) -> String {
    if dialect != Dialect::Gemini {
        return key.to_owned();
    }
    let mut out = String::new();
    let mut upper = false;
    for character in key.chars() {
        match character {
            '_' => upper = true,
            character if upper => {
                out.extend(character.to_uppercase());
                upper = false;
            }
            character => out.push(character),
        }
    }
    out
}

/// A string or one text part. Ollama has strings only, and a reply of OpenAI may have either.
fn text(dialect: Dialect, key: &str, value: Json) -> Json {
    if !matches!(key, "content" | "system" | "output") || dialect == Dialect::Ollama {
        return value;
    }
    match value {
        Json::String(text) => Json::from(vec![object! {"type": "text", "text": text}]),
        Json::Array(mut items) => {
            for item in items.iter_mut().filter_map(Json::as_object_mut) {
                if item
                    .get("type")
                    .and_then(Json::as_str)
                    .is_some_and(|kind| matches!(kind, "input_text" | "output_text"))
                {
                    item.insert("type", "text");
                }
            }
            Json::Array(items)
        }
        value => value,
    }
}

/// The normal form without members that mean the same as their absence: documented defaults, and
/// bookkeeping. Law 7 uses it, because no loss is reported for such a member.
pub fn meaning(dialect: Dialect, value: &Json) -> Json {
    without_defaults(dialect, "", &normal(dialect, value))
}

fn without_defaults(dialect: Dialect, path: &str, value: &Json) -> Json {
    match value {
        Json::Array(items) => {
            let items = items.iter().enumerate();
            let item = |(at, item)| without_defaults(dialect, &format!("{path}/{at}"), item);
            Json::Array(items.map(item).collect())
        }
        Json::Object(object) => {
            let mut out = Object::new();
            for (key, value) in object.iter() {
                let path = format!("{path}/{}", escape(key));
                let exact = EXACT.contains(&key) && value.as_object().is_some();
                let value =
                    if exact { value.clone() } else { without_defaults(dialect, &path, value) };
                let says_nothing = dialect::is_default(dialect, &path, &value)
                    || is_canonical_default(&path, key, &value);
                if !says_nothing {
                    out.insert(key.to_owned(), value);
                }
            }
            match dialect {
                Dialect::Cohere => plan_first(&mut out),
                Dialect::Gemini if is_declaration(path) => one_schema(&mut out),
                _ => {}
            }
            Json::Object(out)
        }
        other => other.clone(),
    }
}

/// Explicit defaults that the canonical model has a field for.
fn is_canonical_default(path: &str, key: &str, value: &Json) -> bool {
    let text = value.compact();
    match key {
        "tool_choice" | "toolChoice" => {
            matches!(text.as_str(), "\"auto\"" | "{}" | r#"{"auto":{}}"#)
        }
        "type" if path == "/tool_choice/type" => text == "\"auto\"",
        "functionCallingConfig" => matches!(text.as_str(), "{}" | r#"{"mode":"AUTO"}"#),
        "toolConfig" | "text" => text == "{}",
        "parallel_tool_calls" => text == "true",
        "disable_parallel_tool_use"
        | "is_error"
        | "strict"
        | "strict_tools"
        | "logprobs"
        | "responseLogprobs" => text == "false",
        "n" | "candidateCount" => text == "1",
        "top_logprobs" => text == "0",
        "frequency_penalty" | "presence_penalty" | "frequencyPenalty" | "presencePenalty" => {
            matches!(text.as_str(), "0" | "0.0")
        }
        "status" => text == "\"success\"",
        "response_format" | "format" => text == r#"{"type":"text"}"#,
        "responseMimeType" => text == "\"text/plain\"",
        // Counts of zero, and details without counts.
        _ => path.starts_with("/usage") && matches!(text.as_str(), "0" | "0.0" | "{}"),
    }
}

/// In Cohere's format, a plan or the first text beside the calls.
fn plan_first(message: &mut Object) {
    let Some(Json::String(plan)) = message.remove("tool_plan") else { return };
    let mut content = vec![Json::from(object! {"type": "text", "text": plan})];
    if let Some(Json::Array(items)) = message.remove("content") {
        content.extend(items);
    }
    message.insert("content", content);
}

/// In Gemini's format, a schema is JSON Schema or the subset of `OpenAPI`, which has the shorter
/// key.
const ONE_SCHEMA: [(&str, &str); 2] =
    [("parametersJsonSchema", "parameters"), ("responseJsonSchema", "response")];

fn one_schema(declaration: &mut Object) {
    for (full, subset) in ONE_SCHEMA {
        let schema = declaration.get(subset).map(|schema| {
            // The codec reads it; its tests are in `gemini.rs`.
            let wire = object! {"name": "a", "parameters": schema.clone()};
            let tool = dialect::tool_codec(Dialect::Gemini).decode_tool(wire.into()).unwrap();
            tool.parameters().unwrap().clone()
        });
        if let Some(schema) = schema.or_else(|| declaration.remove(full)) {
            declaration.insert(subset, schema);
        }
    }
}

/// Maps the path of a loss to the document that [`meaning`] returned.
pub fn path(dialect: Dialect, path: &str) -> String {
    match dialect {
        Dialect::Gemini if is_declaration(path) => {
            let one = |path: String, (full, subset)| path.replacen(full, subset, 1);
            ONE_SCHEMA.into_iter().fold(path.to_owned(), one)
        }
        Dialect::Cohere => path.replacen("/tool_plan", "/content", 1),
        _ => path.to_owned(),
    }
}

fn is_declaration(path: &str) -> bool {
    path.contains("/functionDeclarations/")
}

/// Panics with both documents if they differ in more than spelling.
pub fn assert_same(dialect: Dialect, name: &str, original: &Json, again: &Json) {
    let (original, again) = (normal(dialect, original), normal(dialect, again));
    assert!(
        original.same(&again),
        "{dialect} {name}\noriginal: {}\nagain:    {}",
        original.pretty(),
        again.pretty()
    );
}
