//! Request bodies.

use toolwright_core::request::{Format, SchemaFormat, Thinking};
use toolwright_core::{Body, Message, Part, Request, Role};
use toolwright_json::{Json, Key, Object, Path, object};

use super::part::{self, Reader};
use super::wire::{self, CONTENT, KEY, LEGACY};
use super::{Quirks, ThinkingSwitch, tool};
use crate::codec::{Fields, Result, WireRequest, elements};

/// Decodes a body.
pub(super) fn decode(body: Json, quirks: &Quirks) -> Result<Request> {
    let mut fields = Fields::new(body, Path::ROOT, quirks.dialect)?;
    let mut request = Request { model: fields.string("model")?, ..Request::default() };
    request.messages =
        elements(fields.array("messages")?, &Path::ROOT.key("messages"), |wire, path| {
            decode_message(wire, path, quirks)
        })?;
    if request.messages.first().is_some_and(|message| message.role == Role::System) {
        request.instructions = Some(request.messages.remove(0));
    }
    decode_tools(&mut fields, &mut request, quirks)?;
    request.parallel = fields.boolean("parallel_tool_calls")?;
    let limits = [quirks.max_tokens, "max_completion_tokens", "max_tokens"];
    if let Some(key) = limits.into_iter().find(|key| fields.peek(key).is_some()) {
        request.sampling.max_tokens = fields.number(key)?;
        if key != quirks.max_tokens {
            fields.put_back(KEY, key);
        }
    }
    request.sampling.temperature = fields.number("temperature")?;
    request.sampling.top_p = fields.number("top_p")?;
    request.sampling.top_k = fields.number("top_k")?;
    request.sampling.stop = fields.strings("stop")?;
    request.sampling.seed = fields.number("seed")?;
    request.sampling.frequency_penalty = fields.number("frequency_penalty")?;
    request.sampling.presence_penalty = fields.number("presence_penalty")?;
    request.sampling.answers = fields.number("n")?;
    request.sampling.logprobs = fields.boolean("logprobs")?;
    request.sampling.top_logprobs = fields.number("top_logprobs")?;
    request.user = fields.string("user")?;
    request.stream = fields.boolean("stream")?;
    request.thinking = decode_thinking(&mut fields, quirks)?;
    request.format = decode_format(&mut fields, quirks)?;
    request.extra = fields.into_extra();
    Ok(request)
}

