//! Request bodies.

use toolwright_core::request::{Format, SchemaFormat, Thinking};
use toolwright_core::{Message, Part, Request, Role};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{DIALECT, PATH};
use super::{part, tool};
use crate::codec::{Fields, Result, WireRequest, elements};

/// Decodes a body.
pub(super) fn decode(wire: WireRequest) -> Result<Request> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    let mut request = Request { model: fields.string("model")?, ..Request::default() };
    request.messages =
        elements(fields.array("messages")?, &Path::ROOT.key("messages"), decode_message)?;
    if request.messages.first().is_some_and(|first| first.role == Role::System) {
        request.instructions = Some(request.messages.remove(0));
    }
    request.tools = elements(fields.array("tools")?, &Path::ROOT.key("tools"), tool::decode)?;
    tool::decode_strict(&mut fields, &mut request.tools)?;
    request.tool_choice = fields.take("tool_choice").map(tool::decode_choice);
    request.sampling.max_tokens = fields.number("max_tokens")?;
    request.sampling.temperature = fields.number("temperature")?;
    request.sampling.top_p = fields.number("p")?;
    request.sampling.top_k = fields.number("k")?;
    request.sampling.stop = fields.strings("stop_sequences")?;
    request.sampling.seed = fields.number("seed")?;
    request.sampling.frequency_penalty = fields.number("frequency_penalty")?;
    request.sampling.presence_penalty = fields.number("presence_penalty")?;
    request.sampling.logprobs = fields.boolean("logprobs")?;
    request.stream = fields.boolean("stream")?;
    decode_thinking(&mut fields, &mut request)?;
    decode_format(&mut fields, &mut request)?;
    request.extra = fields.into_extra();
    Ok(request)
}

fn decode_message(wire: Json, path: Path<'_>) -> Result<Message> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let origin = fields.origin();
    let (role, parts) = match fields.need_string("role")?.as_str() {
        "system" => (Role::System, decode_content(&mut fields)?),
        "user" => (Role::User, decode_content(&mut fields)?),
        "assistant" => (Role::Assistant, part::decode_assistant(&mut fields)?),
        "tool" => {
            let parts = vec![part::decode_outcome(Json::Object(fields.into_object()), path)?];
            return Ok(Message { origin, ..Message::new(Role::Tool, parts) });
        }
        _ => return Err(fields.expected("role", "system, user, assistant or tool")),
    };
    Ok(Message { role, parts, origin, extra: fields.into_extra() })
}

fn decode_content(fields: &mut Fields<'_>) -> Result<Vec<Part>> {
    let path = fields.path();
    part::decode_content(fields.need("content")?, path.key("content"))
}

/// Decodes `thinking`: switch and budget are canonical.
fn decode_thinking(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = fields.take("thinking") else { return Ok(()) };
    let mut own = Fields::new(wire, Path::ROOT.key("thinking"), DIALECT)?;
    let budget = own.number("token_budget")?;
    let enabled = own.need_string("type")?;
    let enabled = match enabled.as_str() {
        "disabled" => false,
        "enabled" => true,
        // An unknown mode counts as enabled.
        _ => {
            own.put_back("type", enabled);
            true
        }
    };
    request.thinking = Some(Thinking { enabled: Some(enabled), effort: None, budget, show: None });
    fields.put_back_rest("thinking", own.into_object());
    Ok(())
}

/// Decodes `response_format`: an unknown format stays as it is.
fn decode_format(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let kind = fields.peek("response_format").and_then(|format| format.get("type"));
    let json = match kind.and_then(Json::as_str) {
        Some("json_object") => true,
        Some("text") => false,
        _ => return Ok(()),
    };
    let path = Path::ROOT.key("response_format");
    let mut own = Fields::new(fields.need("response_format")?, path, DIALECT)?;
    own.take("type");
    // langchain-cohere sends the older key, `schema`.
    let schema = if json { own.take("json_schema").or_else(|| own.take("schema")) } else { None };
    request.format = Some(match (json, schema) {
        (false, _) => Format::Text,
        (true, None) => Format::Json,
        (true, Some(schema)) => {
            Format::Schema(SchemaFormat { name: None, description: None, schema, strict: None })
        }
    });
    fields.put_back_rest("response_format", own.into_object());
    Ok(())
}

/// Encodes a body.
pub(super) fn encode(request: Request) -> WireRequest {
    let mut body = Object::new();
    body.insert_some("model", request.model);
    let messages = request.instructions.iter().chain(&request.messages).flat_map(encode_message);
    body.insert("messages", Json::Array(messages.collect()));
    body.insert_filled("tools", Json::Array(request.tools.iter().map(tool::encode).collect()));
    body.insert_some("strict_tools", tool::encode_strict(&request.tools));
    body.insert_some("tool_choice", request.tool_choice.and_then(tool::encode_choice));
    body.insert_some("max_tokens", request.sampling.max_tokens);
    body.insert_some("temperature", request.sampling.temperature);
    body.insert_some("p", request.sampling.top_p);
    body.insert_some("k", request.sampling.top_k);
    body.insert_filled("stop_sequences", request.sampling.stop);
    body.insert_some("seed", request.sampling.seed);
    body.insert_some("frequency_penalty", request.sampling.frequency_penalty);
    body.insert_some("presence_penalty", request.sampling.presence_penalty);
    body.insert_some("logprobs", request.sampling.logprobs);
    let thinking_extra = request.extra.get(DIALECT, "thinking");
    body.insert_some("thinking", encode_thinking(request.thinking.as_ref(), thinking_extra));
    body.insert_some("response_format", request.format.map(encode_format));
    body.insert_some("stream", request.stream);
    request.extra.write_into(DIALECT, &mut body);
    WireRequest { path: PATH.to_owned(), headers: vec![], body: Json::Object(body) }
}

/// Encodes a message, preceded by one message for each outcome in it.
fn encode_message(message: &Message) -> Vec<Json> {
    let is_outcome = |part: &&Part| part.as_outcome().is_some();
    let mut wire: Vec<Json> =
        message.parts.iter().filter(is_outcome).map(part::encode_outcome).collect();
    if !wire.is_empty() && wire.len() == message.parts.len() {
        return wire;
    }
    let plain =
        |role: &str| object! {"role": role, "content": part::encode_content(&message.parts)};
    let mut object = match message.role {
        Role::System | Role::Developer => plain("system"),
        Role::User | Role::Tool => plain("user"),
        Role::Assistant => part::encode_assistant(&message.parts, part::shortest),
    };
    message.extra.write_into(DIALECT, &mut object);
    wire.push(Json::Object(object));
    wire
}

fn encode_thinking(thinking: Option<&Thinking>, extra: Option<&Json>) -> Option<Json> {
    let thinking = thinking.filter(|own| own.enabled.is_some() || own.budget.is_some())?;
    let mode = if thinking.enabled == Some(false) { "disabled" } else { "enabled" };
    let mode = extra.and_then(|extra| extra.get("type")).and_then(Json::as_str).unwrap_or(mode);
    let mut object = object! {"type": mode};
    object.insert_some("token_budget", thinking.budget.clone());
    Some(Json::Object(object))
}

fn encode_format(format: Format) -> Object {
    match format {
        Format::Text => object! {"type": "text"},
        Format::Json => object! {"type": "json_object"},
        Format::Schema(format) => {
            object! {"type": "json_object", "json_schema": format.schema}
        }
    }
}
