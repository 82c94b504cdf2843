//! Checking a value against a JSON Schema: draft 2020-12 unless `$schema` says another, or nothing
//! is said and only an older draft knows what is written.
//!
//! A [`Check`] is compiled once and kept. The schema reaches the validator as a `serde_json` value,
//! the value stays our own exact tree (`instance`), and keywords that compare numbers do so by
//! their digits (`exact`). What the validator finds becomes a [`Violation`] (`explain`).
//!
//! Nothing is fetched: a reference that leaves the document is an error. `format` annotates.

mod exact;
mod expansion;
mod explain;
mod instance;
mod part;

use jsonschema::{Draft, PatternOptions, Validator};

use super::Violation;
use crate::json::{Index, Json, Number};
use expansion::Size;
pub(crate) use expansion::measure;
use instance::{Exact, Meter};
pub(crate) use part::{Part, Parts};

/// How many steps back a pattern may take before the text counts as not matching.
const MAX_BACKTRACKS: usize = 100_000;

/// How many bytes the compiled patterns of a schema may take together, and each of them.
const PATTERN_BYTES: usize = 64 * 1024 * 1024;
const ONE_PATTERN_BYTES: usize = 8 * 1024 * 1024;

/// How often a validator may look at a value and the values within it: this often for any value,
/// and so often for each value in it.
const LOOKS: (usize, usize) = (1_000_000, 256);

/// Maximum number of errors that a validator may find in a value.
const MAX_ERRORS: usize = 10_000;

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
    /// It is too large, too deep or not to be checked here
    #[error("the schema{} {reason}", at(path))]
    Limit {
        /// JSON Pointer into the schema
        path: String,
        /// What is wrong there, and what to do
        reason: &'static str,
    },
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at '{path}'") }
}

/// A schema that values can be checked against.
#[derive(Debug)]
pub struct Check {
    validator: Validator<Exact>,
    schema: Json,
    size: Size,
    /// Whether the schema holds a number that `serde_json` would round
    is_rounded: bool,
}

impl Check {
    /// Compiles a schema. One that is too large with its references followed is refused before that.
    pub fn compile(schema: &Json) -> Result<Check, SchemaError> {
        if !matches!(schema, Json::Object(_) | Json::Bool(_)) {
            let reason = format!("a schema is an object or a boolean, not {}", schema.kind());
            return Err(SchemaError::Invalid { path: String::new(), reason });
        }
        let size = measure(schema)?;
        let is_rounded = has_rounded(schema);
        let value = schema.to_value();
        let compile = |draft: Draft| {
            let built = options(draft, schema, size, is_rounded).build(&value);
            built.map_err(|error| explain::schema_error(&error))
        };
        let mut built = compile(Draft::Draft202012.detect(&value));
        if matches!(built, Err(SchemaError::Invalid { .. })) && value.get("$schema").is_none() {
            // Many schemas are of an older draft and do not say so.
            let mut older = [Draft::Draft7, Draft::Draft4].into_iter().map(compile);
            built = older.find(Result::is_ok).unwrap_or(built);
        }
        let validator = built?;
        Ok(Check { validator, schema: schema.clone(), size, is_rounded })
    }

    /// The schema as it was given.
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// Whether a value is what the schema asks for. Of a repeated key only one value may count:
    /// settle objects first.
    pub fn accepts(&self, value: &Json) -> bool {
        self.try_accepts(value).unwrap_or(false)
    }

    /// As [`Check::accepts`]; a violation if the value cannot be checked within bounds, which takes
    /// long to find out.
    pub(crate) fn try_accepts(&self, value: &Json) -> Result<bool, Violation> {
        accepted(&self.validator, value)
    }

    /// Every place where a value is not what the schema asks for, in the order of the value.
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        found(&self.validator, value, &self.schema)
    }
}

/// How schemas are compiled.
fn options<'i>(draft: Draft, schema: &Json, size: Size, is_rounded: bool) -> exact::Options<'i> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACKS)
        .size_limit((PATTERN_BYTES / size.patterns.max(1)).min(ONE_PATTERN_BYTES));
    let options = jsonschema::options_for::<Exact>()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns);
    match draft {
        Draft::Draft4 => options,
        _ => exact::register(options, schema, is_rounded),
    }
}

/// Whether a validator accepts a value; a violation if it cannot check it within bounds.
fn accepted(validator: &Validator<Exact>, value: &Json) -> Result<bool, Violation> {
    let meter = Meter::new(LOOKS.0, MAX_ERRORS);
    let accepted = validator.is_valid(meter.over(value));
    if !meter.is_spent() {
        return Ok(accepted);
    }
    // Seldom is a value so large that it is worth counting.
    let meter = Meter::new(looks(value), MAX_ERRORS);
    let accepted = validator.is_valid(meter.over(value));
    if meter.is_spent() { Err(too_much(&meter)) } else { Ok(accepted) }
}

/// What is wrong with a value that a validator could not check within bounds.
fn too_much(meter: &Meter) -> Violation {
    let message = if meter.has_too_many_errors() {
        "breaks its schema in too many places to list them"
    } else {
        "is too large or nested too deep for the unions of its schema to be checked"
    };
    Violation::new("", "limit", message)
}

/// How often a validator may look at a value.
fn looks(value: &Json) -> usize {
    fn count(value: &Json) -> usize {
        match value {
            Json::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Json::Object(object) => 1 + object.iter().map(|(_, value)| count(value)).sum::<usize>(),
            _ => 1,
        }
    }
    LOOKS.0 + LOOKS.1 * count(value)
}

/// What a validator finds wrong with a value, in the order of the value.
fn found(validator: &Validator<Exact>, value: &Json, schema: &Json) -> Vec<Violation> {
    let meter = Meter::new(looks(value), MAX_ERRORS);
    // Errors are gathered before they are explained: what comes when the meter is spent is void.
    let errors: Vec<_> = validator.iter_errors(meter.over(value)).collect();
    if meter.is_spent() {
        return vec![too_much(&meter)];
    }
    let (mut values, mut schemas) = (Index::new(value), Index::new(schema));
    let mut found: Vec<(Vec<usize>, Violation)> = errors
        .into_iter()
        .map(|error| {
            let violation = explain::violation(&error, &mut values, &mut schemas);
            (values.positions(&violation.path), violation)
        })
        .collect();
    found.sort_by(|(a, x), (b, y)| {
        let rest = (&x.schema_path, &x.message).cmp(&(&y.schema_path, &y.message));
        a.cmp(b).then(rest)
    });
    found.dedup_by(|(_, a), (_, b)| a == b);
    found.into_iter().map(|(_, violation)| violation).collect()
}

/// Whether a schema holds a number that `serde_json` would round.
fn has_rounded(schema: &Json) -> bool {
    match schema {
        Json::Number(number) => is_rounded(number),
        Json::Array(items) => items.iter().any(has_rounded),
        Json::Object(object) => object.iter().any(|(_, item)| has_rounded(item)),
        _ => false,
    }
}

fn is_rounded(number: &Number) -> bool {
    let nearest = number.nearest().to_string();
    crate::json::Decimal::new(&nearest) != number.decimal()
}