fn decode_message(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Message> {
    let mut fields = Fields::new(wire, path, quirks.dialect)?;
    let origin = fields.origin();
    let role = match fields.need_string("role")?.as_str() {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => {
            return Err(
                fields.expected("role", "developer, system, user, assistant, tool or function")
            );
        }
    };
    let mut parts = match role {
        Role::Tool => {
            let outcome = part::decode_outcome(fields, quirks)?;
            return Ok(Message { origin, ..Message::new(role, vec![outcome]) });
        }
        Role::Assistant => part::decode_turn(&mut fields, quirks)?,
        _ => part::decode_content(&mut fields, &Json::from(""), quirks)?,
    };
    // A cache breakpoint on the message applies to its last part.
    if let Some(last) = parts.last_mut().filter(|last| last.cache.is_none()) {
        last.cache = wire::take_cache(&mut fields);
    }
    Ok(Message { role, parts, origin, extra: fields.into_extra() })
}

/// Decodes `tools` and `tool_choice`, or the legacy `functions` and `function_call`.
fn decode_tools(fields: &mut Fields<'_>, request: &mut Request, quirks: &Quirks) -> Result<()> {
    let legacy = fields.peek("functions").is_some() && fields.peek("tools").is_none();
    let (tools, choice) =
        if legacy { ("functions", "function_call") } else { ("tools", "tool_choice") };
    request.tools = elements(fields.array(tools)?, &Path::ROOT.key(tools), |wire, path| {
        tool::decode(wire, path, quirks)
    })?;
    if let Some(wire) = fields.take(choice) {
        request.tool_choice = Some(tool::decode_choice(wire, Path::ROOT.key(choice), quirks)?);
    }
    if legacy {
        fields.put_back(LEGACY, true);
    }
    Ok(())
}

fn decode_thinking(fields: &mut Fields<'_>, quirks: &Quirks) -> Result<Option<Thinking>> {
    let mut thinking = Thinking::default();
    if quirks.thinking != ThinkingSwitch::Reasoning {
        thinking.effort = fields.string("reasoning_effort")?;
    }
    match quirks.thinking {
        ThinkingSwitch::Effort => {}
        ThinkingSwitch::Thinking => {
            if let Some(wire) = fields.take("thinking") {
                let mut own = Fields::new(wire, Path::ROOT.key("thinking"), quirks.dialect)?;
                thinking.budget = own.number("budget_tokens")?;
                thinking.enabled = match own.tag("type") {
                    Some("enabled") => Some(true),
                    Some("disabled") => Some(false),
                    _ => None,
                };
                if thinking.enabled.is_some() {
                    own.take("type");
                }
                fields.put_back_rest("thinking", own.into_object());
            }
        }
        ThinkingSwitch::Flags => {
            thinking.enabled = fields.boolean("enable_thinking")?;
            thinking.budget = fields.number("thinking_budget")?;
        }
        ThinkingSwitch::Reasoning => {
            if let Some(wire) = fields.take("reasoning") {
                let mut own = Fields::new(wire, Path::ROOT.key("reasoning"), quirks.dialect)?;
                thinking.enabled = own.boolean("enabled")?;
                thinking.effort = own.string("effort")?;
                thinking.budget = own.number("max_tokens")?;
                fields.put_back_rest("reasoning", own.into_object());
            }
        }
    }
    Ok(Some(thinking).filter(|thinking| *thinking != Thinking::default()))
}

/// Decodes `response_format`; one of an unknown type stays extra.
fn decode_format(fields: &mut Fields<'_>, quirks: &Quirks) -> Result<Option<Format>> {
    let Some(wire) = fields.take("response_format") else { return Ok(None) };
    let path = Path::ROOT.key("response_format");
    let schema = wire.pointer("/json_schema/schema").is_some();
    let mut own = Fields::new(wire, path, quirks.dialect)?;
    let format = match own.tag("type") {
        Some("text") => Some(Format::Text),
        Some("json_object") => Some(Format::Json),
        Some("json_schema") if schema => {
            let mut inner =
                Fields::new(own.need("json_schema")?, path.key("json_schema"), quirks.dialect)?;
            let format = SchemaFormat {
                name: inner.string("name")?,
                description: inner.string("description")?,
                schema: inner.need("schema")?,
                strict: inner.boolean("strict")?,
            };
            own.put_back_rest("json_schema", inner.into_object());
            Some(Format::Schema(format))
        }
        _ => None,
    };
    if format.is_some() {
        own.take("type");
    }
    fields.put_back_rest("response_format", own.into_object());
    Ok(format)
}

/// Encodes a body.
pub(super) fn encode(request: Request, quirks: &Quirks) -> WireRequest {
    let note = |key| request.extra.get(quirks.dialect, key).cloned();
    let strict = request.tools.iter().any(|tool| tool.strict == Some(true));
    let mut body = Object::new();
    body.insert_some("model", request.model);
    let messages = request.instructions.iter().chain(&request.messages);
    let messages = messages.flat_map(|message| encode_message(message, quirks)).collect();
    body.insert("messages", Json::Array(messages));
    if note(LEGACY).is_some() {
        let tools = request.tools.iter().map(|tool| tool::encode_legacy(tool, quirks)).collect();
        body.insert("functions", Json::Array(tools));
        let choice = request.tool_choice.map(|own| tool::encode_legacy_choice(own, quirks));
        body.insert_some("function_call", choice);
    } else {
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| tool::encode(tool, quirks)).collect();
            body.insert("tools", Json::Array(tools));
        }
        let choice =
            request.tool_choice.map(|own| tool::encode_choice(own, &request.tools, quirks));
        body.insert_some("tool_choice", choice);
    }
    body.insert_some("parallel_tool_calls", request.parallel);
    let limit: Key = match note(KEY) {
        Some(Json::String(key)) => key.into_string().into(),
        _ => quirks.max_tokens.into(),
    };
    body.insert_some(limit, request.sampling.max_tokens);
    body.insert_some("temperature", request.sampling.temperature);
    body.insert_some("top_p", request.sampling.top_p);
    body.insert_some("top_k", request.sampling.top_k);
    body.insert_filled("stop", request.sampling.stop);
    body.insert_some("seed", request.sampling.seed);
    body.insert_some("frequency_penalty", request.sampling.frequency_penalty);
    body.insert_some("presence_penalty", request.sampling.presence_penalty);
    body.insert_some("n", request.sampling.answers);
    body.insert_some("logprobs", request.sampling.logprobs);
    body.insert_some("top_logprobs", request.sampling.top_logprobs);
    body.insert_some("user", request.user);
    encode_thinking(request.thinking.unwrap_or_default(), &mut body, quirks);
    body.insert_some("response_format", request.format.map(encode_format));
    body.insert_some("stream", request.stream);
    request.extra.write_into(quirks.dialect, &mut body);
    let path = quirks.strict_path.filter(|_| strict).unwrap_or(quirks.path);
    WireRequest { path: path.to_owned(), headers: vec![], body: Json::Object(body) }
}

