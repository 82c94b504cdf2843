//! The parameters of a tool, compiled once: the check, the defaults, and the hidden names.

use std::sync::Arc;

use toolwright_json::{Json, Object, object};

use super::hide;
use crate::model::tool::{Tool, ToolKind};
use crate::schema::{Check, SchemaError, Violation};
use crate::wire_json;

/// One parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name
    pub name: Arc<str>,
    /// Whether it is required
    pub required: bool,
    /// The default, if it is valid
    pub default: Option<Json>,
}

/// The parameters of a tool.
///
/// ```
/// use toolwright_core::args::{CoercionOptions, Parameters, parse};
/// use toolwright_core::{Arguments, Json, Tool};
///
/// let schema = Json::parse(
///     r#"{"type": "object", "required": ["city"], "properties": {
///         "city": {"type": "string"}, "days": {"type": "integer", "default": 3}}}"#,
/// )?;
/// let parameters = Parameters::compile(&Tool::function("forecast", schema), &[])?;
///
/// let resolved = parameters.resolve(parse(&Arguments::from_text(r#"{"city": "北京"}"#)), &CoercionOptions::default());
/// assert!(resolved.is_runnable());
/// assert_eq!(resolved.arguments().compact(), r#"{"city":"北京","days":3}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Parameters {
    tool: Arc<str>,
    check: Check,
    list: Vec<Parameter>,
    hidden: Vec<String>,
    /// Whether a default can make valid arguments invalid
    interplay: bool,
    bad_defaults: Vec<Violation>,
    /// Whether the tool takes free text, as `input`
    free: bool,
}

impl Parameters {
    /// Compiles the parameters of a tool, of which some are hidden from the model.
    ///
    /// A tool without a schema takes any object. A custom tool takes free text, which becomes the
    /// single parameter `input`. A hosted tool has no parameters to check.
    pub fn compile(tool: &Tool, hidden: &[String]) -> Result<Parameters, SchemaError> {
        let anything = Json::Object(object! {"type": "object"});
        let free = Json::Object(object! {
            "type": "object",
            "properties": object! {"input": object! {"type": "string"}},
            "required": vec!["input"],
        });
        let schema = match &tool.kind {
            ToolKind::Function(Some(schema)) => schema,
            ToolKind::Function(None) => &anything,
            ToolKind::Custom(_) => &free,
            ToolKind::Hosted(_) => {
                let reason = "is the vendor's, who runs this tool";
                return Err(SchemaError::Limit { path: String::new(), reason });
            }
        };
        let schema = hide::strip(schema, hidden)?;
        let check = Check::compile(&schema)?;
        let mut list = collect(&schema);
        let bad_defaults = judge_defaults(&check, &mut list);
        Ok(Parameters {
            tool: tool.name.as_str().into(),
            interplay: has_interplay(&schema),
            check,
            list,
            hidden: hidden.to_vec(),
            bad_defaults,
            free: matches!(tool.kind, ToolKind::Custom(_)),
        })
    }

    /// Returns the name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    pub(super) fn shared_tool(&self) -> Arc<str> {
        Arc::clone(&self.tool)
    }

    /// Returns the check of arguments, without hidden parameters.
    pub fn check(&self) -> &Check {
        &self.check
    }

    /// Returns the parameters in the order of the schema, without hidden ones.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.list.iter()
    }

    /// Returns the schemas of a parameter, wherever the schema of the tool names it.
    pub fn schemas(&self, name: &str) -> impl Iterator<Item = &Json> {
        let schema = self.check.schema();
        let composed = hide::composed(schema, schema).into_iter();
        composed.filter_map(move |object| object.get("properties")?.get(name))
    }

    /// Returns the hidden names.
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Returns the violations of defaults that their own schema rejects. These defaults are
    /// ignored.
    pub fn bad_defaults(&self) -> &[Violation] {
        &self.bad_defaults
    }

    pub(super) fn has_interplay(&self) -> bool {
        self.interplay
    }

    pub(super) fn takes_free_text(&self) -> bool {
        self.free
    }

    pub(super) fn accepts(&self, arguments: &Object) -> bool {
        self.check.accepts(&Json::Object(arguments.clone()))
    }
}

/// Returns the parameters that a schema names, each once.
fn collect(schema: &Json) -> Vec<Parameter> {
    let mut list: Vec<Parameter> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let schemas = hide::composed(schema, schema);
    for object in &schemas {
        let Some(properties) = object.get("properties").and_then(Json::as_object) else { continue };
        for (name, property) in properties.iter() {
            let default = hide::composed(property, schema)
                .into_iter()
                .find_map(|object| object.get("default"))
                .cloned();
            let place = *places.entry(name).or_insert(list.len());
            match list.get_mut(place) {
                Some(own) => own.default = own.default.take().or(default),
                None => list.push(Parameter { name: name.into(), required: false, default }),
            }
        }
    }
    for object in &schemas {
        let names = object.get("required").and_then(Json::as_array).unwrap_or_default();
        for name in names.iter().filter_map(Json::as_str) {
            let place = *places.entry(name).or_insert(list.len());
            match list.get_mut(place) {
                Some(own) => own.required = true,
                None => {
                    list.push(Parameter { name: name.into(), required: true, default: None });
                }
            }
        }
    }
    list
}

/// Removes invalid defaults and returns their violations.
fn judge_defaults(check: &Check, list: &mut [Parameter]) -> Vec<Violation> {
    let defaults: Object = list
        .iter()
        .filter_map(|parameter| Some((wire_json::key(&parameter.name), parameter.default.clone()?)))
        .collect();
    if defaults.is_empty() {
        return Vec::new();
    }
    let mut violations = check.violations(&Json::Object(defaults));
    violations.retain(|violation| !violation.path.is_empty());
    for parameter in list {
        let own = toolwright_json::pointer::escape(&parameter.name);
        let is_own = |violation: &Violation| {
            violation.path[1..]
                .strip_prefix(own.as_ref())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if violations.iter().any(is_own) {
            parameter.default = None;
        }
    }
    violations
}

/// Whether the schema constrains the object as a whole, so that an added member can violate it.
fn has_interplay(schema: &Json) -> bool {
    let plain = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "description",
        "title",
        "$defs",
        "definitions",
        "$schema",
        "$id",
        "examples",
        "default",
        "$comment",
        "strict",
    ];
    match schema {
        Json::Object(object) => !object.keys().all(|key| plain.contains(&key)),
        _ => false,
    }
}
