//! Request bodies.

use std::collections::BTreeSet;

use toolwright_core::request::{Format, SchemaFormat, Thinking};
use toolwright_core::tool::qualified_name;
use toolwright_core::{Body, Extra, Message, Origin, Outcome, Part, Request, Role, Tool};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{ADDITIONAL, DIALECT, LOADED, PATH};
use super::{part, tool};
use crate::codec::{DecodeError, Fields, Result, WireRequest};

/// Fields of the request that a response repeats.
const ECHO: [&str; 14] = [
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "reasoning",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "truncation",
    "user",
];

/// The value of `include` for log probabilities.
const LOGPROBS: &str = "message.output_text.logprobs";

/// Decodes a body.
pub(super) fn decode(wire: WireRequest) -> Result<Request> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    let mut request = Request { model: fields.string("model")?, ..Request::default() };
    if let Some(text) = fields.string("instructions")? {
        let origin = Origin::at(&Path::ROOT.key("instructions"));
        let part = Part::text(text).with_origin(origin.clone());
        request.instructions = Some(Message { origin, ..Message::new(Role::System, vec![part]) });
    }
    let input = decode_input(fields.take("input"))?;
    request.messages = input.messages;
    request.tools = tool::decode_all(fields.array("tools")?, Path::ROOT.key("tools"))?;
    for tool in input.loaded {
        if request.tools.iter().all(|own| own.name != tool.name) {
            request.tools.push(tool);
        }
    }
    qualify(&mut request);
    if let Some(choice) = fields.take("tool_choice") {
        let path = Path::ROOT.key("tool_choice");
        request.tool_choice = Some(tool::decode_choice(choice, path, &request.tools)?);
    }
    request.parallel = fields.boolean("parallel_tool_calls")?;
    request.sampling.max_tokens = fields.number("max_output_tokens")?;
    request.sampling.temperature = fields.number("temperature")?;
    request.sampling.top_p = fields.number("top_p")?;
    request.stream = fields.boolean("stream")?;
    request.sampling.top_logprobs = fields.number("top_logprobs")?;
    request.user = fields.string("user")?;
    if let Some(Json::Array(mut include)) = fields.take("include") {
        let count = include.len();
        include.retain(|item| item.as_str() != Some(LOGPROBS));
        request.sampling.logprobs = (include.len() < count).then_some(true);
        if !include.is_empty() || count == 0 {
            fields.put_back("include", include);
        }
    }
    if let Some(mut reasoning) = open(&mut fields, "reasoning")? {
        let effort = reasoning.string("effort")?;
        let show = match reasoning.tag("summary") {
            Some("auto") => {
                reasoning.take("summary");
                Some(true)
            }
            // The requested length stays extra.
            Some("concise" | "detailed") => Some(true),
            _ => None,
        };
        let thinking = Thinking { effort, show, ..Thinking::default() };
        request.thinking = Some(thinking).filter(|own| *own != Thinking::default());
        fields.put_back_rest("reasoning", reasoning.into_object());
    }
    if let Some(mut text) = open(&mut fields, "text")? {
        request.format = decode_format(&mut text)?;
        fields.put_back_rest("text", text.into_object());
    }
    request.extra = fields.into_extra();
    if !input.additional.is_empty() {
        request.extra.insert(DIALECT, ADDITIONAL, Json::Array(input.additional));
    }
    Ok(request)
}

/// A namespace may contain a tool of the same name, whose calls are not those of a loaded function.
fn qualify(request: &mut Request) {
    let Request { messages, tools, .. } = request;
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        let loaded = part.extra.get(DIALECT, LOADED).is_some();
        let name = match &mut part.body {
            Body::Call(call) if loaded => &mut call.name,
            Body::Outcome(Outcome { name: Some(name), .. }) if loaded => name,
            _ => continue,
        };
        let qualified = qualified_name(name, name);
        if names.contains(qualified.as_str()) {
            *name = qualified;
        }
    }
}

