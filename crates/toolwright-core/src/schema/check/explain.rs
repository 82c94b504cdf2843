//! Converts errors of the validator to [`Violation`]s.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use toolwright_json::{Index, Json};

use super::SchemaError;
use crate::schema::Violation;
use crate::schema::describe::{describe, quote};
use crate::schema::walk::{Holds, holds};
use crate::suggest;

/// Maximum size of a shown value, in bytes.
const MAX_SHOWN_BYTES: usize = 80;

/// Converts the error of a schema that does not compile.
pub(super) fn schema_error(error: &ValidationError<'_>) -> SchemaError {
    match error.kind() {
        Kind::Referencing(reason) => SchemaError::Reference { reason: reason.to_string() },
        _ => SchemaError::Invalid {
            path: error.instance_path().to_string(),
            reason: error.to_string(),
        },
    }
}

/// Converts an error, with the value and the schema.
pub(super) fn violation(
    error: &ValidationError<'_>,
    values: &mut Index<'_>,
    schemas: &mut Index<'_>,
) -> Violation {
    let schema_path = error.schema_path().as_str();
    let keyword = keyword(schema_path).unwrap_or_else(|| error.kind().keyword());
    let mut path = error.instance_path().as_str();
    if is_rest(keyword) && matches!(error.kind(), Kind::FalseSchema) {
        // The array has too many items; none of them is invalid by itself.
        path = path.rsplit_once('/').map_or(path, |(array, _)| array);
    }
    let finding = Finding {
        kind: error.kind(),
        keyword,
        place: values.get(path).unwrap_or(&Json::Null),
        rule: schemas.get(schema_path),
        around: schema_path.rsplit_once('/').and_then(|(parent, _)| schemas.get(parent)),
        schema: schemas.root(),
    };
    let (message, accepted) = finding.explain();
    Violation {
        path: path.to_owned(),
        keyword: keyword.to_owned(),
        message,
        got: finding.got(),
        accepted,
        schema_path: schema_path.to_owned(),
    }
}

/// Returns the last keyword in a schema path, which also has names and indexes.
fn keyword(schema_path: &str) -> Option<&str> {
    let mut last = None;
    let mut segments = schema_path.split('/').skip(1);
    while let Some(segment) = segments.next() {
        last = Some(segment);
        if matches!(holds(segment), Holds::Named | Holds::Schemas)
            || matches!(segment, "dependentRequired" | "dependencies")
        {
            segments.next();
        }
    }
    last
}

/// Whether a keyword applies to the items that no other keyword names.
fn is_rest(keyword: &str) -> bool {
    matches!(keyword, "items" | "additionalItems" | "unevaluatedItems")
}

/// One error and its context.
struct Finding<'f> {
    kind: &'f Kind,
    keyword: &'f str,
    /// The invalid value
    place: &'f Json,
    /// The value of the keyword
    rule: Option<&'f Json>,
    /// The schema that contains the keyword
    around: Option<&'f Json>,
    schema: &'f Json,
}

