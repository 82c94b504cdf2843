//! The subsets of JSON Schema that vendors accept, as data. Each constant cites the section of
//! `docs/dialects/` that states the subset with its source.

use crate::loss::Severity;
use crate::profile::Subset;

/// Groups of words.
type Words = &'static [&'static [&'static str]];

/// The part of JSON Schema that a vendor accepts.
#[derive(Debug)]
pub(super) struct Rules {
    /// The name of the rules, which begins each reason
    pub(super) name: &'static str,
    /// Whether the vendor enforces the schema. If not, a description is as effective as a keyword.
    pub(super) enforced: bool,
    /// The supported keywords, in groups
    pub(super) keywords: Words,
    /// The supported keywords at the root, if they differ
    pub(super) root_keywords: Option<Words>,
    /// The supported formats, in groups, if not all are
    pub(super) formats: Option<Words>,
    /// Whether every value needs a type, arrays need `items`, and keywords must apply to the type
    pub(super) typed: bool,
    /// Whether objects must have `additionalProperties: false`
    pub(super) closed: bool,
    /// Whether every property must be required, so that optional ones become nullable
    pub(super) all_required: bool,
    /// Whether an object below the root must have properties
    pub(super) no_empty_object: bool,
    /// How references are handled
    pub(super) refs: Refs,
    /// How several types are written
    pub(super) types: Types,
    /// Whether enumerations may contain only strings
    pub(super) string_enum: bool,
    /// Whether the schema of `items` is kept unchanged
    pub(super) items_verbatim: bool,
    /// Maximum `minItems`
    pub(super) max_min_items: Option<u64>,
    /// Maximum depth of objects and maximum number of properties
    pub(super) ceilings: Option<(usize, usize)>,
}

/// Whether a group has a word.
pub(super) fn has(groups: Words, word: &str) -> bool {
    groups.iter().any(|group| group.contains(&word))
}

/// How references are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refs {
    /// Kept, also recursive ones
    Keep,
    /// Kept unless recursive
    Acyclic,
    /// Inlined
    Inline,
}

/// How several types are written.
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

/// Returns the rules of a subset; none for all of JSON Schema.
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

/// Keywords of most subsets.
const COMMON: &[&str] = &[
    "type",
    "title",
    "description",
    "default",
    "enum",
    "format",
    "properties",
    "required",
    "items",
    "anyOf",
];
/// Further keywords of strict schemas.
const STRICT: &[&str] = &["const", "additionalProperties"];
/// Keywords that limit lengths.
const LENGTHS: &[&str] = &["minItems", "maxItems", "minLength", "maxLength"];
/// Keywords that limit texts and numbers.
const BOUNDS: &[&str] =
    &["pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
/// Keywords of references.
const REFERENCES: &[&str] = &["$ref", "$defs", "definitions"];
/// Formats of times.
const TIMES: &[&str] = &["date-time", "time", "date", "duration"];
/// Formats of addresses and ids.
const NAMES: &[&str] = &["email", "hostname", "ipv4", "ipv6", "uuid"];

/// Closed objects, all properties required, ceilings; bounds, `$defs` and recursion stay
/// (`docs/dialects/openai-chat.md#tools`).
const OPENAI: Rules = Rules {
    name: "OpenAI's strict schemas",
    enforced: true,
    keywords: &[COMMON, STRICT, LENGTHS, BOUNDS, REFERENCES],
    root_keywords: None,
    formats: Some(&[TIMES, NAMES]),
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

/// Like `OPENAI`, without lengths, maps, untyped values and empty nested objects
/// (`docs/dialects/deepseek.md#tools`).
const DEEPSEEK: Rules = Rules {
    name: "DeepSeek's strict schemas",
    keywords: &[COMMON, STRICT, BOUNDS],
    formats: Some(&[NAMES]),
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
    keywords: &[COMMON, STRICT, &["minItems"], REFERENCES],
    formats: Some(&[TIMES, NAMES, &["uri"]]),
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
        COMMON,
        LENGTHS,
        &[
            "nullable",
            "propertyOrdering",
            "minProperties",
            "maxProperties",
            "minimum",
            "maximum",
            "pattern",
            "example",
            "ref",
            "defs",
        ],
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
    keywords: &[&["anyOf", "type", "items", "description", "enum", "properties", "required"]],
    root_keywords: Some(&[&["type", "$defs", "items", "required", "properties"]]),
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
    /// Returns the severity of a constraint that is only described as text, or not needed in
    /// practice.
    pub(super) fn unenforced(&self) -> Severity {
        if self.enforced { Severity::Minor } else { Severity::Note }
    }

    /// Whether a keyword is supported.
    pub(super) fn has(&self, keyword: &str, root: bool) -> bool {
        has(self.root_keywords.filter(|_| root).unwrap_or(self.keywords), keyword)
    }

    /// Returns a type in the vendor's notation.
    pub(super) fn spell(&self, name: &str) -> String {
        match self.types {
            Types::Flag => name.to_ascii_uppercase(),
            _ => name.to_owned(),
        }
    }

    /// Returns the keyword of a key: proto-JSON readers accept both notations, and Google's own
    /// client sends `property_ordering`
    /// (`fixtures/gemini/captured/gemini_openapi_parameters.json`).
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