/// Takes a nested object.
fn open(fields: &mut Fields<'_>, key: &'static str) -> Result<Option<Fields<'static>>> {
    let own = fields.take(key);
    own.map(|own| Fields::new(own, Path::ROOT.key(key), DIALECT)).transpose()
}

/// The content of `input`.
#[derive(Default)]
struct Input {
    messages: Vec<Message>,
    /// Tools that items define
    loaded: Vec<Tool>,
    /// Items after the last message that define tools
    additional: Vec<Json>,
}

/// Decodes `input`: a string is a user message. Consecutive items of a model's turn are one
/// message.
fn decode_input(input: Option<Json>) -> Result<Input> {
    let path = Path::ROOT.key("input");
    let items = match input {
        None => return Ok(Input::default()),
        Some(Json::Array(items)) => items,
        Some(Json::String(text)) => {
            let origin = Origin::at(&path);
            let part = Part::text(text).with_origin(origin.clone());
            let message = Message { origin, ..Message::new(Role::User, vec![part]) };
            return Ok(Input { messages: vec![message], ..Input::default() });
        }
        Some(_) => {
            return Err(DecodeError::expected(DIALECT, &path, "a string or an array of items"));
        }
    };
    let mut input = Input::default();
    for (index, item) in items.into_iter().enumerate() {
        input.item(item, path.index(index))?;
    }
    Ok(input)
}

impl Input {
    fn item(&mut self, item: Json, path: Path<'_>) -> Result<()> {
        let role = match part::kind(&item) {
            Some("additional_tools") => {
                self.load(&item, path)?;
                self.additional.push(item);
                return Ok(());
            }
            Some("message") if item.get("role").and_then(Json::as_str) != Some("assistant") => {
                self.push(part::decode_message(item, path)?);
                return Ok(());
            }
            Some("function_call_output" | "custom_tool_call_output") => Role::Tool,
            Some("shell_call_output") if self.is_own_shell(&item) => {
                let tool = part::client::of_output(&item);
                let part = tool.map(|tool| part::client::decode_outcome(tool, item, path));
                let parts = part.transpose()?.into_iter().collect();
                let origin = Origin::at(&path);
                self.push(Message { origin, ..Message::new(Role::Tool, parts) });
                return Ok(());
            }
            Some(_) if part::is_known(&item) && part::client::of_output(&item).is_some() => {
                self.load(&item, path)?;
                Role::Tool
            }
            _ => Role::Assistant,
        };
        match self.messages.last_mut() {
            Some(last)
                if last.role == Role::Assistant
                    && role == Role::Assistant
                    && self.additional.is_empty() =>
            {
                part::decode(item, path, &mut last.parts)?;
            }
            _ => {
                let mut parts = Vec::new();
                part::decode(item, path, &mut parts)?;
                let origin = Origin::at(&path);
                self.push(Message { role, parts, extra: Extra::NONE, origin });
            }
        }
        Ok(())
    }

    /// Whether an output is that of a shell call that the client ran.
    fn is_own_shell(&self, item: &Json) -> bool {
        let id = item.get("call_id").and_then(Json::as_str);
        let mut calls = self.messages.iter().flat_map(Message::calls);
        id.is_some() && calls.any(|call| call.id.as_deref() == id)
    }

    /// Appends a message, with the preceding items that define tools.
    fn push(&mut self, mut message: Message) {
        if !self.additional.is_empty() {
            let items = std::mem::take(&mut self.additional);
            message.extra.insert(DIALECT, ADDITIONAL, Json::Array(items));
        }
        self.messages.push(message);
    }

    /// Takes the tools that an item defines.
    fn load(&mut self, item: &Json, path: Path<'_>) -> Result<()> {
        let mut fields = Fields::new(item.clone(), path, DIALECT)?;
        let tools = tool::decode_all(fields.array("tools")?, path.key("tools"))?;
        self.loaded.extend(tools.into_iter().map(|tool| Tool { loaded: true, ..tool }));
        Ok(())
    }
}

