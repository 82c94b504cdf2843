//! Requests: model and stream flag are in the path, everything else in the body.

use toolwright_core::request::{Format, Sampling, SchemaFormat, Thinking};
use toolwright_core::{Message, Origin, Part, Request, Role, note};
use toolwright_json::{Json, Object, Path, object};

use super::tool::openapi::{self, Pair};
use super::wire::{self, Address, DIALECT};
use super::{part, tool};
use crate::codec::{DecodeError, Fields, Result, WireRequest, elements};

const SCHEMA: Pair = ("responseJsonSchema", "responseSchema", note!("responseSchema"));

/// Decodes a path and a body. Unusual spellings are stored in notes: `path`, `model` (in the body),
/// `mode`, `thinkingLevel`, `responseSchema`, and `role` on a message.
pub(super) fn decode(wire: WireRequest) -> Result<Request> {
    let mut fields = wire::open(wire.body, Path::ROOT)?;
    let mut request = Request::default();
    // The query may contain a key, and nothing else that is needed.
    let path = wire.path.split('?').next().unwrap_or_default();
    if !path.is_empty() {
        let what = "a path /v1beta/models/{model}:generateContent or :streamGenerateContent";
        let address = Address::read(path)
            .ok_or_else(|| DecodeError::expected(DIALECT, &Path::ROOT.key("path"), what))?;
        request.model = Some(address.model).filter(|model| !model.is_empty());
        request.stream = Some(address.stream);
    }
    if request.model.is_none()
        && let Some(name) = fields.string("model")?
    {
        request.model = Some(bare(&name).to_owned());
        fields.put_back(note!("model"), name);
    }
    if !path.is_empty() && encode_path(&request, None) != wire.path {
        fields.put_back(note!("path"), path);
    }
    if let Some(system) = fields.take("systemInstruction") {
        request.instructions = Some(decode_instructions(system)?);
    }
    request.messages = elements(
        wire::list(&mut fields, "contents")?,
        &Path::ROOT.key("contents"),
        decode_message,
    )?;
    request.tools = tool::decode_all(wire::list(&mut fields, "tools")?, Path::ROOT.key("tools"))?;
    tool::decode_config(&mut fields, &mut request)?;
    decode_config(&mut fields, &mut request)?;
    request.extra = fields.into_extra();
    Ok(request)
}

/// Removes the collection prefix of a model's name.
fn bare(name: &str) -> &str {
    name.strip_prefix("models/").unwrap_or(name)
}

fn decode_instructions(wire: Json) -> Result<Message> {
    let path = Path::ROOT.key("systemInstruction");
    let origin = Origin::at(&path);
    if let Json::String(text) = wire {
        let part = Part::text(text).with_origin(origin.clone());
        return Ok(Message { origin, ..Message::new(Role::System, vec![part]) });
    }
    let mut fields = wire::open(wire, path)?;
    let parts = part::decode_all(wire::list(&mut fields, "parts")?, path.key("parts"))?;
    Ok(Message { extra: fields.into_extra(), origin, ..Message::new(Role::System, parts) })
}

fn decode_message(wire: Json, path: Path<'_>) -> Result<Message> {
    let mut fields = wire::open(wire, path)?;
    let word = fields.string("role")?;
    let role = match word.as_deref() {
        Some("model") => Role::Assistant,
        // Old clients send outcomes with a separate role.
        None | Some("user" | "function" | "tool") => Role::User,
        _ => return Err(fields.expected("role", "user or model")),
    };
    if !matches!(word.as_deref(), Some("model" | "user")) {
        fields.put_back(note!("role"), word);
    }
    let parts = part::decode_all(wire::list(&mut fields, "parts")?, path.key("parts"))?;
    Ok(Message { role, parts, origin: fields.origin(), extra: fields.into_extra() })
}

/// Decodes `generationConfig`: limits, thinking and format are canonical, other fields stay extra.
fn decode_config(root: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = root.take("generationConfig") else { return Ok(()) };
    let mut own = wire::open(wire, Path::ROOT.key("generationConfig"))?;
    request.sampling = Sampling {
        max_tokens: own.number("maxOutputTokens")?,
        temperature: own.number("temperature")?,
        top_p: own.number("topP")?,
        top_k: own.number("topK")?,
        stop: own.strings("stopSequences")?,
        seed: own.number("seed")?,
        frequency_penalty: own.number("frequencyPenalty")?,
        presence_penalty: own.number("presencePenalty")?,
        answers: own.number("candidateCount")?,
        logprobs: own.boolean("responseLogprobs")?,
        top_logprobs: own.number("logprobs")?,
    };
    request.thinking = decode_thinking(&mut own, root)?;
    request.format = decode_format(&mut own, root)?;
    root.put_back_rest("generationConfig", own.into_object());
    Ok(())
}

/// Decodes `thinkingConfig`: a budget of 0 disables thinking, a negative one is the default, and
/// including thoughts enables it.
fn decode_thinking(config: &mut Fields<'_>, root: &mut Fields<'_>) -> Result<Option<Thinking>> {
    let Some(wire) = config.take("thinkingConfig") else { return Ok(None) };
    let path = config.path();
    let mut own = wire::open(wire, path.key("thinkingConfig"))?;
    let mut thinking = Thinking::default();
    if let Some(level) = own.string("thinkingLevel")? {
        let effort = level.to_lowercase();
        if level != effort.to_uppercase() {
            root.put_back(note!("thinkingLevel"), level);
        }
        thinking.effort = Some(effort);
    }
    match own.number("thinkingBudget")? {
        Some(budget) if budget.as_u64() == Some(0) => thinking.enabled = Some(false),
        Some(budget) if budget.as_str().starts_with('-') => own.put_back("thinkingBudget", budget),
        budget => thinking.budget = budget,
    }
    match own.boolean("includeThoughts")? {
        Some(true) if thinking.enabled.is_none() => thinking.enabled = Some(true),
        Some(flag) => own.put_back("includeThoughts", flag),
        None => {}
    }
    config.put_back_rest("thinkingConfig", own.into_object());
    Ok(Some(thinking).filter(|thinking| *thinking != Thinking::default()))
}

