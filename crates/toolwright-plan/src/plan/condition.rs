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

use super::error::Node;
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
    /// Parses a condition.
    pub(super) fn parse(node: &Node<'_>) -> Option<Condition> {
        Condition::parse_at(node, 0)
    }

    fn parse_at(node: &Node<'_>, depth: usize) -> Option<Condition> {
        if depth > MAX_DEPTH {
            return node.some_or(None, "the condition is nested too deeply");
        }
        let members = match node.value {
            Json::Bool(_) => return Some(Condition::True(Template::Literal(node.value.clone()))),
            Json::Object(object) if object.contains_key("$from") => {
                return Some(Condition::True(Template::parse(node)));
            }
            Json::Object(_) => node.members().unwrap_or_default(),
            _ => Vec::new(),
        };
        let list = |items: &Node<'_>| items.each(|item| Condition::parse_at(&item, depth + 1));
        match &members[..] {
            [("all", items)] => list(items).map(Condition::All),
            [("any", items)] => list(items).map(Condition::Any),
            [("not", inner)] => {
                Some(Condition::Not(Box::new(Condition::parse_at(inner, depth + 1)?)))
            }
            [("value", value), ("is", schema)] | [("is", schema), ("value", value)] => {
                let value = Template::parse(value);
                let problem = |error| format!("it is not a JSON Schema: {error}");
                let check =
                    Check::compile(schema.value).map_err(|error| schema.fault(problem(error)));
                Some(Condition::Is { value, schema: ConditionSchema(Arc::new(check.ok()?)) })
            }
            _ => node.some_or(None, EXPECTED),
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
