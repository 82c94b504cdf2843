//! Checks values against a JSON Schema: draft 2020-12, unless `$schema` says another, or the schema
//! is valid only in an older draft.
//!
//! A [`Check`] is compiled once. The validator gets the schema as a `serde_json` value, and the
//! value as our exact tree (`instance`); keywords that compare numbers compare their digits
//! (`exact`). Each error of the validator becomes a [`Violation`] (`explain`).
//!
//! Nothing is fetched: a reference outside of the document is an error. `format` is an annotation.

mod exact;
mod expansion;
mod explain;
mod instance;
mod part;

use jsonschema::{Draft, PatternOptions, Validator};
use toolwright_json::{Index, Json, Number};

use super::Violation;
use expansion::Size;
pub(crate) use expansion::measure;
use instance::{Exact, Meter};
pub(crate) use part::{Part, Parts};

/// Maximum number of backtracking steps of a pattern, after which a text does not match.
const MAX_BACKTRACKS: usize = 100_000;

/// Maximum size of the compiled patterns of a schema in bytes, in total and each.
const PATTERN_BYTES: usize = 64 * 1024 * 1024;
const ONE_PATTERN_BYTES: usize = 8 * 1024 * 1024;

/// Maximum number of visits of a validator to a value: a constant, plus a number for each value in
/// it.
const LOOKS: (usize, usize) = (1_000_000, 256);

/// Maximum number of errors that a validator reports for a value.
const MAX_ERRORS: usize = 10_000;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not valid in its draft
    #[error("not a JSON Schema at '{path}': {reason}")]
    Invalid {
        /// JSON Pointer into the schema
        path: String,
        /// What is wrong there
        reason: String,
    },
    /// It has an unresolvable reference
    #[error("{reason}; references must stay within the schema, nothing is fetched")]
    Reference {
        /// The reference, and why it cannot be resolved
        reason: String,
    },
    /// It is too large, too deep or not supported
    #[error("the schema{} {reason}", at(path))]
    Limit {
        /// JSON Pointer into the schema
        path: String,
        /// The problem and the remedy
        reason: &'static str,
    },
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at '{path}'") }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Check {
    validator: Validator<Exact>,
    schema: Json,
    size: Size,
    /// Whether the schema contains a number that `serde_json` would round
    is_rounded: bool,
}

impl Check {
    /// Compiles a schema. One that is too large after resolving references is refused.
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
            // Many schemas of an older draft do not declare it.
            let mut older = [Draft::Draft7, Draft::Draft4].into_iter().map(compile);
            built = older.find(Result::is_ok).unwrap_or(built);
        }
        let validator = built?;
        Ok(Check { validator, schema: schema.clone(), size, is_rounded })
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// Returns the draft that the schema was compiled with.
    pub(super) fn draft(&self) -> Draft {
        self.validator.draft()
    }

    /// Whether a value is valid. Remove repeated keys first, because only one of their values can
    /// count.
    pub fn accepts(&self, value: &Json) -> bool {
        self.try_accepts(value).unwrap_or(false)
    }

    /// Like [`Check::accepts`]; an error if the value cannot be checked within the limits, which
    /// takes long to determine.
    pub(crate) fn try_accepts(&self, value: &Json) -> Result<bool, Violation> {
        accepted(&self.validator, value)
    }

    /// Returns all violations of a value, in the order of the value.
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        found(&self.validator, value, &self.schema)
    }
}

/// Returns the compile options.
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

/// Whether a validator accepts a value; an error if it exceeds the limits.
fn accepted(validator: &Validator<Exact>, value: &Json) -> Result<bool, Violation> {
    let meter = Meter::new(LOOKS.0, MAX_ERRORS);
    let accepted = validator.is_valid(meter.over(value));
    if !meter.is_spent() {
        return Ok(accepted);
    }
    // Only large values are metered.
    let meter = Meter::new(looks(value), MAX_ERRORS);
    let accepted = validator.is_valid(meter.over(value));
    if meter.is_spent() { Err(too_much(&meter)) } else { Ok(accepted) }
}

/// Returns the violation for a value that exceeded the limits.
fn too_much(meter: &Meter) -> Violation {
    let message = if meter.has_too_many_errors() {
        "breaks its schema in too many places to list them"
    } else {
        "is too large or nested too deep for the unions of its schema to be checked"
    };
    Violation::new("", "limit", message)
}

/// Returns the maximum number of visits for a value.
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

/// Returns the violations that a validator finds, in the order of the value.
fn found(validator: &Validator<Exact>, value: &Json, schema: &Json) -> Vec<Violation> {
    let meter = Meter::new(looks(value), MAX_ERRORS);
    // Errors are collected before they are explained: those after the meter is spent are invalid.
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

/// Whether a schema contains a number that `serde_json` would round.
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
    toolwright_json::Decimal::new(&nearest) != number.decimal()
}