fn decode_format(config: &mut Fields<'_>, root: &mut Fields<'_>) -> Result<Option<Format>> {
    let mime = config.string("responseMimeType")?;
    let (schema, note) = openapi::take(config, SCHEMA);
    if let Some((note, original)) = note {
        root.put_back(note, original);
    }
    let format = match (schema, mime.as_deref()) {
        (Some(schema), mime) => {
            let format = Format::Schema(SchemaFormat {
                name: None,
                description: None,
                schema,
                strict: None,
            });
            if matches!(mime, None | Some("application/json")) {
                return Ok(Some(format));
            }
            Some(format)
        }
        (None, Some("application/json")) => return Ok(Some(Format::Json)),
        (None, Some("text/plain")) => return Ok(Some(Format::Text)),
        (None, _) => None,
    };
    // A vendor-specific type, such as `text/x.enum`.
    if let Some(mime) = mime {
        config.put_back("responseMimeType", mime);
    }
    Ok(format)
}

/// Encodes a path and a body.
pub(super) fn encode(request: Request) -> WireRequest {
    let note = |name: &str| request.extra.get(DIALECT, name).and_then(Json::as_str);
    let path = encode_path(&request, note(note!("path")));
    let mut body = Object::new();
    let model = note(note!("model")).filter(|name| Some(bare(name)) == request.model.as_deref());
    body.insert_some("model", model);
    let contents = request.messages.iter().map(encode_message).collect();
    body.insert("contents", Json::Array(contents));
    if let Some(own) = &request.instructions {
        let mut object = object! {"parts": part::encode_all(&own.parts)};
        own.extra.write_into(DIALECT, &mut object);
        body.insert("systemInstruction", object);
    }
    if !request.tools.is_empty() {
        body.insert("tools", tool::encode_all(&request.tools));
    }
    let choice = tool::encode_config(request.tool_choice.as_ref(), note(note!("mode")));
    body.insert_some("toolConfig", choice);
    let config = encode_config(&request, note(note!("thinkingLevel")));
    body.insert_filled("generationConfig", config);
    request.extra.write_into(DIALECT, &mut body);
    WireRequest { path, headers: vec![], body: Json::Object(body) }
}

/// Returns the path; empty without a model.
fn encode_path(request: &Request, kept: Option<&str>) -> String {
    let stream = request.stream == Some(true);
    request.model.as_deref().map(|model| Address::write(model, stream, kept)).unwrap_or_default()
}

fn encode_message(message: &Message) -> Json {
    let role = match message.role {
        Role::Assistant => "model",
        Role::System | Role::Developer | Role::User | Role::Tool => "user",
    };
    let own = message.extra.get(DIALECT, note!("role")).filter(|_| role == "user").cloned();
    let mut object = object! {"parts": part::encode_all(&message.parts)};
    object.insert_some("role", Some(own.unwrap_or(role.into())).filter(|own| !own.is_null()));
    message.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

fn encode_config(request: &Request, level: Option<&str>) -> Object {
    let sampling = request.sampling.clone();
    let mut object = Object::new();
    object.insert_some("maxOutputTokens", sampling.max_tokens);
    object.insert_some("temperature", sampling.temperature);
    object.insert_some("topP", sampling.top_p);
    object.insert_some("topK", sampling.top_k);
    object.insert_filled("stopSequences", sampling.stop);
    object.insert_some("seed", sampling.seed);
    object.insert_some("frequencyPenalty", sampling.frequency_penalty);
    object.insert_some("presencePenalty", sampling.presence_penalty);
    object.insert_some("candidateCount", sampling.answers);
    object.insert_some("responseLogprobs", sampling.logprobs);
    object.insert_some("logprobs", sampling.top_logprobs);
    let thinking = request.thinking.as_ref().map(|own| encode_thinking(own, level));
    object.insert_some("thinkingConfig", thinking.filter(|own| !own.is_empty()));
    let extra = request.extra.get(DIALECT, "generationConfig");
    let mime = extra.and_then(|extra| extra.get("responseMimeType"));
    match &request.format {
        Some(Format::Text) => object.insert("responseMimeType", "text/plain"),
        Some(Format::Json) => object.insert("responseMimeType", "application/json"),
        Some(Format::Schema(own)) => {
            let mime = mime.cloned().unwrap_or("application/json".into());
            object.insert("responseMimeType", mime);
            openapi::put(&mut object, SCHEMA, &own.schema, &request.extra);
        }
        None => {}
    }
    object
}

fn encode_thinking(thinking: &Thinking, level: Option<&str>) -> Object {
    let mut object = Object::new();
    if thinking.enabled == Some(true) {
        object.insert("includeThoughts", true);
    }
    let off = (thinking.enabled == Some(false)).then(|| 0_u64.into());
    object.insert_some("thinkingBudget", off.or(thinking.budget.clone()));
    if let Some(effort) = &thinking.effort {
        let own = level.filter(|level| level.to_lowercase() == *effort).map(str::to_owned);
        object.insert("thinkingLevel", own.unwrap_or_else(|| effort.to_uppercase()));
    }
    object
}
