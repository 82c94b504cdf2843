//! Search for a value that the inner schema accepts and the outer schema rejects.
//!
//! Examples of the inner schema are built bottom up: limits of both schemas and their neighbours,
//! each property and item with each of its own examples. The validators decide, so a witness is
//! always right.

use std::collections::BTreeMap;

use toolwright_json::{Json, Number, Object};

use super::given::Given;
use super::type_set::Types;
use super::{Comparison, Facts, MAX_STEPS, Node, Side, Witness};
use crate::schema::check::Check;

/// Maximum number of examples of a subschema.
const MAX_EXAMPLES: usize = 24;

/// Maximum depth of an example.
const MAX_DEPTH: usize = 6;

/// Maximum length of a text in an example.
const MAX_TEXT: u64 = 1_000;

/// Maximum length of an array in an example.
const MAX_ITEMS: u64 = 20;

/// Texts of common forms, for patterns.
const TEXTS: [&str; 10] = [
    "a",
    "A",
    "0",
    "abc",
    "a-b",
    "a_b",
    "a.b",
    "2025-01-31",
    "user@example.com",
    "https://example.com/",
];

impl<'d> Comparison<'d> {
    /// Searches for a witness.
    pub(super) fn refute(&self, inner: &Check, outer: &Check) -> Option<Witness> {
        self.steps.replace(MAX_STEPS);
        let examples =
            self.examples(&Facts::new(vec![self.root(Side::Inner)]), &[self.root(Side::Outer)], 0);
        let is_witness = |value: &Json| {
            inner.try_accepts(value) == Ok(true) && outer.try_accepts(value) == Ok(false)
        };
        let value = examples.into_iter().find(is_witness)?;
        let violation = outer.violations(&value).into_iter().next()?;
        Some(Witness { value, violation })
    }

