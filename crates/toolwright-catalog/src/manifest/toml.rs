//! TOML as JSON, with the keys in the order of the text.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toolwright_core::Json;
use toolwright_json::{Number, Object, pointer};

use super::ManifestFault;

/// Parses TOML.
pub(super) fn parse(text: &str) -> Result<Json, ManifestFault> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        ManifestFault::new("", format!("line {line} is not TOML: {}", error.message()))
    })?;
    convert_table(table.into_inner(), "")
}

fn convert_table(table: DeTable<'_>, at: &str) -> Result<Json, ManifestFault> {
    let mut members: Vec<_> = table.into_iter().collect();
    members.sort_by_key(|(key, _)| key.span().start);
    let mut object = Object::with_capacity(members.len());
    for (key, value) in members {
        let key = key.into_inner();
        let value = convert(value, &format!("{at}/{}", pointer::escape(&key)))?;
        object.push(key.into_owned(), value);
    }
    Ok(Json::Object(object))
}

fn convert(value: Spanned<DeValue<'_>>, at: &str) -> Result<Json, ManifestFault> {
    let fault = |what: &str| ManifestFault::new(at, format!("{what} has no form in JSON"));
    match value.into_inner() {
        DeValue::String(text) => Ok(Json::from(text.into_owned())),
        DeValue::Boolean(flag) => Ok(Json::Bool(flag)),
        DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
            .map(Json::from)
            .map_err(|_| fault("this number")),
        DeValue::Float(digits) => {
            let text = digits.as_str().trim_start_matches('+');
            Number::parse(text).map(Json::from).ok_or_else(|| fault("this number"))
        }
        DeValue::Datetime(_) => Err(fault("a date")),
        DeValue::Array(items) => {
            let items = items.into_iter().enumerate();
            let items = items.map(|(index, item)| convert(item, &format!("{at}/{index}")));
            items.collect::<Result<Vec<_>, _>>().map(Json::Array)
        }
        DeValue::Table(table) => convert_table(table, at),
    }
}
