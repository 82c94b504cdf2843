//! Keywords that compare numbers by digits. The validator's own would round a limit or a value of
//! more than seventeen digits to the nearest double, and do not support `1e400`.

use std::cmp::Ordering;
use std::sync::Arc;

use jsonschema::paths::Location;
use jsonschema::{Keyword, Retrieve, ValidationError, ValidationOptions};
use serde_json::Value;
use toolwright_json::{Json, Number};

use super::instance::{Exact, Metered};

pub(super) type Options<'i> = ValidationOptions<'i, Arc<dyn Retrieve>, Exact>;
type Compiled<'a> = Result<Box<dyn for<'i> Keyword<'i, Exact>>, ValidationError<'a>>;

/// The relation of a number to a limit.
#[derive(Debug, Clone, Copy)]
enum Relation {
    Least,
    Most,
    Above,
    Below,
    Multiple,
}

const RELATIONS: [(&str, Relation); 5] = [
    ("minimum", Relation::Least),
    ("maximum", Relation::Most),
    ("exclusiveMinimum", Relation::Above),
    ("exclusiveMaximum", Relation::Below),
    ("multipleOf", Relation::Multiple),
];

/// Registers exact keywords in place of the validator's own.
pub(super) fn register<'i>(mut options: Options<'i>, schema: &Json, rounded: bool) -> Options<'i> {
    // Most schemas contain no number that the validator would round.
    let source = rounded.then(|| Arc::new(schema.clone()));
    for (name, relation) in RELATIONS {
        let source = source.clone();
        options = options.with_keyword(name, move |_, value, location| {
            compile_bound(relation, value, &location, source.as_deref())
        });
    }
    if let Some(source) = source {
        for name in ["const", "enum"] {
            let source = Arc::clone(&source);
            options = options.with_keyword(name, move |_, value, location| {
                let exact = exactly(value, &location, Some(&source))?;
                let accepted = match exact {
                    Json::Array(items) if name == "enum" => items,
                    other => vec![other],
                };
                Ok(Box::new(OneOf(accepted)))
            });
        }
    }
    options
}

/// Returns the value of a keyword with all its digits.
fn exactly(
    value: &Value,
    location: &Location,
    source: Option<&Json>,
) -> Result<Json, ValidationError<'static>> {
    let Some(source) = source else { return Ok(Json::from(value)) };
    match source.pointer(location.as_str()) {
        Some(exact) if exact.to_value() == *value => Ok(exact.clone()),
        _ => Err(ValidationError::schema(
            "holds a number of more digits than can be checked where it stands",
        )),
    }
}

fn compile_bound(
    relation: Relation,
    value: &Value,
    location: &Location,
    source: Option<&Json>,
) -> Compiled<'static> {
    let Json::Number(limit) = exactly(value, location, source)? else {
        return Err(ValidationError::schema("must be a number"));
    };
    let one = toolwright_json::Decimal::new("1");
    if matches!(relation, Relation::Multiple) && one.is_multiple_of(&limit.decimal()).is_none() {
        return Err(ValidationError::schema("must be a number above 0 of at most 19 digits"));
    }
    Ok(Box::new(Bound { relation, small: limit.as_str().parse().ok(), limit }))
}

struct Bound {
    relation: Relation,
    limit: Number,
    /// The limit as an integer, as most are
    small: Option<i64>,
}

impl Bound {
    fn holds(&self, value: &Json) -> bool {
        let Json::Number(number) = value else { return true };
        if matches!(self.relation, Relation::Multiple) {
            return number.decimal().is_multiple_of(&self.limit.decimal()).unwrap_or(false);
        }
        let order = match (number.as_str().parse::<i64>(), self.small) {
            (Ok(number), Some(limit)) => number.cmp(&limit),
            _ => number.compare(&self.limit),
        };
        match self.relation {
            Relation::Least => order != Ordering::Less,
            Relation::Most => order != Ordering::Greater,
            Relation::Above => order == Ordering::Greater,
            Relation::Below | Relation::Multiple => order == Ordering::Less,
        }
    }
}

impl<'i> Keyword<'i, Exact> for Bound {
    fn validate(&self, value: Metered<'i>) -> Result<(), ValidationError<'i>> {
        if self.holds(value.value()) {
            Ok(())
        } else {
            Err(ValidationError::custom("out of bounds"))
        }
    }

    fn is_valid(&self, value: Metered<'i>) -> bool {
        self.holds(value.value())
    }
}

/// `const` and `enum` with numbers of many digits.
struct OneOf(Vec<Json>);

impl<'i> Keyword<'i, Exact> for OneOf {
    fn validate(&self, value: Metered<'i>) -> Result<(), ValidationError<'i>> {
        if Keyword::<Exact>::is_valid(self, value) {
            Ok(())
        } else {
            Err(ValidationError::custom("not accepted"))
        }
    }

    fn is_valid(&self, value: Metered<'i>) -> bool {
        let value = value.value();
        self.0.iter().any(|accepted| accepted.equals(value))
    }
}