/// Decodes `text.format`; a format of an unknown type stays extra.
fn decode_format(text: &mut Fields<'_>) -> Result<Option<Format>> {
    let kind = text.peek("format").and_then(|format| format.get("type")).and_then(Json::as_str);
    if !matches!(kind, Some("text" | "json_object" | "json_schema")) {
        return Ok(None);
    }
    let path = text.path();
    let mut own = Fields::new(text.need("format")?, path.key("format"), DIALECT)?;
    let format = match own.need_string("type")?.as_str() {
        "text" => Format::Text,
        "json_object" => Format::Json,
        _ => Format::Schema(SchemaFormat {
            name: own.string("name")?,
            description: own.string("description")?,
            schema: own.need("schema")?,
            strict: own.boolean("strict")?,
        }),
    };
    text.put_back_rest("format", own.into_object());
    Ok(Some(format))
}

/// Encodes a body.
pub(super) fn encode(request: Request) -> WireRequest {
    let mut body = Object::new();
    body.insert_some("model", request.model);
    body.insert_some("instructions", request.instructions.map(|own| plain_text(&own)));
    let mut writer = part::Writer::request();
    writer.learn(&request.messages);
    let mut items: Vec<Json> =
        request.messages.iter().flat_map(|own| writer.message(own)).collect();
    if let Some(Json::Array(last)) = request.extra.get(DIALECT, ADDITIONAL) {
        items.extend(last.iter().cloned());
    }
    body.insert_filled("input", Json::Array(items));
    let tools = tool::encode_all(&request.tools);
    body.insert_filled("tools", Json::Array(tools));
    let choice = request.tool_choice.as_ref();
    body.insert_some("tool_choice", choice.map(|own| tool::encode_choice(own, &request.tools)));
    body.insert_some("parallel_tool_calls", request.parallel);
    body.insert_some("max_output_tokens", request.sampling.max_tokens);
    body.insert_some("temperature", request.sampling.temperature);
    body.insert_some("top_p", request.sampling.top_p);
    body.insert_some("stream", request.stream);
    if let Some(thinking) = request.thinking {
        let mut reasoning = Object::new();
        reasoning.insert_some("effort", thinking.effort);
        let length = request.extra.get(DIALECT, "reasoning").and_then(|own| own.get("summary"));
        let shows = thinking.show == Some(true) && length.is_none();
        reasoning.insert_some("summary", shows.then_some("auto"));
        body.insert_some("reasoning", Some(reasoning).filter(|own| !own.is_empty()));
    }
    if let Some(format) = request.format {
        body.insert("text", object! {"format": encode_format(format)});
    }
    body.insert_some("top_logprobs", request.sampling.top_logprobs);
    body.insert_some("user", request.user);
    request.extra.write_into(DIALECT, &mut body);
    if request.sampling.logprobs == Some(true) {
        let include = match body.remove("include") {
            Some(Json::Array(include)) => include,
            _ => Vec::new(),
        };
        body.insert("include", [include, vec![LOGPROBS.into()]].concat());
    }
    WireRequest { path: PATH.to_owned(), headers: vec![], body: Json::Object(body) }
}

/// Joins instructions to one text, the only form here.
fn plain_text(message: &Message) -> String {
    let texts: Vec<&str> = message.parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n\n")
}

fn encode_format(format: Format) -> Object {
    match format {
        Format::Text => object! {"type": "text"},
        Format::Json => object! {"type": "json_object"},
        Format::Schema(own) => {
            let name = own.name.unwrap_or_else(|| "response".to_owned());
            let mut object = object! {"type": "json_schema", "name": name};
            object.insert_some("description", own.description);
            object.insert("schema", own.schema);
            object.insert_some("strict", own.strict);
            object
        }
    }
}

/// Encodes the fields that the response will repeat.
pub(super) fn encode_echo(request: &Request) -> Object {
    let settings = Request { messages: vec![], ..request.clone() };
    let Json::Object(mut body) = encode(settings).body else { return Object::new() };
    let picked = ECHO.into_iter().filter_map(|key| Some((key.into(), body.remove(key)?)));
    picked.collect()
}
