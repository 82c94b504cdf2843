//! A node of a schema as the conjunction of the schema itself, its `$ref`, and the members of its
//! `allOf`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use toolwright_json::Json;

use super::walk::{Holds, distinct, holds, step};

/// A schema and its pointer.
#[derive(Debug, Clone)]
pub(super) struct Source<'s> {
    pub(super) schema: &'s Json,
    pub(super) at: Rc<str>,
    /// Whether only its `$ref` counts, because the other keywords are around it
    pub(super) bare: bool,
}

impl<'s> Source<'s> {
    pub(super) fn new(schema: &'s Json, at: impl Into<Rc<str>>) -> Source<'s> {
        Source { schema, at: at.into(), bare: false }
    }
}

/// The value of a keyword, with its schemas separated.
#[derive(Debug, Clone)]
pub(super) enum Value<'s> {
    /// No schema
    Data(Cow<'s, Json>),
    /// One schema, as a conjunction
    Schema(Vec<Source<'s>>),
    /// A list of schemas
    Schemas(Vec<Source<'s>>),
    /// Schemas by name
    Named(Named<'s>),
}

/// Schemas by name, each a conjunction, in order.
#[derive(Debug, Clone)]
pub(super) struct Named<'s> {
    pub(super) list: Vec<(&'s str, Vec<Source<'s>>)>,
    /// The positions of the names, once a conjunction was joined
    places: HashMap<&'s str, usize>,
}

impl<'s> Named<'s> {
    fn join(&mut self, other: Named<'s>) {
        if self.places.is_empty() {
            self.places = self.list.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
        }
        for (name, sources) in other.list {
            let known = self.places.get(name).and_then(|place| self.list.get_mut(*place));
            if let Some((_, known)) = known {
                known.extend(sources);
            } else {
                self.places.insert(name, self.list.len());
                self.list.push((name, sources));
            }
        }
    }
}

/// A keyword of a node.
#[derive(Debug, Clone)]
pub(super) struct Member<'s> {
    pub(super) key: &'s str,
    pub(super) at: Rc<str>,
    pub(super) value: Value<'s>,
    /// The original value, where it was first
    pub(super) raw: &'s Json,
}

/// The replacement of a schema that cannot be written.
#[derive(Debug, Clone)]
pub(super) struct StandIn {
    /// The text for the description
    pub(super) text: String,
    /// Its type
    pub(super) kind: Option<&'static str>,
}

/// All keywords of a node, in order of first appearance.
#[derive(Debug, Clone)]
pub(super) struct Shape<'s> {
    pub(super) at: Rc<str>,
    pub(super) members: Vec<Member<'s>>,
    /// The targets of references that were inlined here
    pub(super) opened: Vec<String>,
    /// Set if the node cannot be written
    pub(super) stand_in: Option<StandIn>,
    /// Texts for the description, for keywords that could not be joined
    pub(super) texts: Vec<String>,
}

impl<'s> Shape<'s> {
    pub(super) fn new(at: Rc<str>) -> Shape<'s> {
        Shape { at, members: Vec::new(), opened: Vec::new(), stand_in: None, texts: Vec::new() }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Member<'s>> {
        self.members.iter().find(|member| member.key == key)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Member<'s>> {
        let place = self.members.iter().position(|member| member.key == key)?;
        Some(self.members.remove(place))
    }

    /// Returns the value of a keyword that is not a schema.
    pub(super) fn data(&self, key: &str) -> Option<&Json> {
        match &self.get(key)?.value {
            Value::Data(value) => Some(value),
            _ => None,
        }
    }

    /// Removes repeated names from `required` after joining.
    pub(super) fn dedup_required(&mut self) {
        let required = self.members.iter_mut().find(|member| member.key == "required");
        if let Some(Member { value: Value::Data(Cow::Owned(Json::Array(names))), .. }) = required {
            let mut seen = HashSet::new();
            names.retain(|name| seen.insert(name.to_string()));
        }
    }

    /// Adds a keyword; false if it contradicts an earlier one, or cannot be joined with it.
    pub(super) fn add(&mut self, key: &'s str, raw: &'s Json, at: Rc<str>) -> bool {
        let value = read(key, raw, &at);
        if let Some(known) = self.members.iter_mut().find(|member| member.key == key) {
            join(key, &mut known.value, value)
        } else {
            self.members.push(Member { key, at, value, raw });
            true
        }
    }
}

