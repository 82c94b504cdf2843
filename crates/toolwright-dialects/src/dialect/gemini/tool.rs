//! Tool definitions and tool choice.

pub(super) mod openapi;

use toolwright_core::{Origin, Request, Tool, ToolChoice, ToolKind, note};
use toolwright_json::{Json, Object, Path, object};

use self::openapi::Pair;
use super::wire::{self, DIALECT};
use crate::codec::{DecodeError, Fields, Result};
use crate::dialect::shape;

const PARAMETERS: Pair = ("parametersJsonSchema", "parameters", note!("parameters"));
const RESPONSE: Pair = ("responseJsonSchema", "response", note!("response"));

/// A note on a tool with an unusual position: a function that begins a separate entry, or a hosted
/// tool in the entry of the functions before it.
const ENTRY: &str = note!("entry");

/// Decodes `tools`, whose entries contain several functions, hosted tools, or both.
pub(super) fn decode_all(entries: Vec<Json>, path: Path<'_>) -> Result<Vec<Tool>> {
    let mut tools = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        decode_entry(entry, path.index(index), &mut tools)?;
    }
    Ok(tools)
}

/// Decodes one tool: a declaration, or an entry with one.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    let mut tools = Vec::new();
    decode_entry(wire, path, &mut tools)?;
    match (tools.pop(), tools.is_empty()) {
        (Some(tool), true) => Ok(tool),
        _ => Err(DecodeError::expected(DIALECT, &path, "one tool")),
    }
}

fn decode_entry(entry: Json, path: Path<'_>, tools: &mut Vec<Tool>) -> Result<()> {
    if ["name", "type", "function", "toolSpec"].iter().any(|key| entry.get(key).is_some()) {
        tools.push(decode_declaration(entry, path)?);
        return Ok(());
    }
    let mut fields = wire::open(entry, path)?;
    let before = tools.len();
    let list = path.key("functionDeclarations");
    for (index, wire) in wire::list(&mut fields, "functionDeclarations")?.into_iter().enumerate() {
        tools.push(decode_declaration(wire, list.index(index))?);
    }
    let (earlier, own) = tools.split_at_mut(before);
    let follows = |last: &Tool| {
        !matches!(last.kind, ToolKind::Hosted(_)) || last.extra.get(DIALECT, ENTRY).is_some()
    };
    let declares = !own.is_empty();
    if let (Some(first), true) = (own.first_mut(), earlier.last().is_some_and(follows)) {
        first.extra.insert(DIALECT, ENTRY, "new");
    }
    // A hosted tool that is null is absent.
    let rest: Object = fields.into_object().into_iter().filter(|(_, own)| !own.is_null()).collect();
    if !rest.is_empty() {
        let mut tool = hosted(Json::Object(rest), path);
        if declares {
            tool.extra.insert(DIALECT, ENTRY, "same");
        }
        tools.push(tool);
    }
    Ok(())
}

/// Decodes a declaration, in this form or another's.
fn decode_declaration(wire: Json, path: Path<'_>) -> Result<Tool> {
    let kind = wire.get("type").and_then(Json::as_str);
    if !matches!(kind, None | Some("function" | "custom")) {
        return Ok(hosted(wire, path));
    }
    let foreign = ["type", "function", "toolSpec", "input_schema", "inputSchema"];
    let simple = wire.get("parameters").and_then(Json::as_object).is_some_and(shape::is_simple);
    if simple || foreign.iter().any(|key| wire.get(key).is_some()) {
        return shape::decode(wire, path, DIALECT);
    }
    let mut fields = wire::open(wire, path)?;
    let (parameters, subset) = openapi::take(&mut fields, PARAMETERS);
    let (output, output_subset) = openapi::take(&mut fields, RESPONSE);
    let mut tool = Tool {
        name: fields.need_string("name")?,
        description: fields.string("description")?,
        kind: ToolKind::Function(parameters),
        output,
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    };
    if subset.is_some() {
        tool.schema_origin = Origin::at(&path.key(PARAMETERS.1));
    }
    for (note, original) in subset.into_iter().chain(output_subset) {
        tool.extra.insert(DIALECT, note, original);
    }
    Ok(tool)
}

/// Decodes a hosted tool, by the first of its members.
fn hosted(wire: Json, path: Path<'_>) -> Tool {
    let name = wire.get("name").or(wire.get("type")).and_then(Json::as_str).map(str::to_owned);
    let first = wire.as_object().and_then(|object| object.keys().next()).map(str::to_owned);
    Tool {
        name: name.or(first).unwrap_or_default(),
        kind: ToolKind::Hosted(wire),
        origin: Origin::at(&path),
        ..Tool::default()
    }
}

