//! Spellings that a format itself treats as one. Law 2 is judged up to these and nothing else.

use toolwright_core::dialect::Dialect;
use toolwright_core::json::Object;
use toolwright_core::{Json, object};

/// Below these keys every byte counts: arguments, schemas, results.
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

/// The form of a wire document in which equal meanings are equal values.
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
        // Vendors that follow OpenAI Chat name their thinking in either way.
        if is_chat(dialect) && key == "reasoning" && value.as_str().is_some() {
            "reasoning_content".clone_into(&mut key);
        }
        // Gemini's Python SDK sends the settings even if none is set.
        if key == "generationConfig" && value.as_object().is_some_and(Object::is_empty) {
            continue;
        }
        // The Responses API calls its list of items `input`; there it is no arguments.
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
        // A text or a list of one, for the stop texts of OpenAI Chat.
        if is_chat(dialect) && key == "stop" && value.as_str().is_some() {
            value = Json::Array(vec![value]);
        }
        out.insert(key, value);
    }
    if dialect == Dialect::OpenaiResponses && !out.contains_key("type") {
        one_message(&mut out);
    }
    // A message of the model that does not say so is done.
    let done = out.get("status").and_then(Json::as_str) == Some("completed");
    if dialect == Dialect::OpenaiResponses && out.contains_key("role") && done {
        out.remove("status");
    }
    out
}

fn is_chat(dialect: Dialect) -> bool {
    dialect.shares_wire(Dialect::OpenaiChat)
}

/// Absent or what a format takes for granted: empty strings of Ollama's server and of Cohere's plan;
/// durations of Ollama that nobody measured;
/// in the Responses API, that an item with a role is a message, no annotations, and any detail.
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

/// Absent or the tokens themselves, for what Cohere bills; zero where there are none.
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

/// A string or one text part. Ollama has strings only, and an answer of OpenAI may have.
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

/// Fails with both documents where they differ in more than spelling.
pub fn assert_same(dialect: Dialect, name: &str, original: &Json, again: &Json) {
    let (original, again) = (normal(dialect, original), normal(dialect, again));
    assert!(
        original.same(&again),
        "{dialect} {name}\noriginal: {}\nagain:    {}",
        original.pretty(),
        again.pretty()
    );
}
