//! Requests. Without `stream` the reply is a stream; the canonical request keeps `None`, as for
//! every dialect's default.

use toolwright_core::request::{Format, SchemaFormat, Thinking};
use toolwright_core::{Message, Part, Request, Role};
use toolwright_json::{Json, Object, Path};

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
    request.stream = fields.boolean("stream")?;
    decode_options(&mut fields, &mut request)?;
    request.sampling.logprobs = fields.boolean("logprobs")?;
    request.sampling.top_logprobs = fields.number("top_logprobs")?;
    match fields.take("think") {
        None => {}
        Some(Json::Bool(enabled)) => {
            request.thinking = Some(Thinking { enabled: Some(enabled), ..Thinking::default() });
        }
        // A level replaces `true`.
        Some(Json::String(effort)) => {
            request.thinking =
                Some(Thinking { effort: Some(effort.into_string()), ..Thinking::default() });
        }
        Some(_) => return Err(fields.expected("think", "true, false or a level")),
    }
    match fields.take("format") {
        Some(Json::String(word)) if word == "json" => request.format = Some(Format::Json),
        Some(schema @ Json::Object(_)) => {
            request.format = Some(Format::Schema(SchemaFormat {
                name: None,
                description: None,
                schema,
                strict: None,
            }));
        }
        Some(other) => fields.put_back("format", other),
        None => {}
    }
    request.extra = fields.into_extra();
    Ok(request)
}

fn decode_message(wire: Json, path: Path<'_>) -> Result<Message> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let origin = fields.origin();
    // The server lowers the case of roles, too.
    let role = match fields.need_string("role")?.to_ascii_lowercase().as_str() {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => {
            let parts = vec![part::decode_outcome(Json::Object(fields.into_object()), path)?];
            return Ok(Message { origin, ..Message::new(Role::Tool, parts) });
        }
        _ => return Err(fields.expected("role", "system, user, assistant or tool")),
    };
    let parts = part::decode_all(&mut fields, 0)?;
    Ok(Message { role, parts, origin, extra: fields.into_extra() })
}

/// Decodes `options`: limits and sampling are canonical, other fields stay extra.
fn decode_options(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = fields.take("options") else { return Ok(()) };
    let mut own = Fields::new(wire, Path::ROOT.key("options"), DIALECT)?;
    let sampling = &mut request.sampling;
    sampling.max_tokens = own.number("num_predict")?;
    // A negative value means no limit, or the end of the context.
    if let Some(limit) = sampling.max_tokens.take_if(|limit| limit.as_f64() < 0.0) {
        own.put_back("num_predict", limit);
    }
    sampling.temperature = own.number("temperature")?;
    sampling.top_p = own.number("top_p")?;
    sampling.top_k = own.number("top_k")?;
    sampling.stop = own.strings("stop")?;
    sampling.seed = own.number("seed")?;
    sampling.frequency_penalty = own.number("frequency_penalty")?;
    sampling.presence_penalty = own.number("presence_penalty")?;
    fields.put_back_rest("options", own.into_object());
    Ok(())
}

/// Encodes a body.
pub(super) fn encode(request: Request) -> WireRequest {
    let mut body = Object::new();
    body.insert_some("model", request.model.as_deref());
    let messages = request.instructions.iter().chain(&request.messages).flat_map(encode_message);
    body.insert("messages", Json::Array(messages.collect()));
    body.insert_filled("tools", Json::Array(request.tools.iter().map(tool::encode).collect()));
    body.insert_some("stream", request.stream);
    body.insert_some("logprobs", request.sampling.logprobs);
    body.insert_some("top_logprobs", request.sampling.top_logprobs.clone());
    body.insert_some("think", request.thinking.as_ref().and_then(encode_thinking));
    match &request.format {
        Some(Format::Json) => body.insert("format", "json"),
        Some(Format::Schema(format)) => body.insert("format", format.schema.clone()),
        Some(Format::Text) | None => {}
    }
    let options = encode_options(&request);
    body.insert_filled("options", options);
    request.extra.write_into(DIALECT, &mut body);
    WireRequest { path: PATH.to_owned(), headers: vec![], body: Json::Object(body) }
}

/// Encodes a message, preceded by one message for each outcome in it.
fn encode_message(message: &Message) -> Vec<Json> {
    let role = match message.role {
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let is_outcome = |part: &&Part| part.as_outcome().is_some();
    let mut wire: Vec<Json> =
        message.parts.iter().filter(is_outcome).map(part::encode_outcome).collect();
    if wire.is_empty() || wire.len() < message.parts.len() {
        let mut object = part::encode_all(role, &message.parts);
        message.extra.write_into(DIALECT, &mut object);
        wire.push(Json::Object(object));
    }
    wire
}

fn encode_options(request: &Request) -> Object {
    let sampling = &request.sampling;
    let mut object = Object::new();
    object.insert_some("num_predict", sampling.max_tokens.clone());
    object.insert_some("temperature", sampling.temperature.clone());
    object.insert_some("top_p", sampling.top_p.clone());
    object.insert_some("top_k", sampling.top_k.clone());
    object.insert_filled("stop", sampling.stop.clone());
    object.insert_some("seed", sampling.seed.clone());
    object.insert_some("frequency_penalty", sampling.frequency_penalty.clone());
    object.insert_some("presence_penalty", sampling.presence_penalty.clone());
    object
}

fn encode_thinking(thinking: &Thinking) -> Option<Json> {
    match (thinking.enabled, &thinking.effort) {
        (Some(false), _) => Some(false.into()),
        (_, Some(effort)) => Some(effort.as_str().into()),
        (Some(true), None) => Some(true.into()),
        (None, None) => None,
    }
}