/// Encodes a message, and each outcome in it as a separate one.
fn encode_message(message: &Message, quirks: &Quirks) -> Vec<Json> {
    let is_outcome = |part: &&Part| matches!(part.body, Body::Outcome(_));
    let outcomes = message.parts.iter().filter(is_outcome);
    let mut messages: Vec<Json> = outcomes.map(|part| part::encode_outcome(part, quirks)).collect();
    if !messages.is_empty() && messages.len() == message.parts.len() {
        return messages;
    }
    let note = message.extra.get(quirks.dialect, CONTENT);
    let role = match message.role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let mut object = if message.role == Role::Assistant {
        part::encode_turn(&message.parts, note, Reader::Vendor, quirks)
    } else {
        let nothing = note.cloned().unwrap_or_else(|| "".into());
        object! {"role": role, "content": part::encode_content(&message.parts, nothing, quirks)}
    };
    message.extra.write_into(quirks.dialect, &mut object);
    messages.push(Json::Object(object));
    messages
}

fn encode_thinking(thinking: Thinking, body: &mut Object, quirks: &Quirks) {
    let Thinking { enabled, effort, budget, .. } = thinking;
    let mut own = Object::new();
    match quirks.thinking {
        ThinkingSwitch::Effort => body.insert_some("reasoning_effort", effort),
        ThinkingSwitch::Thinking => {
            body.insert_some("reasoning_effort", effort);
            own.insert_some(
                "type",
                enabled.map(|enabled| if enabled { "enabled" } else { "disabled" }),
            );
            own.insert_some("budget_tokens", budget);
            body.insert_some("thinking", Some(own).filter(|own| !own.is_empty()));
        }
        ThinkingSwitch::Flags => {
            body.insert_some("reasoning_effort", effort);
            body.insert_some("enable_thinking", enabled);
            body.insert_some("thinking_budget", budget);
        }
        ThinkingSwitch::Reasoning => {
            own.insert_some("enabled", enabled);
            own.insert_some("effort", effort);
            own.insert_some("max_tokens", budget);
            body.insert_some("reasoning", Some(own).filter(|own| !own.is_empty()));
        }
    }
}

fn encode_format(format: Format) -> Object {
    match format {
        Format::Text => object! {"type": "text"},
        Format::Json => object! {"type": "json_object"},
        Format::Schema(format) => {
            // The name is required here.
            let mut own = object! {"name": format.name.as_deref().unwrap_or("answer")};
            own.insert_some("description", format.description);
            own.insert("schema", format.schema);
            own.insert_some("strict", format.strict);
            object! {"type": "json_schema", "json_schema": own}
        }
    }
}

/// Adds `stream_options.include_usage` to a body that asks for a stream.
pub(super) fn ask_for_usage(body: &mut Json) {
    const OPTIONS: &str = "stream_options";
    let Some(body) = body.as_object_mut() else { return };
    if body.get("stream").and_then(Json::as_bool) != Some(true) {
        return;
    }
    match body.get_mut(OPTIONS).and_then(Json::as_object_mut) {
        Some(options) => options.insert("include_usage", true),
        None => body.insert(OPTIONS, object! {"include_usage": true}),
    }
}
