//! The subsets of JSON Schema that vendors accept, as data. Each constant cites the section of
//! `docs/dialects/` that states the subset with its source.

use crate::loss::Severity;
use crate::profile::Subset;

/// What a vendor accepts of JSON Schema.
#[derive(Debug)]
pub(super) struct Rules {
    /// Whose rules these are, to begin a reason with
    pub(super) name: &'static str,
    /// Whether the vendor holds the model to the schema. If not, a schema is advice, and a description
    /// advises as well as a keyword.
    pub(super) enforced: bool,
    /// The keywords that exist
    pub(super) keywords: &'static [&'static str],
    /// The keywords that exist at the root, if those are others
    pub(super) root_keywords: Option<&'static [&'static str]>,
    /// The formats that exist, if not all do
    pub(super) formats: Option<&'static [&'static str]>,
    /// Whether every value needs a type, arrays need `items`, and nothing may speak of other types
    pub(super) typed: bool,
    /// Whether objects must have `additionalProperties: false`
    pub(super) closed: bool,
    /// Whether every property must be required, so that optional ones become nullable
    pub(super) all_required: bool,
    /// Whether an object below the root must have properties
    pub(super) no_empty_object: bool,
    /// What becomes of references
    pub(super) refs: Refs,
    /// How several types are said
    pub(super) types: Types,
    /// Whether enumerations hold nothing but strings
    pub(super) string_enum: bool,
    /// Whether what stands below `items` is kept as it is
    pub(super) items_verbatim: bool,
    /// The greatest `minItems`
    pub(super) max_min_items: Option<u64>,
    /// The most levels of objects and the most properties in total
    pub(super) ceilings: Option<(usize, usize)>,
}

/// What becomes of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refs {
    /// They stay, recursive ones too
    Keep,
    /// They stay unless they are recursive
    Acyclic,
    /// They are written out in place
    Inline,
}

/// How several types are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// As a list
    List,
    /// As a list, unless `object` or `array` is among them
    ScalarList,
    /// As branches of `anyOf`
    Branches,
    /// In capitals, `null` by the flag `nullable`, others as branches of `anyOf`
    Flag,
}

/// The rules of a subset; none if it is all of JSON Schema.
pub(super) fn rules(subset: Subset) -> Option<&'static Rules> {
    match subset {
        Subset::Full => None,
        Subset::OpenaiStrict => Some(&OPENAI),
        Subset::DeepseekStrict => Some(&DEEPSEEK),
        Subset::AnthropicStrict => Some(&ANTHROPIC),
        Subset::Ollama => Some(&OLLAMA),
        Subset::GeminiOpenapi => Some(&GEMINI),
    }
}

/// Closed objects, all properties required, ceilings; bounds, `$defs` and recursion stay
/// (`docs/dialects/openai-chat.md#tools`).
const OPENAI: Rules = Rules {
    name: "OpenAI's strict schemas",
    enforced: true,
    keywords: &[
        "type",
        "title",
        "description",
        "default",
        "enum",
        "const",
        "format",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
    ],
    root_keywords: None,
    formats: Some(&[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
    ]),
    typed: true,
    closed: true,
    all_required: true,
    no_empty_object: false,
    refs: Refs::Keep,
    types: Types::List,
    string_enum: false,
    items_verbatim: false,
    max_min_items: None,
    ceilings: Some((10, 5000)),
};

/// As `OPENAI`, without lengths, maps, untyped values and empty nested objects
/// (`docs/dialects/deepseek.md#tools`).
const DEEPSEEK: Rules = Rules {
    name: "DeepSeek's strict schemas",
    keywords: &[
        "type",
        "title",
        "description",
        "default",
        "enum",
        "const",
        "format",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "anyOf",
    ],
    formats: Some(&["email", "hostname", "ipv4", "ipv6", "uuid"]),
    no_empty_object: true,
    refs: Refs::Inline,
    types: Types::ScalarList,
    ceilings: None,
    ..OPENAI
};

/// Closed objects, optional properties stay optional, no bounds, no recursion
/// (`docs/dialects/anthropic.md#tools`).
const ANTHROPIC: Rules = Rules {
    name: "Anthropic's strict schemas",
    keywords: &[
        "type",
        "title",
        "description",
        "default",
        "enum",
        "const",
        "format",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
    ],
    formats: Some(&[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ]),
    all_required: false,
    refs: Refs::Acyclic,
    types: Types::Branches,
    max_min_items: Some(1),
    ceilings: None,
    ..OPENAI
};

/// The fields of `parameters`, without `additionalProperties`, which the Developer API refuses
/// (`docs/dialects/gemini.md#tools`).
const GEMINI: Rules = Rules {
    name: "Gemini's OpenAPI schemas",
    enforced: false,
    keywords: &[
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "propertyOrdering",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "default",
        "anyOf",
        "ref",
        "defs",
    ],
    formats: None,
    closed: false,
    all_required: false,
    refs: Refs::Inline,
    types: Types::Flag,
    string_enum: true,
    ceilings: None,
    ..OPENAI
};

/// The fields of the server's structs; `items` and `$defs` are kept unchanged
/// (`docs/dialects/ollama.md#tools`).
const OLLAMA: Rules = Rules {
    name: "Ollama's schemas",
    enforced: false,
    keywords: &["anyOf", "type", "items", "description", "enum", "properties", "required"],
    root_keywords: Some(&["type", "$defs", "items", "required", "properties"]),
    formats: None,
    typed: false,
    closed: false,
    all_required: false,
    refs: Refs::Inline,
    types: Types::List,
    items_verbatim: true,
    ceilings: None,
    ..OPENAI
};

impl Rules {
    /// How much it matters that a restriction is said in words, or left to what a model does anyway.
    pub(super) fn unenforced(&self) -> Severity {
        if self.enforced { Severity::Minor } else { Severity::Note }
    }

    /// Whether a keyword exists.
    pub(super) fn has(&self, keyword: &str, root: bool) -> bool {
        match self.root_keywords {
            Some(keywords) if root => keywords.contains(&keyword),
            _ => self.keywords.contains(&keyword),
        }
    }

    /// A type as it is written.
    pub(super) fn spell(&self, name: &str) -> String {
        match self.types {
            Types::Flag => name.to_ascii_uppercase(),
            _ => name.to_owned(),
        }
    }

    /// The keyword that a key means: proto-JSON readers take both spellings, and Google's own
    /// client sends `property_ordering` (`fixtures/gemini/captured/gemini_openapi_parameters.json`).
    pub(super) fn keyword<'k>(&self, key: &'k str) -> &'k str {
        if self.types != Types::Flag {
            return key;
        }
        match key {
            "any_of" => "anyOf",
            "property_ordering" => "propertyOrdering",
            "additional_properties" => "additionalProperties",
            "min_items" => "minItems",
            "max_items" => "maxItems",
            "min_length" => "minLength",
            "max_length" => "maxLength",
            "min_properties" => "minProperties",
            "max_properties" => "maxProperties",
            other => other,
        }
    }
}
