//! Request bodies.

use toolwright_core::request::{Format, SchemaFormat, Thinking};
use toolwright_core::{Message, Origin, Request, Role};
use toolwright_json::{Json, Number, Object, Path, object};

use super::wire::{DIALECT, PATH};
use super::{part, tool};
use crate::codec::{Fields, Result, WireRequest, elements};

/// Decodes a body.
pub(super) fn decode(wire: WireRequest) -> Result<Request> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    let mut request = Request { model: fields.string("model")?, ..Request::default() };
    if let Some(system) = fields.take("system") {
        let path = Path::ROOT.key("system");
        let parts = part::decode_content(system, path)?;
        let origin = Origin::at(&path);
        request.instructions = Some(Message { origin, ..Message::new(Role::System, parts) });
    }
    request.messages =
        elements(fields.array("messages")?, &Path::ROOT.key("messages"), decode_message)?;
    request.tools = elements(fields.array("tools")?, &Path::ROOT.key("tools"), tool::decode)?;
    if let Some(choice) = fields.take("tool_choice") {
        let rest = tool::decode_choice(choice, Path::ROOT.key("tool_choice"), &mut request)?;
        fields.put_back_rest("tool_choice", rest);
    }
    request.sampling.max_tokens = fields.number("max_tokens")?;
    request.sampling.temperature = fields.number("temperature")?;
    request.sampling.top_p = fields.number("top_p")?;
    request.sampling.top_k = fields.number("top_k")?;
    request.sampling.stop = fields.strings("stop_sequences")?;
    request.stream = fields.boolean("stream")?;
    if let Some(wire) = fields.take("metadata") {
        let mut own = Fields::new(wire, Path::ROOT.key("metadata"), DIALECT)?;
        request.user = own.string("user_id")?;
        fields.put_back_rest("metadata", own.into_object());
    }
    decode_thinking(&mut fields, &mut request)?;
    decode_output_config(&mut fields, &mut request)?;
    request.extra = fields.into_extra();
    Ok(request)
}

fn decode_message(wire: Json, path: Path<'_>) -> Result<Message> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let role = match fields.need_string("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(fields.expected("role", "user, assistant or system")),
    };
    let parts = part::decode_content(fields.need("content")?, path.key("content"))?;
    Ok(Message { role, parts, origin: fields.origin(), extra: fields.into_extra() })
}

/// Decodes `thinking`: switch and budget are canonical, the mode and other fields are extra.
fn decode_thinking(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = fields.take("thinking") else { return Ok(()) };
    let mut own = Fields::new(wire, Path::ROOT.key("thinking"), DIALECT)?;
    let budget = own.number("budget_tokens")?;
    let show = match own.tag("display") {
        Some("summarized") => Some(true),
        Some("omitted") => Some(false),
        _ => None,
    };
    if show.is_some() {
        own.take("display");
    }
    let mode = own.need_string("type")?;
    let enabled = mode != "disabled";
    if mode != thinking_mode(enabled, budget.as_ref()) {
        own.put_back("type", mode);
    }
    request.thinking = Some(Thinking { enabled: Some(enabled), effort: None, budget, show });
    fields.put_back_rest("thinking", own.into_object());
    Ok(())
}

/// Decodes `output_config`: effort and format are canonical.
fn decode_output_config(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = fields.take("output_config") else { return Ok(()) };
    let path = Path::ROOT.key("output_config");
    let mut own = Fields::new(wire, path, DIALECT)?;
    if let Some(effort) = own.string("effort")? {
        request.thinking.get_or_insert_default().effort = Some(effort);
    }
    if own.peek("format").and_then(|format| format.get("type")).and_then(Json::as_str)
        == Some("json_schema")
    {
        let mut format = Fields::new(own.need("format")?, path.key("format"), DIALECT)?;
        format.take("type");
        let schema = format.need("schema")?;
        request.format = Some(Format::Schema(SchemaFormat {
            name: None,
            description: None,
            schema,
            strict: None,
        }));
        own.put_back_rest("format", format.into_object());
    }
    fields.put_back_rest("output_config", own.into_object());
    Ok(())
}

/// Returns the mode for a switch and a budget.
fn thinking_mode(enabled: bool, budget: Option<&Number>) -> &'static str {
    match (enabled, budget) {
        (false, _) => "disabled",
        (true, Some(_)) => "enabled",
        (true, None) => "adaptive",
    }
}

/// Encodes a body.
pub(super) fn encode(request: Request) -> WireRequest {
    let mut body = Object::new();
    body.insert_some("model", request.model);
    body.insert_some("max_tokens", request.sampling.max_tokens);
    body.insert_some("system", request.instructions.map(|own| part::encode_content(own.parts)));
    let messages = request.messages.into_iter().map(encode_message).collect();
    body.insert("messages", Json::Array(messages));
    body.insert_filled("tools", Json::Array(request.tools.into_iter().map(tool::encode).collect()));
    body.insert_some("tool_choice", tool::encode_choice(request.tool_choice, request.parallel));
    body.insert_some("temperature", request.sampling.temperature);
    body.insert_some("top_p", request.sampling.top_p);
    body.insert_some("top_k", request.sampling.top_k);
    body.insert_filled("stop_sequences", request.sampling.stop);
    body.insert_some("stream", request.stream);
    body.insert_some("metadata", request.user.map(|user| object! {"user_id": user}));
    let thinking_extra = request.extra.get(DIALECT, "thinking");
    body.insert_some("thinking", encode_thinking(request.thinking.as_ref(), thinking_extra));
    body.insert_some("output_config", encode_output_config(request.thinking, request.format));
    request.extra.write_into(DIALECT, &mut body);
    WireRequest { path: PATH.to_owned(), headers: vec![], body: Json::Object(body) }
}

fn encode_message(message: Message) -> Json {
    let role = match message.role {
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let mut object = object! {"role": role, "content": part::encode_content(message.parts)};
    message.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

fn encode_thinking(thinking: Option<&Thinking>, extra: Option<&Json>) -> Option<Json> {
    let thinking = thinking.filter(|own| own.enabled.is_some() || own.budget.is_some())?;
    let enabled = thinking.enabled.unwrap_or(true);
    let mode = thinking_mode(enabled, thinking.budget.as_ref());
    let own = extra.and_then(|extra| extra.get("type")).and_then(Json::as_str);
    let mode = own.filter(|own| (*own != "disabled") == enabled).unwrap_or(mode);
    let mut object = object! {"type": mode};
    object.insert_some("budget_tokens", thinking.budget.clone().filter(|_| enabled));
    let display = thinking.show.map(|show| if show { "summarized" } else { "omitted" });
    object.insert_some("display", display);
    Some(Json::Object(object))
}

fn encode_output_config(thinking: Option<Thinking>, format: Option<Format>) -> Option<Json> {
    let mut object = Object::new();
    object.insert_some("effort", thinking.and_then(|own| own.effort));
    if let Some(Format::Schema(format)) = format {
        object.insert("format", object! {"type": "json_schema", "schema": format.schema});
    }
    (!object.is_empty()).then_some(Json::Object(object))
}