    /// Returns values of which some facts hold: those that a hint rejects first.
    fn examples(&self, facts: &Facts<'d>, hints: &[Node<'d>], depth: usize) -> Vec<Json> {
        if depth > MAX_DEPTH || !self.take_step() {
            return Vec::new();
        }
        let given = self.gather(facts);
        let mut found: Vec<Json> = Vec::new();
        if let Some((_, values)) = &given.values {
            found.extend(values.iter().map(|value| (*value).clone()));
        } else if let Some(union) = given.unions.first() {
            for member in &union.members {
                let facts = facts.with_member(union.id, member.clone());
                found.extend(self.examples(&facts, hints, depth));
            }
        } else {
            let noted = given.keyword("examples").filter_map(Json::as_array).flatten();
            found.extend(noted.chain(given.keyword("default")).cloned());
            let hint = self.gather_hints(hints);
            for single in given.types.each() {
                found.extend(self.examples_of_type(single, &given, &hint, depth));
            }
        }
        let is_accepted = |value: &Json| {
            facts.types.has_any(Types::of(value))
                && facts.nodes.iter().all(|node| self.accepts(node, value) != Some(false))
        };
        found.retain(is_accepted);
        let is_rejected =
            |value: &Json| hints.iter().any(|hint| self.accepts(hint, value) == Some(false));
        found.sort_by_cached_key(|value| !is_rejected(value));
        found.dedup();
        found.truncate(MAX_EXAMPLES);
        found
    }

    /// Collects the keywords of the hints, of all members of their unions too.
    fn gather_hints(&self, hints: &[Node<'d>]) -> Given<'d> {
        let mut facts = Facts::new(hints.to_vec());
        loop {
            let given = self.gather(&facts);
            if given.unions.is_empty() {
                return given;
            }
            for union in given.unions {
                facts.nodes.extend(union.members);
                facts.split.push(union.id);
            }
        }
    }

    fn examples_of_type(
        &self,
        single: Types,
        given: &Given<'d>,
        hint: &Given<'d>,
        depth: usize,
    ) -> Vec<Json> {
        match single {
            Types::NULL => vec![Json::Null],
            Types::BOOLEAN => vec![Json::Bool(true), Json::Bool(false)],
            Types::INTEGER | Types::FRACTION => numbers(given, hint),
            Types::STRING => texts(given, hint),
            Types::ARRAY => self.arrays(given, hint, depth),
            _ => self.objects(given, hint, depth),
        }
    }

    fn arrays(&self, given: &Given<'d>, hint: &Given<'d>, depth: usize) -> Vec<Json> {
        let tuples = given.nodes.iter().chain(&hint.nodes).map(|node| self.tuple(node).0.len());
        let known = tuples.max().unwrap_or(0) + 1;
        let items: Vec<Vec<Json>> = (0..known)
            .map(|index| {
                let hints = self.item(hint, Some(index)).nodes;
                self.examples(&self.item(given, Some(index)), &hints, depth + 1)
            })
            .collect();
        let of_length = |length: u64| -> Option<Vec<Json>> {
            let item = |index: usize| {
                let choice = items.get(index).or(items.last())?;
                choice.get(index % choice.len().max(1)).cloned()
            };
            (0..usize::try_from(length).ok()?).map(item).collect()
        };
        let mut found: Vec<Json> = lengths(given, hint, ["minItems", "maxItems"], MAX_ITEMS)
            .into_iter()
            .filter_map(|length| of_length(length).map(Json::Array))
            .collect();
        for (index, choice) in items.iter().enumerate() {
            let length = given.at_least("minItems").max(index as u64 + 1);
            let Some(base) = of_length(length.min(MAX_ITEMS)) else { continue };
            for value in choice {
                let mut array = base.clone();
                if let Some(place) = array.get_mut(index) {
                    *place = value.clone();
                }
                found.push(Json::Array(array));
            }
        }
        found
    }

    fn objects(&self, given: &Given<'d>, hint: &Given<'d>, depth: usize) -> Vec<Json> {
        let required = given.required();
        let mut names = given.names();
        names.extend(hint.names());
        names.extend(hint.required());
        let mut examples: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
        for name in required.iter().chain(&names) {
            examples.entry(name).or_insert_with(|| {
                let hints = self.property(hint, name).nodes;
                self.examples(&self.property(given, name), &hints, depth + 1)
            });
        }
        let first = |name: &&str| {
            let value = examples.get(name).and_then(|values| values.first())?;
            Some(((*name).to_owned().into(), value.clone()))
        };
        let base: Option<Object> = required.iter().map(first).collect();
        let Some(base) = base else { return Vec::new() };
        let all = examples.keys().filter_map(first).collect();
        let mut found = vec![Json::Object(base.clone()), Json::Object(all)];
        let with = |name: &str, value: &Json| {
            let mut object = base.clone();
            object.insert(name.to_owned(), value.clone());
            Json::Object(object)
        };
        for (name, values) in &examples {
            found.extend(values.iter().map(|value| with(name, value)));
        }
        let other = (0..).map(|number| format!("other{number}"));
        let other = other.into_iter().find(|name| !examples.contains_key(name.as_str()));
        let hints: Vec<Node<'d>> =
            hint.other_properties().into_iter().flat_map(|facts| facts.nodes).collect();
        for facts in given.other_properties() {
            let values = self.examples(&facts, &hints, depth + 1);
            found
                .extend(other.iter().flat_map(|name| values.iter().map(|value| with(name, value))));
        }
        found
    }
}

/// Returns numbers at and around the limits of both schemas.
fn numbers(given: &Given<'_>, hint: &Given<'_>) -> Vec<Json> {
    let keywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let limits = keywords
        .iter()
        .flat_map(|keyword| given.keyword(keyword).chain(hint.keyword(keyword)))
        .filter_map(|limit| match limit {
            Json::Number(limit) => Some(limit),
            _ => None,
        });
    let mut found: Vec<Json> = Vec::new();
    for limit in limits {
        found.push(Json::from(limit.clone()));
        let near = limit.as_f64();
        let around =
            [near - 1.0, near + 1.0, near - 0.5, near + 0.5, near * 2.0, near * 3.0, -near];
        found.extend(
            around.iter().filter_map(|number| Number::parse(&number.to_string())).map(Json::from),
        );
    }
    let usual = ["0", "1", "-1", "0.5", "7", "1000000007", "-0.25"];
    found.extend(usual.iter().filter_map(|text| Number::parse(text)).map(Json::from));
    found
}

/// Returns texts of lengths at and around the limits of both schemas, and of common forms.
fn texts(given: &Given<'_>, hint: &Given<'_>) -> Vec<Json> {
    let lengths = lengths(given, hint, ["minLength", "maxLength"], MAX_TEXT);
    let plain = lengths.iter().map(|length| "a".repeat(usize::try_from(*length).unwrap_or(0)));
    plain.map(Json::from).chain(TEXTS.map(Json::from)).collect()
}

/// Returns lengths at and around the limits of both schemas, within those of the inner schema.
fn lengths(given: &Given<'_>, hint: &Given<'_>, keywords: [&str; 2], limit: u64) -> Vec<u64> {
    let [least, most] = keywords;
    let (low, high) = (given.at_least(least), given.at_most(most));
    let mut found = vec![low, 0, 1, 2, 3, hint.at_least(least).saturating_sub(1)];
    found.extend(high);
    found.extend(hint.at_most(most).map(|limit| limit.saturating_add(1)));
    found.retain(|length| (low..=high.unwrap_or(limit).min(limit)).contains(length));
    found.sort_unstable();
    found.dedup();
    found
}