impl Finding<'_> {
    /// Returns a sentence, and what is accepted.
    fn explain(&self) -> (String, Option<Json>) {
        let rule = || self.rule.cloned();
        let limit = || self.rule.map(Json::to_string).unwrap_or_default();
        match self.kind {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                return (format!("{} is missing", quote(name)), Some(Json::from(name)));
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => return self.unexpected(unexpected),
            Kind::OneOfMultipleValid { .. } => {
                let message = "fits more than one alternative and must fit exactly one".into();
                return (message, self.branches());
            }
            Kind::PropertyNames { .. } => {
                return ("has a member whose name is not accepted".into(), rule());
            }
            Kind::FalseSchema if !is_rest(self.keyword) => {
                return ("is not allowed here".into(), None);
            }
            Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
                return ("is too hard to match with the pattern".into(), rule());
            }
            _ => {}
        }
        match self.keyword {
            "type" => {
                let wanted = self.rule.map(types).unwrap_or_default();
                (format!("must be {wanted}, not {}", self.came()), rule())
            }
            "enum" => {
                let names = self.rule.and_then(Json::as_array).unwrap_or_default();
                let near = self
                    .place
                    .as_str()
                    .and_then(|text| suggest(text, names.iter().filter_map(Json::as_str)));
                (format!("must be one of the accepted values{}", meant(near)), rule())
            }
            "const" => ("must be the accepted value".into(), rule()),
            "pattern" => (format!("must match the pattern {}", limit()), rule()),
            "minLength" => (format!("must have at least {} characters", limit()), rule()),
            "maxLength" => (format!("must have at most {} characters", limit()), rule()),
            "minimum" => (format!("must be at least {}", limit()), rule()),
            "maximum" => (format!("must be at most {}", limit()), rule()),
            "exclusiveMinimum" => (format!("must be more than {}", limit()), rule()),
            "exclusiveMaximum" => (format!("must be less than {}", limit()), rule()),
            "multipleOf" => (format!("must be a multiple of {}", limit()), rule()),
            "minItems" => (format!("must have at least {} items", limit()), rule()),
            "maxItems" => (format!("must have at most {} items", limit()), rule()),
            "uniqueItems" => ("must not have an item twice".into(), None),
            "minProperties" => (format!("must have at least {} members", limit()), rule()),
            "maxProperties" => (format!("must have at most {} members", limit()), rule()),
            "anyOf" | "oneOf" => ("fits none of the alternatives".into(), self.branches()),
            "not" => ("must not be what the schema excludes".into(), None),
            "contains" | "minContains" | "maxContains" => {
                let wanted = self.around.and_then(|around| around.get("contains"));
                let wanted = wanted.map(|wanted| describe(wanted, self.schema));
                ("must contain the right number of matching items".into(), wanted.map(Json::from))
            }
            keyword if is_rest(keyword) => ("has more items than are accepted".into(), None),
            _ => (format!("does not satisfy {}", quote(self.keyword)), None),
        }
    }

    /// Describes unknown names.
    fn unexpected(&self, names: &[String]) -> (String, Option<Json>) {
        let known = self.around.and_then(|around| around.get("properties"));
        let known: Vec<&str> =
            known.and_then(Json::as_object).map(|known| known.keys().collect()).unwrap_or_default();
        let mut told: Vec<String> = names
            .iter()
            .take(8)
            .map(|name| format!("{}{}", quote(name), meant(suggest(name, known.iter().copied()))))
            .collect();
        if names.len() > told.len() {
            told.push(format!("{} more", names.len() - told.len()));
        }
        let message = format!("has no place for {}", told.join(", "));
        (message, Some(Json::from(known)))
    }

    /// Describes the branches of a union.
    fn branches(&self) -> Option<Json> {
        let branches = self.rule?.as_array()?;
        let texts = branches.iter().map(|branch| describe(branch, self.schema));
        Some(Json::Array(texts.map(Json::from).collect()))
    }

    /// Returns the type of the value.
    fn came(&self) -> &'static str {
        match self.place {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(number) if number.is_integer() => "an integer",
            Json::Number(_) => "a number with a fraction",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }

    /// Returns the value if it is short, or else its type; none for a missing value.
    fn got(&self) -> Option<Json> {
        match (self.kind, self.place) {
            (Kind::Required { .. }, _) => None,
            (
                Kind::AdditionalProperties { unexpected }
                | Kind::UnevaluatedProperties { unexpected },
                _,
            ) => Some(Json::Array(unexpected.iter().map(|name| Json::from(quote(name))).collect())),
            (_, Json::Null | Json::Bool(_)) => Some(self.place.clone()),
            (_, Json::String(text)) if text.len() <= MAX_SHOWN_BYTES => Some(self.place.clone()),
            (_, Json::Number(number)) if number.as_str().len() <= MAX_SHOWN_BYTES => {
                Some(self.place.clone())
            }
            (_, place) => Some(Json::from(place.kind())),
        }
    }
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean {}?)", quote(near))).unwrap_or_default()
}

/// Describes `type`.
fn types(rule: &Json) -> String {
    let article = |name: &str| match name {
        "null" => "null".to_owned(),
        "array" | "object" | "integer" => format!("an {name}"),
        other => format!("a {other}"),
    };
    match rule {
        Json::String(name) => article(name),
        Json::Array(list) => {
            let words: Vec<String> = list.iter().filter_map(Json::as_str).map(article).collect();
            words.join(" or ")
        }
        _ => "of another type".into(),
    }
}
