//! Checking a value against a JSON Schema: draft 2020-12 unless `$schema` says another, or nothing
//! is said and only an older draft knows what is written.
//!
//! A [`Check`] is compiled once and kept. The schema reaches the validator as a `serde_json` value,
//! the value stays our own exact tree (`instance`), and keywords that compare numbers do so by
//! their digits (`exact`). What the validator finds becomes a [`Violation`] (`explain`).
//!
//! Nothing is fetched: a reference that leaves the document is an error. `format` annotates.

mod exact;
mod explain;
mod instance;
mod part;

use jsonschema::{Draft, PatternOptions, Validator};

use super::Violation;
use crate::json::{Json, Number};
use instance::{Exact, Meter};
pub(crate) use part::{Part, Parts};

/// How many values a schema may hold.
const MAX_SIZE: usize = 200_000;

/// How many steps back a pattern may take before the text counts as not matching.
const MAX_BACKTRACKS: usize = 100_000;

/// How often a validator may look at the arrays and objects of a value: this often for any value,
/// and so often for each array and object in it.
const LOOKS: (usize, usize) = (100_000, 64);

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not a schema by its draft
    #[error("not a JSON Schema at '{path}': {reason}")]
    Invalid {
        /// JSON Pointer into the schema
        path: String,
        /// What is wrong there
        reason: String,
    },
    /// It refers to what is not in the document
    #[error("{reason}; references must stay within the schema, nothing is fetched")]
    Reference {
        /// Which one, and why it cannot be followed
        reason: String,
    },
    /// It is too large, too deep or says what cannot be checked exactly
    #[error("the schema {0}")]
    Limit(&'static str),
}

/// A schema that values can be checked against.
#[derive(Debug)]
pub struct Check {
    validator: Validator<Exact>,
    schema: Json,
    /// Whether the schema holds a number that `serde_json` would round
    is_rounded: bool,
}

impl Check {
    /// Compiles a schema.
    pub fn compile(schema: &Json) -> Result<Check, SchemaError> {
        if !matches!(schema, Json::Object(_) | Json::Bool(_)) {
            let reason = format!("a schema is an object or a boolean, not {}", schema.kind());
            return Err(SchemaError::Invalid { path: String::new(), reason });
        }
        let mut survey = Survey::default();
        survey.visit(schema, 0)?;
        let value = schema.to_value();
        let compile = |draft: Draft| {
            let built = options(draft, schema, survey.rounded).build(&value);
            built.map_err(|error| explain::schema_error(&error))
        };
        let mut built = compile(Draft::Draft202012.detect(&value));
        if matches!(built, Err(SchemaError::Invalid { .. })) && value.get("$schema").is_none() {
            // Many schemas are of an older draft and do not say so.
            let mut older = [Draft::Draft7, Draft::Draft4].into_iter().map(compile);
            built = older.find(Result::is_ok).unwrap_or(built);
        }
        let validator = built?;
        Ok(Check { validator, schema: schema.clone(), is_rounded: survey.rounded })
    }

    /// The schema as it was given.
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// Whether a value is what the schema asks for. Of a repeated key only one value may count:
    /// settle objects first.
    pub fn accepts(&self, value: &Json) -> bool {
        accepted(&self.validator, value)
    }

    /// Every place where a value is not what the schema asks for, in the order of the value.
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        found(&self.validator, value, &self.schema)
    }
}

/// How schemas are compiled.
fn options<'i>(draft: Draft, schema: &Json, is_rounded: bool) -> exact::Options<'i> {
    let options = jsonschema::options_for::<Exact>()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS));
    match draft {
        Draft::Draft4 => options,
        _ => exact::register(options, schema, is_rounded),
    }
}

/// Whether a validator accepts a value. One that it cannot check within bounds is not accepted.
fn accepted(validator: &Validator<Exact>, value: &Json) -> bool {
    let meter = Meter::new(LOOKS.0);
    let accepted = validator.is_valid(meter.over(value));
    if !meter.is_spent() {
        return accepted;
    }
    // Seldom is a value so large that it is worth counting.
    let meter = Meter::new(looks(value));
    validator.is_valid(meter.over(value)) && !meter.is_spent()
}

/// How often a validator may look at a value.
fn looks(value: &Json) -> usize {
    fn count(value: &Json) -> usize {
        match value {
            Json::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Json::Object(object) => 1 + object.iter().map(|(_, value)| count(value)).sum::<usize>(),
            _ => 0,
        }
    }
    LOOKS.0 + LOOKS.1 * count(value)
}

/// What a validator finds wrong with a value, in the order of the value.
fn found(validator: &Validator<Exact>, value: &Json, schema: &Json) -> Vec<Violation> {
    let meter = Meter::new(looks(value));
    // Errors are gathered before they are explained: what comes when the meter is spent is void.
    let errors: Vec<_> = validator.iter_errors(meter.over(value)).collect();
    if meter.is_spent() {
        let message = "is nested too deep for the unions of its schema to be checked";
        return vec![Violation::new("", "limit", message)];
    }
    let mut found: Vec<(Vec<usize>, Violation)> = errors
        .into_iter()
        .map(|error| explain::violation(&error, value, schema))
        .map(|violation| (order(value, &violation.path), violation))
        .collect();
    found.sort_by(|(a, x), (b, y)| {
        let rest =
            |violation: &Violation| (violation.schema_path.clone(), violation.message.clone());
        a.cmp(b).then_with(|| rest(x).cmp(&rest(y)))
    });
    found.dedup_by(|(_, a), (_, b)| a == b);
    found.into_iter().map(|(_, violation)| violation).collect()
}

/// The place of a pointer in writing order.
fn order(value: &Json, pointer: &str) -> Vec<usize> {
    let mut here = Some(value);
    let mut places = Vec::new();
    for segment in pointer.split('/').skip(1) {
        let key = segment.replace("~1", "/").replace("~0", "~");
        let (place, next) = match here {
            Some(Json::Object(object)) => {
                (object.keys().position(|own| own == key), object.get(&key))
            }
            Some(Json::Array(items)) => {
                let index = key.parse::<usize>().ok();
                (index, index.and_then(|index| items.get(index)))
            }
            _ => (None, None),
        };
        places.push(place.unwrap_or(usize::MAX));
        here = next;
    }
    places
}

/// What must be known of a schema before it is handed over.
#[derive(Default)]
struct Survey {
    size: usize,
    /// Whether it holds a number that `serde_json` would round
    rounded: bool,
}

impl Survey {
    fn visit(&mut self, value: &Json, depth: usize) -> Result<(), SchemaError> {
        self.size += 1;
        if self.size > MAX_SIZE {
            return Err(SchemaError::Limit("is too large"));
        }
        if depth > crate::json::MAX_DEPTH {
            return Err(SchemaError::Limit("is nested too deep"));
        }
        match value {
            Json::Number(number) => self.rounded |= is_rounded(number),
            Json::Array(items) => {
                for item in items {
                    self.visit(item, depth + 1)?;
                }
            }
            Json::Object(object) => {
                for (_, item) in object.iter() {
                    self.visit(item, depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_rounded(number: &Number) -> bool {
    let nearest = number.nearest().to_string();
    crate::json::Decimal::new(&nearest) != number.decimal()
}
