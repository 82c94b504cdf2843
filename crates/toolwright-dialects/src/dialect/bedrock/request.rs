//! Requests: model and stream flag are in the path, everything else in the body.

use toolwright_core::request::{Format, SchemaFormat, Thinking};
use toolwright_core::{Message, Origin, Request, Role, note};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, DIALECT};
use super::{part, tool};
use crate::codec::{Fields, Result, WireRequest, elements};

/// A note: the text of a response schema that we would write differently.
const SCHEMA_TEXT: &str = note!("schema");

/// Decodes a request.
pub(super) fn decode(wire: WireRequest) -> Result<Request> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    let mut request = Request::default();
    if let Some((model, stream)) = wire::decode_path(&wire.path)? {
        request.model = Some(model).filter(|model| !model.is_empty());
        request.stream = Some(stream);
    }
    if request.model.is_none() {
        // As callers of the SDK write it.
        request.model = fields.string("modelId")?;
    }
    if let Some(system) = fields.take("system") {
        let path = Path::ROOT.key("system");
        let Json::Array(blocks) = system else {
            return Err(fields.expected("system", "an array of blocks"));
        };
        let origin = Origin::at(&path);
        let parts = part::decode_all(blocks, path)?;
        request.instructions = Some(Message { origin, ..Message::new(Role::System, parts) });
    }
    request.messages =
        elements(fields.array("messages")?, &Path::ROOT.key("messages"), decode_message)?;
    tool::decode_config(&mut fields, &mut request)?;
    decode_inference_config(&mut fields, &mut request)?;
    decode_additional(&mut fields, &mut request);
    decode_output_config(&mut fields, &mut request)?;
    request.extra.update(fields.into_extra());
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
    let Json::Array(content) = fields.need("content")? else {
        return Err(fields.expected("content", "an array of blocks"));
    };
    let parts = part::decode_all(content, path.key("content"))?;
    Ok(Message { role, parts, origin: fields.origin(), extra: fields.into_extra() })
}

fn decode_inference_config(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = fields.take("inferenceConfig") else { return Ok(()) };
    let mut own = Fields::new(wire, Path::ROOT.key("inferenceConfig"), DIALECT)?;
    request.sampling.max_tokens = own.number("maxTokens")?;
    request.sampling.temperature = own.number("temperature")?;
    request.sampling.top_p = own.number("topP")?;
    request.sampling.stop = own.strings("stopSequences")?;
    fields.put_back_rest("inferenceConfig", own.into_object());
    Ok(())
}

/// Decodes `additionalModelRequestFields`, which may contain any fields of a model. Claude's fields
/// with a canonical name are decoded; others stay extra.
fn decode_additional(fields: &mut Fields<'_>, request: &mut Request) {
    let Some(wire) = fields.take("additionalModelRequestFields") else { return };
    let Json::Object(mut own) = wire else {
        return fields.put_back("additionalModelRequestFields", wire);
    };
    if let Some(Json::Number(number)) = own.get("top_k") {
        request.sampling.top_k = Some(number.clone());
        own.remove("top_k");
    }
    if let Some(thinking) = own.get("thinking").and_then(decode_thinking) {
        request.thinking = Some(thinking);
        own.remove("thinking");
    }
    fields.put_back_rest("additionalModelRequestFields", own);
}

/// Decodes Claude's `thinking`, if [`encode_thinking`] would write it.
fn decode_thinking(wire: &Json) -> Option<Thinking> {
    let budget = match wire.get("budget_tokens") {
        Some(Json::Number(number)) => Some(number.clone()),
        _ => None,
    };
    let enabled = wire.get("type")?.as_str()? != "disabled";
    let show = match wire.get("display").and_then(Json::as_str) {
        Some("summarized") => Some(true),
        Some("omitted") => Some(false),
        _ => None,
    };
    let thinking = Thinking { enabled: Some(enabled), effort: None, budget, show };
    encode_thinking(&thinking).filter(|again| again.same(wire)).map(|_| thinking)
}