/// Encodes a declaration, or the entry of a hosted tool.
pub(super) fn encode(tool: &Tool) -> Json {
    if let ToolKind::Hosted(wire) = &tool.kind {
        return wire.clone();
    }
    let mut object = object! {"name": tool.name.as_str()};
    object.insert_some("description", tool.description.as_deref());
    if let Some(parameters) = tool.parameters() {
        openapi::put(&mut object, PARAMETERS, parameters, &tool.extra);
    }
    if let Some(output) = &tool.output {
        openapi::put(&mut object, RESPONSE, output, &tool.extra);
    }
    tool.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

/// Encodes `tools`: consecutive functions share an entry.
pub(super) fn encode_all(tools: &[Tool]) -> Vec<Json> {
    let mut entries: Vec<Json> = Vec::new();
    for tool in tools {
        let note = tool.extra.get(DIALECT, ENTRY).and_then(Json::as_str);
        let entry = entries.last_mut().and_then(Json::as_object_mut);
        match (&tool.kind, entry) {
            (ToolKind::Hosted(Json::Object(own)), Some(entry)) if note == Some("same") => {
                entry.merge(own);
            }
            (ToolKind::Hosted(wire), _) => entries.push(wire.clone()),
            (_, entry) => match entry.and_then(|entry| entry.get_mut("functionDeclarations")) {
                Some(Json::Array(list)) if note != Some("new") => list.push(encode(tool)),
                _ => {
                    let list = Json::Array(vec![encode(tool)]);
                    entries.push(Json::Object(object! {"functionDeclarations": list}));
                }
            },
        }
    }
    entries
}

/// Decodes `toolConfig`. A mode that is equivalent to another is stored in the note `mode`.
pub(super) fn decode_config(root: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = root.take("toolConfig") else { return Ok(()) };
    let path = Path::ROOT.key("toolConfig");
    let mut own = wire::open(wire, path)?;
    if let Some(wire) = own.take("functionCallingConfig") {
        let rest = decode_calling(wire, path.key("functionCallingConfig"), root, request)?;
        own.put_back_rest("functionCallingConfig", rest);
    }
    root.put_back_rest("toolConfig", own.into_object());
    Ok(())
}

/// Decodes the choice and returns the other fields.
fn decode_calling(
    wire: Json,
    path: Path<'_>,
    root: &mut Fields<'_>,
    request: &mut Request,
) -> Result<Object> {
    let mut own = wire::open(wire.clone(), path)?;
    let mode = wire::word(&mut own, "mode", wire::MODE_NUMBERS)?;
    let names = own.strings("allowedFunctionNames")?;
    let Some(choice) = choice(mode.as_deref(), &names) else {
        request.tool_choice = mode.map(|_| ToolChoice::Other(wire));
        let rest = own.into_object();
        return Ok(if request.tool_choice.is_none() { rest } else { Object::new() });
    };
    if choice == ToolChoice::None && !names.is_empty() {
        own.put_back("allowedFunctionNames", names);
    }
    if let Some(mode) = mode.filter(|mode| mode != words(&choice).0) {
        root.put_back(note!("mode"), mode);
    }
    request.tool_choice = Some(choice);
    Ok(own.into_object())
}

/// Returns the choice for a mode and names; `None` if the mode is absent or unknown.
fn choice(mode: Option<&str>, names: &[String]) -> Option<ToolChoice> {
    let mode = mode.map(str::to_ascii_uppercase);
    let required = match (mode.as_deref(), names) {
        (None, []) => return None,
        (Some("NONE"), _) => return Some(ToolChoice::None),
        (Some("AUTO" | "VALIDATED" | "MODE_UNSPECIFIED"), []) => return Some(ToolChoice::Auto),
        (Some("ANY"), []) => return Some(ToolChoice::Required),
        (Some("ANY"), [name]) => return Some(ToolChoice::Tool(name.clone())),
        (Some("ANY"), _) => true,
        (None | Some("AUTO" | "VALIDATED" | "MODE_UNSPECIFIED"), _) => false,
        _ => return None,
    };
    Some(ToolChoice::Allowed { names: names.to_vec(), required })
}

/// Returns the default mode of a choice, and its names.
fn words(choice: &ToolChoice) -> (&'static str, &[String]) {
    match choice {
        ToolChoice::Auto | ToolChoice::Other(_) => ("AUTO", &[]),
        ToolChoice::None => ("NONE", &[]),
        ToolChoice::Required => ("ANY", &[]),
        ToolChoice::Tool(name) => ("ANY", std::slice::from_ref(name)),
        ToolChoice::Allowed { names, required: true } => ("ANY", names),
        ToolChoice::Allowed { names, required: false } => ("VALIDATED", names),
    }
}

/// Encodes `toolConfig`; none if nothing was set.
pub(super) fn encode_config(said: Option<&ToolChoice>, kept: Option<&str>) -> Option<Object> {
    let said = said?;
    if let ToolChoice::Other(wire) = said {
        return Some(object! {"functionCallingConfig": wire.clone()});
    }
    let (usual, names) = words(said);
    let kept = kept.filter(|mode| choice(Some(mode), names).as_ref() == Some(said));
    let mut calling = object! {"mode": kept.unwrap_or(usual)};
    calling.insert_filled("allowedFunctionNames", names.to_vec());
    Some(object! {"functionCallingConfig": calling})
}
