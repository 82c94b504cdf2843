//! The types of parameters in a view, and their zeros.

use toolwright_core::args::Parameters;
use toolwright_json::{Json, Object};

/// Maximum depth of references and unions.
const MAX_DEPTH: usize = 16;

toolwright_json::words! {
    /// The type of a parameter in a view.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum ViewType: as_str {
        /// A text, or any value
        #[default]
        Str = "str",
        /// A whole number
        Int = "int",
        /// A number
        Float = "float",
        /// True or false
        Bool = "bool",
        /// An array
        List = "list",
        /// An object
        Dict = "dict",
    }
}

impl ViewType {
    /// Returns the value that stands for an absent argument.
    pub fn zero(self) -> Json {
        match self {
            ViewType::Str => "".into(),
            ViewType::Int => 0_u64.into(),
            ViewType::Float => 0.0.into(),
            ViewType::Bool => false.into(),
            ViewType::List => Json::Array(Vec::new()),
            ViewType::Dict => Object::new().into(),
        }
    }

    /// Returns the type of a parameter: the first one in its schema that is not null.
    pub(super) fn of_parameter(parameters: &Parameters, name: &str) -> Option<ViewType> {
        let root = parameters.check().schema();
        parameters.schemas(name).find_map(|schema| of_schema(schema, root, MAX_DEPTH))
    }

    /// Returns the type of a value that is not null.
    pub(super) fn of_value(value: &Json) -> Option<ViewType> {
        match value {
            Json::Null => None,
            Json::Bool(_) => Some(ViewType::Bool),
            Json::Number(number) if number.is_integer() => Some(ViewType::Int),
            Json::Number(_) => Some(ViewType::Float),
            Json::String(_) => Some(ViewType::Str),
            Json::Array(_) => Some(ViewType::List),
            Json::Object(_) => Some(ViewType::Dict),
        }
    }

    fn of_name(name: &Json) -> Option<ViewType> {
        match name.as_str()? {
            "string" => Some(ViewType::Str),
            "integer" => Some(ViewType::Int),
            "number" => Some(ViewType::Float),
            "boolean" => Some(ViewType::Bool),
            "array" => Some(ViewType::List),
            "object" => Some(ViewType::Dict),
            _ => None,
        }
    }
}

/// Returns the first type in a schema that is not null: by its `type`, its values, its reference, its unions,
/// or the keywords of objects and arrays.
fn of_schema(schema: &Json, root: &Json, depth: usize) -> Option<ViewType> {
    let (Json::Object(schema), Some(deeper)) = (schema, depth.checked_sub(1)) else { return None };
    let list = |keyword| schema.get(keyword).and_then(Json::as_array).unwrap_or_default();
    let named = || match schema.get("type")? {
        Json::Array(names) => names.iter().find_map(ViewType::of_name),
        name => ViewType::of_name(name),
    };
    let valued = || {
        let values = schema.get("const").into_iter().chain(list("enum"));
        values.into_iter().find_map(ViewType::of_value)
    };
    let referred = || {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        of_schema(root.pointer(pointer)?, root, deeper)
    };
    let united = || {
        let keywords = ["allOf", "anyOf", "oneOf"].into_iter();
        keywords.flat_map(list).find_map(|branch| of_schema(branch, root, deeper))
    };
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(keyword));
    let described = || {
        if has(&["properties", "additionalProperties", "patternProperties"]) {
            Some(ViewType::Dict)
        } else {
            has(&["items", "prefixItems"]).then_some(ViewType::List)
        }
    };
    named().or_else(valued).or_else(referred).or_else(united).or_else(described)
}
