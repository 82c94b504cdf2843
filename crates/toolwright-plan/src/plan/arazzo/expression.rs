//! Runtime expressions, and values that have them.

use toolwright_core::schema::expand;
use toolwright_core::wire_json::key;
use toolwright_json::pointer::{escape, segments};
use toolwright_json::{Json, Key};

use crate::plan::template::{Reference, ReferenceForm, Source, Template};

/// A runtime expression that plans understand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression<'t> {
    /// `$inputs.NAME#POINTER`
    Input { name: &'t str, pointer: &'t str },
    /// `$steps.STEP.outputs.OUTPUT#POINTER`
    Output { step: &'t str, output: &'t str, pointer: &'t str },
    /// `$response.body#POINTER`
    Body { pointer: &'t str },
}

impl<'t> Expression<'t> {
    /// Parses an expression that is a whole text.
    pub(super) fn parse(text: &'t str) -> Option<Expression<'t>> {
        let (head, pointer) = match text.split_once('#') {
            Some((head, pointer)) => (head, pointer),
            None => (text, ""),
        };
        if !is_pointer(pointer) {
            return None;
        }
        if head == "$response.body" {
            return Some(Expression::Body { pointer });
        }
        if let Some(name) = head.strip_prefix("$inputs.") {
            return is_name(name).then_some(Expression::Input { name, pointer });
        }
        let (step, output) = head.strip_prefix("$steps.")?.split_once(".outputs.")?;
        (is_strict_name(step) && is_name(output)).then_some(Expression::Output {
            step,
            output,
            pointer,
        })
    }
}

/// Whether a text is a runtime expression, or has one in it.
pub(super) fn is_dynamic(text: &str) -> bool {
    const STARTS: [&str; 13] = [
        "$url",
        "$method",
        "$statusCode",
        "$request.",
        "$response.",
        "$message.",
        "$inputs.",
        "$outputs.",
        "$steps.",
        "$workflows.",
        "$sourceDescriptions.",
        "$components.",
        "$self",
    ];
    STARTS.iter().any(|start| text.starts_with(start)) || text.contains("{$")
}

/// Whether an object would be read as a selector.
pub(super) fn is_selector(value: &Json) -> bool {
    let Json::Object(members) = value else { return false };
    ["context", "selector", "type"].iter().all(|name| members.contains_key(name))
}

/// Whether a text can be the name of an input or an output.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(letter))
}

/// Whether a text can be the id of a step or a workflow.
pub(super) fn is_strict_name(text: &str) -> bool {
    is_name(text) && !text.contains('.')
}

/// Whether a text is a JSON Pointer that can be in an expression.
pub(super) fn is_pointer(pointer: &str) -> bool {
    (pointer.is_empty() || pointer.starts_with('/'))
        && !pointer.contains(['{', '}'])
        && pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']))
}

/// Whether an expression can say where the value of a reference comes from.
fn is_expressible(reference: &Reference, inputs: Option<&Json>) -> bool {
    if !is_pointer(&reference.pointer) {
        return false;
    }
    match &reference.source {
        Source::Step(_) => true,
        Source::Inputs => segments(&reference.pointer).next().is_some_and(|name| {
            // A dot may also separate members.
            is_name(&name) && (!name.contains('.') || declares(inputs, &name))
        }),
        Source::Item | Source::Index => false,
    }
}

/// Whether a schema of inputs has a property.
fn declares(inputs: Option<&Json>, name: &str) -> bool {
    let schemas = inputs.map(|inputs| expand(inputs, vec![inputs])).unwrap_or_default();
    schemas.iter().any(|schema| schema.get("properties").is_some_and(|own| own.get(name).is_some()))
}

/// Returns what Arazzo can express of a value: references without defaults and forms, and null in place
/// of what would be understood otherwise.
pub(super) fn expressible(template: &Template, inputs: Option<&Json>) -> Template {
    match template {
        Template::Literal(value) => Template::Literal(expressible_literal(value)),
        Template::Reference(reference) if is_expressible(reference, inputs) => {
            Template::Reference(Box::new(Reference {
                form: ReferenceForm::Value,
                default: None,
                ..(**reference).clone()
            }))
        }
        Template::Reference(_) => Template::Literal(Json::Null),
        Template::Array(items) => {
            Template::array(items.iter().map(|item| expressible(item, inputs)).collect())
        }
        Template::Object(members) => {
            let names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
            if ["context", "selector", "type"].iter().all(|name| names.contains(name)) {
                Template::Literal(Json::Null)
            } else {
                let member =
                    |(name, value): &(Key, Template)| (name.clone(), expressible(value, inputs));
                Template::object(members.iter().map(member).collect())
            }
        }
    }
}

fn expressible_literal(value: &Json) -> Json {
    match value {
        Json::String(text) if is_dynamic(text) => Json::Null,
        value if is_selector(value) => Json::Null,
        Json::Array(items) => Json::Array(items.iter().map(expressible_literal).collect()),
        Json::Object(members) => {
            let member = |(name, value): (&str, &Json)| (key(name), expressible_literal(value));
            Json::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

/// Writes an expressible value, with an expression for each reference.
pub(super) fn encode(template: &Template, expression: &dyn Fn(&Reference) -> String) -> Json {
    match template {
        Template::Literal(value) => value.clone(),
        Template::Reference(reference) => Json::from(expression(reference)),
        Template::Array(items) => {
            Json::Array(items.iter().map(|item| encode(item, expression)).collect())
        }
        Template::Object(members) => {
            let member =
                |(name, value): &(Key, Template)| (name.clone(), encode(value, expression));
            Json::Object(members.iter().map(member).collect())
        }
    }
}

/// Returns the reference to an input.
pub(super) fn input_reference(name: &str, pointer: &str, inputs: Option<&Json>) -> Reference {
    let path = match name.split_once('.') {
        Some((first, rest)) if !declares(inputs, name) && declares(inputs, first) => {
            format!("/{first}/{}", rest.replace('.', "/"))
        }
        _ => format!("/{}", escape(name)),
    };
    Reference::new(Source::Inputs, path + pointer)
}
