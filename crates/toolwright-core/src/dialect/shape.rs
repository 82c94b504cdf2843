//! Tool definitions in any shape, told apart element by element (case 11).
//!
//! Clients send flat tools where nested ones belong and the reverse, and small projects write their
//! own. Each codec reads its own shape in full and leaves every other shape to this file.

use crate::codec::{DecodeError, Fields};
use crate::json::{Json, Object, Path};
use crate::model::dialect::Dialect;
use crate::model::extra::{BESIDE, Extra};
use crate::model::tool::{Tool, ToolKind};

/// The keys under which a schema may stand, ours and everybody's.
const SCHEMA_KEYS: [&str; 6] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "schema",
];

/// The wrappers around a definition.
const WRAPPERS: [&str; 2] = ["function", "toolSpec"];

/// Whether a definition has a schema, or is wrapped, in any of the known ways.
pub fn has_schema(wire: &Json) -> bool {
    SCHEMA_KEYS.iter().chain(&WRAPPERS).any(|key| wire.get(key).is_some())
}

/// Reads a function tool in whichever shape it is.
pub fn decode(wire: Json, path: Path<'_>, dialect: Dialect) -> Result<Tool, DecodeError> {
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

/// Reads a tool for a dialect whose own shape is `{"type":"function","function":{…}}`: in that
/// shape with what stands beside the definition, else in whichever it is.
pub fn decode_nested(wire: Json, path: Path<'_>, dialect: Dialect) -> Result<Tool, DecodeError> {
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

/// Wraps a definition as `{"type":"function","function":{…}}`, extra fields inside and beside it.
pub fn encode_nested(mut function: Object, extra: &Extra, dialect: Dialect) -> Json {
    extra.write_into(dialect, &mut function);
    let beside = function.remove(BESIDE);
    let mut tool = crate::object! {"type": "function", "function": function};
    if let Some(Json::Object(beside)) = beside {
        tool.merge(&beside);
    }
    Json::Object(tool)
}

/// Takes the format of a tool that takes free text: plain text, or a grammar in a syntax that
/// `OpenAI` knows. A grammar stands in an object of its own or beside its `type`; anything else is refused.
pub fn take_format(fields: &mut Fields<'_>, dialect: Dialect) -> Result<Option<Json>, DecodeError> {
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

fn function(mut fields: Fields<'_>) -> Result<Tool, DecodeError> {
    let name = fields.need_string("name")?;
    let description = fields.string("description")?;
    let strict = fields.boolean("strict")?;
    let schema = SCHEMA_KEYS.into_iter().find_map(|key| fields.take(key)).map(unwrap_schema);
    // What is left would be read as another definition when it is written again.
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

/// Bedrock's `{"json": schema}`, the simple definition, or a schema as it is.
fn unwrap_schema(schema: Json) -> Json {
    let Json::Object(mut object) = schema else { return schema };
    if object.len() == 1 && object.get("json").is_some_and(|json| json.as_object().is_some()) {
        return object.remove("json").unwrap_or_default();
    }
    if is_simple(&object) { simple(object) } else { Json::Object(object) }
}

/// Whether parameters are a plain map `{"<name>": {"type", "description", "required": bool}}`.
///
/// A schema has a `type` that is a string or a list; in a simple definition a key `type` can only
/// be a parameter of that name, and its value is an object.
pub fn is_simple(parameters: &Object) -> bool {
    let is_parameter = |value: &Json| {
        value.as_object().is_some_and(|parameter| {
            parameter.get("type").is_some_and(|kind| kind.as_str().is_some())
        })
    };
    !parameters.is_empty() && parameters.iter().all(|(_, value)| is_parameter(value))
}

/// The schema of a simple definition; `required` is always an array.
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
    Json::Object(crate::object! {
        "type": "object",
        "properties": properties,
        "required": Json::Array(required),
    })
}
