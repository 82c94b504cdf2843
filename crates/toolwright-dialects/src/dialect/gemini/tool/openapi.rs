//! Converts the OpenAPI subset of `parameters`, `response` and `responseSchema` to JSON Schema.
//!
//! The reverse is not needed: encoding uses the fields for JSON Schema. A schema in the subset is
//! stored with its conversion and encoded again if both still agree.

use toolwright_core::Extra;
use toolwright_json::{Json, Key, Number, Object, object};

use crate::codec::Fields;
use crate::dialect::gemini::wire::{self, DIALECT};

/// A pair of fields, of which one may be set: JSON Schema, the subset, and the key of the subset
/// among extra fields.
pub(in crate::dialect::gemini) type Pair = (&'static str, &'static str, &'static str);

/// Takes a schema from either field of a pair, with its original if it was in the subset.
pub(in crate::dialect::gemini) fn take(
    fields: &mut Fields<'_>,
    pair: Pair,
) -> (Option<Json>, Option<(Key, Json)>) {
    let (full, subset, note) = pair;
    if let Some(schema) = fields.take(full) {
        return (Some(schema), None);
    }
    match fields.take(subset) {
        Some(original) => (Some(read(&original)), Some((note.into(), original))),
        None => (None, None),
    }
}

/// Encodes a schema into the field that it came from.
pub(in crate::dialect::gemini) fn put(
    object: &mut Object,
    pair: Pair,
    schema: &Json,
    extra: &Extra,
) {
    let (full, subset, note) = pair;
    match extra.get(DIALECT, note).filter(|original| read(original) == *schema) {
        Some(original) => object.insert(subset, original.clone()),
        None => object.insert(full, schema.clone()),
    }
}

/// Converts a schema of the subset: lower-case types, `nullable` as a type, properties in the order
/// of `propertyOrdering`, integers that proto-JSON writes as strings.
pub(in crate::dialect::gemini) fn read(wire: &Json) -> Json {
    let Json::Object(wire) = wire else { return wire.clone() };
    let mut out = Object::new();
    let (mut nullable, mut order) = (false, None);
    for (key, value) in wire.iter() {
        let known = wire::camel(key).into_owned();
        let value = match known.as_str() {
            "nullable" => {
                nullable = value.as_bool() == Some(true);
                continue;
            }
            "propertyOrdering" => {
                order = value.as_array();
                continue;
            }
            "type" => match type_word(value) {
                Some("TYPE_UNSPECIFIED") => continue,
                Some(word) => word.to_lowercase().into(),
                None => value.clone(),
            },
            "items" | "additionalProperties" => read(value),
            "properties" | "defs" | "$defs" => members(value),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => items(value),
            "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minLength"
            | "maxLength" => number_or_same(value),
            "ref" => match value.as_str() {
                Some(target) => target.replacen("#/defs/", "#/$defs/", 1).into(),
                None => value.clone(),
            },
            "example" => Json::Array(vec![value.clone()]),
            _ => {
                out.insert(key.to_owned(), value.clone());
                continue;
            }
        };
        let known = match known.as_str() {
            "defs" => "$defs".to_owned(),
            "ref" => "$ref".to_owned(),
            "example" => "examples".to_owned(),
            _ => known,
        };
        out.insert(known, value);
    }
    if let (Some(order), Some(Json::Object(properties))) = (order, out.get_mut("properties")) {
        sort(properties, order);
    }
    if nullable {
        admit_null(&mut out);
    }
    Json::Object(out)
}

/// Returns the name of a type, which may be a number.
fn type_word(value: &Json) -> Option<&str> {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    value.as_str().or_else(|| wire::TYPE_NUMBERS.get(number?).copied())
}

/// Converts the schemas of a map.
fn members(value: &Json) -> Json {
    let Json::Object(object) = value else { return value.clone() };
    Json::Object(object.iter().map(|(name, own)| (name.to_owned().into(), read(own))).collect())
}

/// Converts the schemas of a list.
fn items(value: &Json) -> Json {
    match value {
        Json::Array(own) => Json::Array(own.iter().map(read).collect()),
        other => other.clone(),
    }
}

fn number_or_same(value: &Json) -> Json {
    value.as_str().and_then(Number::parse).map_or_else(|| value.clone(), Json::Number)
}

fn sort(properties: &mut Object, order: &[Json]) {
    let mut rest = std::mem::take(properties);
    for name in order.iter().filter_map(Json::as_str) {
        if let Some(own) = rest.remove(name) {
            properties.push(name.to_owned(), own);
        }
    }
    for (name, own) in rest {
        properties.push(name, own);
    }
}

/// Adds null to the accepted values.
fn admit_null(schema: &mut Object) {
    if let Some(kind @ Json::String(_)) = schema.get_mut("type") {
        let own = std::mem::take(kind);
        *kind = Json::Array(vec![own, "null".into()]);
    } else if let Some(Json::Array(choices)) = schema.get_mut("anyOf") {
        choices.push(Json::Object(object! {"type": "null"}));
    }
    if let Some(Json::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Json::Null)
    {
        values.push(Json::Null);
    }
}
