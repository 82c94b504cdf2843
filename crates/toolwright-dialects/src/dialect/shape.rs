//! Decodes tool definitions in any form, detected for each element (case 11).
//!
//! Clients send flat tools where nested ones are expected and the reverse, and small projects use
//! their own forms. Each codec decodes its own form completely and leaves all others to this
//! module.

use toolwright_core::extra::BESIDE;
use toolwright_core::{Dialect, Extra, Tool, ToolKind, note};
use toolwright_json::{Json, Object, Path};

use crate::codec::{Fields, Result};

/// The keys of schemas in all forms.
const SCHEMA_KEYS: [&str; 6] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "schema",
];

/// The wrappers of definitions.
const WRAPPERS: [&str; 2] = ["function", "toolSpec"];

/// Whether a definition has a schema or a wrapper in any known form.
pub fn has_schema(wire: &Json) -> bool {
    SCHEMA_KEYS.iter().chain(&WRAPPERS).any(|key| wire.get(key).is_some())
}

/// Decodes a function tool in any form.
pub fn decode(wire: Json, path: Path<'_>, dialect: Dialect) -> Result<Tool> {
    let mut outer = Fields::new(wire, path, dialect)?;
    for wrapper in WRAPPERS {
        if outer.peek(wrapper).is_some_and(|inner| inner.as_object().is_some()) {
            let inner = outer.take(wrapper).unwrap_or_default();
            return function(Fields::new(inner, path.key(wrapper), dialect)?);
        }
    }
    outer.take("type");
    function(outer)
}

/// Decodes a tool for a dialect whose form is `{"type":"function","function":{…}}`: in that form
/// with its additional fields, or else in any form.
pub fn decode_nested(wire: Json, path: Path<'_>, dialect: Dialect) -> Result<Tool> {
    if wire.get("function").is_none_or(|inner| inner.as_object().is_none()) {
        return decode(wire, path, dialect);
    }
    let mut outer = Fields::new(wire, path, dialect)?;
    let mut tool = function(Fields::new(outer.need("function")?, path.key("function"), dialect)?)?;
    outer.take("type");
    let beside = outer.into_object();
    if !beside.is_empty() {
        tool.extra.insert(dialect, BESIDE, beside);
    }
    Ok(tool)
}

/// Wraps a definition as `{"type":"function","function":{…}}`, with extra fields inside and
/// outside.
pub fn encode_nested(mut function: Object, extra: &Extra, dialect: Dialect) -> Json {
    extra.write_into(dialect, &mut function);
    let beside = function.remove(BESIDE);
    let mut tool = toolwright_json::object! {"type": "function", "function": function};
    if let Some(Json::Object(beside)) = beside {
        note::merge(&mut tool, &beside);
    }
    Json::Object(tool)
}

/// Takes the format of a tool with free text: plain text, or a grammar in a syntax that `OpenAI`
/// supports. A grammar is nested or beside its `type`; anything else is refused.
pub fn take_format(fields: &mut Fields<'_>, dialect: Dialect) -> Result<Option<Json>> {
    let Some(format) = fields.take("format") else { return Ok(None) };
    let holder = fields.path();
    let path = holder.key("format");
    let inner = path.key("grammar");
    let mut own = Fields::new(format.clone(), path, dialect)?;
    if own.need_string("type")? == "grammar" {
        if let Some(grammar) = own.take("grammar") {
            own = Fields::new(grammar, inner, dialect)?;
        }
        own.need_string("definition")?;
        if !matches!(own.need_string("syntax")?.as_str(), "lark" | "regex") {
            return Err(own.expected("syntax", "`lark` or `regex`"));
        }
    }
    Ok(Some(format))
}

fn function(mut fields: Fields<'_>) -> Result<Tool> {
    let name = fields.need_string("name")?;
    let description = fields.string("description")?;
    let strict = fields.boolean("strict")?;
    let schema = SCHEMA_KEYS.into_iter().find_map(|key| fields.take(key)).map(unwrap_schema);
    // Remaining keys would be decoded as another definition after encoding.
    for key in SCHEMA_KEYS.into_iter().chain(WRAPPERS) {
        if fields.peek(key).is_some() {
            return Err(fields.expected(key, "one definition with one schema"));
        }
    }
    Ok(Tool {
        name,
        description,
        strict,
        kind: ToolKind::Function(schema),
        output: fields.take("outputSchema").or_else(|| fields.take("output_schema")),
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    })
}

/// Unwraps Bedrock's `{"json": schema}` and converts a simple definition; returns a schema
/// unchanged.
fn unwrap_schema(schema: Json) -> Json {
    let Json::Object(mut object) = schema else { return schema };
    if object.len() == 1 && object.get("json").is_some_and(|json| json.as_object().is_some()) {
        return object.remove("json").unwrap_or_default();
    }
    if is_simple(&object) { simple(object) } else { Json::Object(object) }
}

/// Whether parameters are a plain map `{"<name>": {"type", "description", "required": bool}}`.
///
/// The `type` of a schema is a string or a list; in a simple definition the key `type` can only be
/// a parameter of that name, whose value is an object.
pub fn is_simple(parameters: &Object) -> bool {
    let is_parameter = |value: &Json| {
        value.as_object().is_some_and(|parameter| {
            parameter.get("type").is_some_and(|kind| kind.as_str().is_some())
        })
    };
    !parameters.is_empty() && parameters.iter().all(|(_, value)| is_parameter(value))
}

/// Returns the schema of a simple definition; `required` is always an array.
pub fn simple(parameters: Object) -> Json {
    let mut required = Vec::new();
    let mut properties = Object::new();
    for (name, mut parameter) in parameters {
        if let Some(fields) = parameter.as_object_mut()
            && let Some(flag) = fields.get("required").and_then(Json::as_bool)
        {
            fields.remove("required");
            if flag {
                required.push(Json::from(name.as_ref()));
            }
        }
        properties.push(name, parameter);
    }
    Json::Object(toolwright_json::object! {
        "type": "object",
        "properties": properties,
        "required": Json::Array(required),
    })
}