/// Decodes `outputConfig`: effort and format are canonical. The schema is text there.
fn decode_output_config(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = fields.take("outputConfig") else { return Ok(()) };
    let mut own = Fields::new(wire, Path::ROOT.key("outputConfig"), DIALECT)?;
    if let Some(effort) = own.string("effort")? {
        request.thinking.get_or_insert_default().effort = Some(effort);
    }
    if let Some((format, text)) = own.peek("textFormat").and_then(decode_format) {
        if format.schema.compact() != text {
            request.extra.insert(DIALECT, SCHEMA_TEXT, text);
        }
        request.format = Some(Format::Schema(format));
        own.take("textFormat");
    }
    fields.put_back_rest("outputConfig", own.into_object());
    Ok(())
}

/// Decodes a format that [`encode_format`] would write, with the text of its schema.
fn decode_format(wire: &Json) -> Option<(SchemaFormat, String)> {
    let definition = wire.pointer("/structure/jsonSchema")?;
    let word = |key| definition.get(key).and_then(Json::as_str).map(str::to_owned);
    let text = word("schema")?;
    let format = SchemaFormat {
        name: word("name"),
        description: word("description"),
        schema: Json::parse(&text).ok()?,
        strict: None,
    };
    encode_format(&format, &text).same(wire).then_some((format, text))
}

/// Encodes a request.
pub(super) fn encode(request: Request) -> WireRequest {
    let path = wire::encode_path(request.model.as_deref(), request.stream == Some(true));
    let mut body = Object::new();
    body.insert_some("system", request.instructions.map(|own| part::encode_all(&own.parts)));
    // A stored prompt needs no messages.
    if !request.messages.is_empty() {
        let messages = request.messages.iter().map(encode_message).collect();
        body.insert("messages", Json::Array(messages));
    }
    let mut inference = Object::new();
    inference.insert_some("maxTokens", request.sampling.max_tokens);
    inference.insert_some("temperature", request.sampling.temperature);
    inference.insert_some("topP", request.sampling.top_p);
    inference.insert_filled("stopSequences", request.sampling.stop);
    body.insert_filled("inferenceConfig", inference);
    body.insert_some("toolConfig", tool::encode_config(&request.tools, request.tool_choice));
    let mut additional = Object::new();
    additional.insert_some("thinking", request.thinking.as_ref().and_then(encode_thinking));
    additional.insert_some("top_k", request.sampling.top_k);
    body.insert_filled("additionalModelRequestFields", additional);
    let mut output = Object::new();
    if let Some(Format::Schema(format)) = request.format {
        let own = request.extra.get(DIALECT, SCHEMA_TEXT).and_then(Json::as_str);
        let own = own.filter(|text| Json::parse(text).is_ok_and(|own| own == format.schema));
        let text = own.map_or_else(|| format.schema.compact(), str::to_owned);
        output.insert("textFormat", encode_format(&format, &text));
    }
    output.insert_some("effort", request.thinking.and_then(|own| own.effort));
    body.insert_filled("outputConfig", output);
    request.extra.write_into(DIALECT, &mut body);
    WireRequest { path, headers: vec![], body: Json::Object(body) }
}

fn encode_message(message: &Message) -> Json {
    let role = match message.role {
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let mut object = object! {"role": role, "content": part::encode_all(&message.parts)};
    message.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

fn encode_thinking(thinking: &Thinking) -> Option<Json> {
    let mode = match (thinking.enabled, &thinking.budget) {
        (Some(false), _) => "disabled",
        (_, Some(_)) => "enabled",
        (Some(true), None) => "adaptive",
        (None, None) => return None,
    };
    let mut object = object! {"type": mode};
    let budget = thinking.budget.as_ref().filter(|_| mode == "enabled");
    object.insert_some("budget_tokens", budget.cloned());
    let display = thinking.show.map(|show| if show { "summarized" } else { "omitted" });
    object.insert_some("display", display);
    Some(Json::Object(object))
}

fn encode_format(format: &SchemaFormat, text: &str) -> Json {
    let mut definition = object! {"schema": text};
    definition.insert_some("name", format.name.as_deref());
    definition.insert_some("description", format.description.as_deref());
    let structure = wire::union("jsonSchema", definition);
    Json::Object(object! {"type": "json_schema", "structure": structure})
}
