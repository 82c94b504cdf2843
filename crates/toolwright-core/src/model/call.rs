//! A call of a tool by a model.

use toolwright_json::{Json, JsonText, Object};

/// A call. Its position among the parts of a message is its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The id that the outcome refers to; some vendors send none and pair calls by name and order
    pub id: Option<String>,
    /// The tool's name
    pub name: String,
    /// The arguments that the model wrote
    pub arguments: Arguments,
}

impl Call {
    /// A call with an id.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Arguments) -> Call {
        Call { id: Some(id.into()), name: name.into(), arguments }
    }
}

/// Arguments that say that there are none.
pub(crate) const NULL: &str = "null";

/// The arguments of a call, exactly as the model wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// One JSON document
    Json(JsonText),
    /// Text that should have been JSON and is not
    Malformed(String),
    /// The free text of a custom tool
    Free(String),
}

impl Arguments {
    /// Parses arguments that a dialect carries as a string. An empty text and `null`, which Groq
    /// sends, mean no arguments; any other text that is not JSON is [`Arguments::Malformed`].
    pub fn from_text(text: impl Into<String>) -> Arguments {
        let text = text.into();
        if matches!(text.trim(), "" | NULL) {
            return Arguments::none();
        }
        match JsonText::new(text) {
            Ok(json) => Arguments::Json(json),
            Err(text) => Arguments::Malformed(text),
        }
    }

    /// Converts arguments that a dialect carries as a JSON value. `null` means no arguments.
    pub fn from_json(value: &Json) -> Arguments {
        match value {
            Json::Null => Arguments::none(),
            value => Arguments::Json(JsonText::of(value)),
        }
    }

    /// `{}`.
    pub fn none() -> Arguments {
        Arguments::from_json(&Json::Object(Object::new()))
    }

    /// The text for a dialect that carries arguments as a string.
    pub fn as_str(&self) -> &str {
        match self {
            Arguments::Json(json) => json.as_str(),
            Arguments::Malformed(text) | Arguments::Free(text) => text,
        }
    }

    /// Whether these are a JSON object.
    pub fn is_object(&self) -> bool {
        matches!(self, Arguments::Json(json) if json.as_str().trim_start().starts_with('{'))
    }

    /// The value for a dialect that carries arguments as an object. What is no object goes along
    /// under `_raw`, so that it is never mistaken for an empty one (case 2).
    pub fn to_object(&self) -> Object {
        let raw = match self {
            Arguments::Json(json) => match json.to_json() {
                Json::Object(object) => return object,
                value => value,
            },
            Arguments::Malformed(text) | Arguments::Free(text) => Json::from(text.as_str()),
        };
        toolwright_json::object! {"_raw": raw}
    }
}
