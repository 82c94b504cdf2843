//! Conditions: whether a step, or an item of its `each`, runs.
//!
//! | condition | holds if |
//! |---|---|
//! | `{"$from": "check/ok"}` | the value is `true` |
//! | `{"value": {"$from": "check/count"}, "is": {"minimum": 1}}` | the JSON Schema accepts the value |
//! | `{"all": […]}`, `{"any": […]}`, `{"not": …}` | all hold, one holds, it does not hold |

use std::sync::Arc;

use toolwright_core::schema::Check;
use toolwright_json::object;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

use super::error::{PlanError, PlanErrorKind};
use super::template::{Getter, Reference, Template};

const EXPECTED: &str = "a condition is a reference, {\"value\": …, \"is\": JSON Schema}, \
                        {\"all\": […]}, {\"any\": […]} or {\"not\": …}";

/// Maximum depth of a condition.
const MAX_DEPTH: usize = 32;

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The value is `true`
    True(Template),
    /// A schema accepts the value
    Is {
        /// The value
        value: Template,
        /// The schema
        schema: ConditionSchema,
    },
    /// All conditions hold
    All(Vec<Condition>),
    /// One of the conditions holds
    Any(Vec<Condition>),
    /// The condition does not hold
    Not(Box<Condition>),
}

/// A compiled schema of a condition. Two are equal if their schemas are.
#[derive(Debug, Clone)]
pub struct ConditionSchema(Arc<Check>);

impl PartialEq for ConditionSchema {
    fn eq(&self, other: &ConditionSchema) -> bool {
        self.0.schema() == other.0.schema()
    }
}

impl Eq for ConditionSchema {}

impl Condition {
    /// Parses a condition. Errors are added to the list.
    pub(super) fn parse(
        value: &Json,
        path: &Path<'_>,
        errors: &mut Vec<PlanError>,
    ) -> Option<Condition> {
        Condition::parse_at(value, path, 0, errors)
    }

    fn parse_at(
        value: &Json,
        path: &Path<'_>,
        depth: usize,
        errors: &mut Vec<PlanError>,
    ) -> Option<Condition> {
        if depth > MAX_DEPTH {
            return fail(errors, path, "the condition is nested too deeply");
        }
        let members: Vec<(&str, &Json)> = match value {
            Json::Bool(_) => return Some(Condition::True(Template::Literal(value.clone()))),
            Json::Object(object) if object.contains_key("$from") => {
                return Some(Condition::True(Template::parse(value, path, errors)));
            }
            Json::Object(object) => object.iter().collect(),
            _ => return fail(errors, path, EXPECTED),
        };
        let mut list = |keyword: &str, items: &Json| {
            let path = path.key(keyword);
            let Json::Array(items) = items else {
                return fail(errors, &path, "it is a list of conditions");
            };
            let item =
                |(index, item)| Condition::parse_at(item, &path.index(index), depth + 1, errors);
            // All items are parsed, so that all errors are found.
            let items: Vec<Option<Condition>> = items.iter().enumerate().map(item).collect();
            items.into_iter().collect::<Option<Vec<Condition>>>()
        };
        match members[..] {
            [("all", items)] => list("all", items).map(Condition::All),
            [("any", items)] => list("any", items).map(Condition::Any),
            [("not", inner)] => {
                let inner = Condition::parse_at(inner, &path.key("not"), depth + 1, errors)?;
                Some(Condition::Not(Box::new(inner)))
            }
            [("value", value), ("is", schema)] | [("is", schema), ("value", value)] => {
                let value = Template::parse(value, &path.key("value"), errors);
                match Check::compile(schema) {
                    Ok(check) => {
                        Some(Condition::Is { value, schema: ConditionSchema(Arc::new(check)) })
                    }
                    Err(error) => {
                        let message = format!("it is not a JSON Schema: {error}");
                        fail(errors, &path.key("is"), message)
                    }
                }
            }
            _ => fail(errors, path, EXPECTED),
        }
    }

    /// Returns the condition as it is written in a plan.
    pub fn to_json(&self) -> Json {
        let list = |items: &[Condition]| -> Vec<Json> { items.iter().map(Self::to_json).collect() };
        let object: Object = match self {
            Condition::True(value) => return value.to_json(),
            Condition::Is { value, schema } => {
                object! {"value": value.to_json(), "is": schema.0.schema().clone()}
            }
            Condition::All(items) => object! {"all": list(items)},
            Condition::Any(items) => object! {"any": list(items)},
            Condition::Not(inner) => object! {"not": inner.to_json()},
        };
        object.into()
    }

    /// Visits the references, each with its path.
    pub(super) fn visit<'c>(
        &'c self,
        path: &Path<'_>,
        visit: &mut dyn FnMut(&Path<'_>, &'c Reference),
    ) {
        let mut each = |keyword, items: &'c [Condition]| {
            let path = path.key(keyword);
            for (index, item) in items.iter().enumerate() {
                item.visit(&path.index(index), visit);
            }
        };
        match self {
            Condition::All(items) => each("all", items),
            Condition::Any(items) => each("any", items),
            Condition::True(value) => value.visit(path, visit),
            Condition::Is { value, .. } => value.visit(&path.key("value"), visit),
            Condition::Not(inner) => inner.visit(&path.key("not"), visit),
        }
    }

    /// Whether the condition holds. The first error of a reference ends it.
    pub fn holds<'c, E>(&'c self, get: &mut Getter<'_, 'c, E>) -> Result<bool, E> {
        Ok(match self {
            Condition::True(value) => value.fill(get)?.as_bool() == Some(true),
            Condition::Is { value, schema } => schema.0.accepts(value.fill(get)?.as_ref()),
            Condition::Not(inner) => !inner.holds(get)?,
            Condition::All(items) | Condition::Any(items) => {
                // One item that holds decides `any`, and one that does not decides `all`.
                let decides = matches!(self, Condition::Any(_));
                for item in items {
                    if item.holds(get)? == decides {
                        return Ok(decides);
                    }
                }
                !decides
            }
        })
    }
}

fn fail<T>(errors: &mut Vec<PlanError>, path: &Path<'_>, message: impl Into<String>) -> Option<T> {
    errors.push(PlanError::new(PlanErrorKind::Shape, path, message));
    None
}