/// Parses the value of a keyword into its schemas. A value of another type is data.
fn read<'s>(key: &str, raw: &'s Json, at: &str) -> Value<'s> {
    match (holds(key), raw) {
        (Holds::Schema, Json::Object(_) | Json::Bool(_)) => {
            Value::Schema(vec![Source::new(raw, at)])
        }
        (Holds::Schema | Holds::Schemas, Json::Array(items)) => Value::Schemas(
            items
                .iter()
                .enumerate()
                .map(|(index, item)| Source::new(item, format!("{at}/{index}")))
                .collect(),
        ),
        (Holds::Named, Json::Object(named)) => {
            let list = distinct(named)
                .into_iter()
                .map(|(name, item)| (name, vec![Source::new(item, step(at, name))]))
                .collect();
            Value::Named(Named { list, places: HashMap::new() })
        }
        _ => Value::Data(Cow::Borrowed(raw)),
    }
}

fn join<'s>(key: &str, known: &mut Value<'s>, other: Value<'s>) -> bool {
    match (known, other) {
        (Value::Schema(known), Value::Schema(other)) => {
            known.extend(other);
            true
        }
        (Value::Named(known), Value::Named(other)) => {
            known.join(other);
            true
        }
        (Value::Data(known), Value::Data(other)) => join_data(key, known, &other),
        _ => false,
    }
}

fn join_data(key: &str, known: &mut Cow<'_, Json>, other: &Json) -> bool {
    if known.same(other) {
        return true;
    }
    let joined = match key {
        "type" => both_types(known, other),
        "enum" => both(known, other),
        "required" => return append(known.to_mut(), other),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            tighter(known, other, Ordering::Less)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            tighter(known, other, Ordering::Greater)
        }
        "uniqueItems" => Some(Json::Bool(true)),
        // The closest annotation counts, which is no contradiction.
        _ if !super::walk::restricts(key) => return true,
        _ => None,
    };
    match joined {
        Some(value) => {
            *known = Cow::Owned(value);
            true
        }
        None => false,
    }
}

/// Intersects two lists of types; an integer is a number.
fn both_types(known: &Json, other: &Json) -> Option<Json> {
    let list = |value: &Json| match value {
        Json::Array(items) => items.clone(),
        single => vec![single.clone()],
    };
    let (known, other) = (list(known), list(other));
    let has = |list: &[Json], name: &str| {
        list.iter().any(|item| item.as_str().is_some_and(|item| item.eq_ignore_ascii_case(name)))
    };
    let mut common = Vec::new();
    for name in &known {
        let Some(name) = name.as_str() else { continue };
        if has(&other, name) || name == "integer" && has(&other, "number") {
            common.push(Json::from(name));
        } else if name == "number" && has(&other, "integer") {
            common.push(Json::from("integer"));
        }
    }
    match common.len() {
        0 => None,
        1 => common.pop(),
        _ => Some(Json::Array(common)),
    }
}

/// Intersects two lists.
fn both(known: &Json, other: &Json) -> Option<Json> {
    let other = texts(other)?;
    let common: Vec<Json> = known
        .as_array()?
        .iter()
        .filter(|item| other.contains(&item.to_string()))
        .cloned()
        .collect();
    if common.is_empty() { None } else { Some(Json::Array(common)) }
}

/// Appends the items of a list; repetitions are removed later.
fn append(known: &mut Json, other: &Json) -> bool {
    let (Json::Array(known), Json::Array(other)) = (known, other) else { return false };
    known.extend(other.iter().cloned());
    true
}

fn texts(list: &Json) -> Option<HashSet<String>> {
    Some(list.as_array()?.iter().map(ToString::to_string).collect())
}

/// Returns the tighter of two bounds.
fn tighter(known: &Json, other: &Json, replace_if: Ordering) -> Option<Json> {
    let (Json::Number(a), Json::Number(b)) = (known, other) else { return None };
    let replace = a.as_f64().partial_cmp(&b.as_f64()) == Some(replace_if);
    Some(if replace { other } else { known }.clone())
}
