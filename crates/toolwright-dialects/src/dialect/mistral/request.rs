//! Request bodies.

use toolwright_core::request::{Format, SchemaFormat, Thinking};
use toolwright_core::{Message, Origin, Part, Request, Role, note};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{DIALECT, PATH};
use super::{part, tool};
use crate::codec::{Fields, Result, WireRequest, elements};

/// A note: the word for a required call, if it was not `any`.
const REQUIRED: &str = note!("required");

/// A note: the single stop sequence came as a string, not in a list.
const STOP: &str = note!("stop");

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
    if let Some(choice) = fields.take("tool_choice") {
        if choice.as_str() == Some("required") {
            fields.put_back(REQUIRED, choice.clone());
        }
        request.tool_choice = Some(tool::decode_choice(choice));
    }
    request.parallel = fields.boolean("parallel_tool_calls")?;
    request.sampling.max_tokens = fields.number("max_tokens")?;
    request.sampling.temperature = fields.number("temperature")?;
    request.sampling.top_p = fields.number("top_p")?;
    request.sampling.top_k = fields.number("top_k")?;
    if fields.tag("stop").is_some() {
        fields.put_back(STOP, true);
    }
    request.sampling.stop = fields.strings("stop")?;
    request.sampling.seed = fields.number("random_seed")?;
    request.sampling.frequency_penalty = fields.number("frequency_penalty")?;
    request.sampling.presence_penalty = fields.number("presence_penalty")?;
    request.sampling.answers = fields.number("n")?;
    request.stream = fields.boolean("stream")?;
    decode_thinking(&mut fields, &mut request)?;
    decode_format(&mut fields, &mut request)?;
    request.extra = fields.into_extra();
    Ok(request)
}

fn decode_message(wire: Json, path: Path<'_>) -> Result<Message> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let (role, parts) = match fields.need_string("role")?.as_str() {
        "system" => (Role::System, decode_words(&mut fields)?),
        "user" => (Role::User, decode_words(&mut fields)?),
        "assistant" => (Role::Assistant, part::take_turn(&mut fields)?),
        "tool" => {
            let origin = fields.origin();
            let outcome = part::decode_outcome(Json::Object(fields.into_object()), path)?;
            return Ok(Message { origin, ..Message::new(Role::Tool, vec![outcome]) });
        }
        _ => return Err(fields.expected("role", "system, user, assistant or tool")),
    };
    Ok(Message { role, parts, origin: fields.origin(), extra: fields.into_extra() })
}

/// Decodes content that must not be absent: an empty string is an empty text.
fn decode_words(fields: &mut Fields<'_>) -> Result<Vec<Part>> {
    if fields.tag("content") == Some("") {
        fields.take("content");
        let origin = Origin::at(&fields.path().key("content"));
        return Ok(vec![Part::text("").with_origin(origin)]);
    }
    part::take_content(fields)
}

/// Decodes `prompt_mode`, which enables thinking; the effort `none` disables it.
fn decode_thinking(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let mut thinking = Thinking::default();
    if fields.tag("prompt_mode") == Some("reasoning") {
        fields.take("prompt_mode");
        thinking.enabled = Some(true);
    }
    thinking.effort = fields.string("reasoning_effort")?;
    request.thinking = Some(thinking).filter(|own| *own != Thinking::default());
    Ok(())
}

fn decode_format(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let kind = fields.peek("response_format").and_then(|own| own.get("type"));
    let kind = kind.and_then(Json::as_str).unwrap_or_default();
    if !matches!(kind, "text" | "json_object" | "json_schema") {
        return Ok(());
    }
    let path = Path::ROOT.key("response_format");
    let mut own = Fields::new(fields.need("response_format")?, path, DIALECT)?;
    request.format = Some(match own.need_string("type")?.as_str() {
        "text" => Format::Text,
        "json_object" => Format::Json,
        _ => {
            let mut schema =
                Fields::new(own.need("json_schema")?, path.key("json_schema"), DIALECT)?;
            let format = SchemaFormat {
                name: schema.string("name")?,
                description: schema.string("description")?,
                schema: schema.need("schema")?,
                strict: schema.boolean("strict")?,
            };
            own.put_back_rest("json_schema", schema.into_object());
            Format::Schema(format)
        }
    });
    fields.put_back_rest("response_format", own.into_object());
    Ok(())
}

/// Encodes a body.
pub(super) fn encode(request: Request) -> WireRequest {
    let noted = |note| request.extra.get(DIALECT, note);
    let mut body = Object::new();
    body.insert_some("model", request.model);
    let messages = request.instructions.iter().chain(&request.messages);
    body.insert("messages", Json::Array(messages.flat_map(encode_message).collect()));
    body.insert_filled("tools", Json::Array(request.tools.iter().map(tool::encode).collect()));
    let choice = request.tool_choice.map(|own| tool::encode_choice(own, noted(REQUIRED)));
    body.insert_some("tool_choice", choice);
    body.insert_some("parallel_tool_calls", request.parallel);
    body.insert_some("max_tokens", request.sampling.max_tokens);
    body.insert_some("temperature", request.sampling.temperature);
    body.insert_some("top_p", request.sampling.top_p);
    body.insert_some("top_k", request.sampling.top_k);
    match request.sampling.stop.as_slice() {
        [] => {}
        [one] if noted(STOP).is_some() => body.insert("stop", one.as_str()),
        many => body.insert("stop", many.to_vec()),
    }
    body.insert_some("random_seed", request.sampling.seed);
    body.insert_some("frequency_penalty", request.sampling.frequency_penalty);
    body.insert_some("presence_penalty", request.sampling.presence_penalty);
    body.insert_some("n", request.sampling.answers);
    body.insert_some("stream", request.stream);
    if let Some(Thinking { enabled, effort, .. }) = request.thinking {
        body.insert_some("prompt_mode", (enabled == Some(true)).then_some("reasoning"));
        body.insert_some("reasoning_effort", effort);
    }
    body.insert_some("response_format", request.format.map(encode_format));
    request.extra.write_into(DIALECT, &mut body);
    WireRequest { path: PATH.to_owned(), headers: vec![], body: Json::Object(body) }
}

/// Returns a message for each outcome, or else one message.
fn encode_message(message: &Message) -> Vec<Json> {
    let mut object = match message.role {
        Role::Tool => return message.parts.iter().filter_map(part::encode_outcome).collect(),
        Role::Assistant => part::encode_turn(&message.parts, &message.extra),
        Role::System | Role::Developer => object! {"role": "system"},
        Role::User => object! {"role": "user"},
    };
    if message.role != Role::Assistant {
        object.insert("content", part::encode_content(&message.parts, &message.extra));
    }
    message.extra.write_into(DIALECT, &mut object);
    vec![Json::Object(object)]
}

fn encode_format(format: Format) -> Object {
    match format {
        Format::Text => object! {"type": "text"},
        Format::Json => object! {"type": "json_object"},
        Format::Schema(format) => {
            // The SDK's type requires a name.
            let mut schema = object! {"name": format.name.as_deref().unwrap_or("answer")};
            schema.insert_some("description", format.description);
            schema.insert("schema", format.schema);
            schema.insert_some("strict", format.strict);
            object! {"type": "json_schema", "json_schema": schema}
        }
    }
}
