//! The size of a schema with its references resolved, counted before it is compiled.
//!
//! A validator follows references, so a short schema can be a large one: if each of twenty
//! definitions refers twice to the next, a million schemas apply to one value. [`measure`] counts
//! the schemas that apply to the same value (a schema, its references, the members of its unions)
//! for every value that the schema describes, each definition once.

use std::collections::HashMap;

use toolwright_json::{Json, MAX_DEPTH, Object, Path};

use super::SchemaError;
use crate::schema::inline::Document;

/// Maximum number of JSON values in a schema.
pub(super) const MAX_VALUES: usize = 200_000;

/// Maximum number of schemas that apply to one value.
const MAX_APPLIED: usize = 10_000;

/// Maximum number of schemas that apply to a property name, whose check is not metered.
const MAX_APPLIED_TO_NAMES: usize = 100;

/// Maximum number of schemas that apply to all values that a schema describes.
const MAX_TOTAL: usize = 1_000_000;

/// Maximum number of patterns in a schema, since each is compiled.
const MAX_PATTERNS: usize = 1_000;

/// Maximum depth of references and unions without a value in between.
const MAX_LEVELS: usize = 64;

const TOO_MANY_VALUES: &str = "is too large: it holds more than 200000 values; shorten its lists";
const TOO_MANY_PATTERNS: &str =
    "is too large: the schema holds more than 1000 patterns; leave some of them out";
const TOO_DEEP: &str = "is nested too deep; move inner schemas to '$defs' and refer to them";
const TOO_MANY_APPLIED: &str = "is too large: with its references followed, too many schemas apply \
    to one value; let its unions refer to fewer definitions, or to each definition once";
const TOO_MANY_LEVELS: &str = "is too large: its references and unions lead into each other more \
    than 64 times; refer to the last definition directly";
const TOO_MANY_IN_ALL: &str = "is too large: with its references followed, it is more than 1000000 \
    schemas; let it refer to large definitions less often";

/// The size of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size {
    /// Number of JSON values
    pub(super) values: usize,
    /// Number of patterns
    pub(super) patterns: usize,
    /// Number of schemas that apply to the values that it describes
    pub(super) applied: usize,
}

/// Counts a schema; an error if it is too large.
pub(crate) fn measure(schema: &Json) -> Result<Size, SchemaError> {
    let mut targets = Targets::new(schema);
    targets.collect(schema, 0);
    let mut expansion =
        Expansion { targets, counts: HashMap::new(), open: Vec::new(), size: Size::default() };
    expansion.visit(schema, &Path::ROOT, 0, Position::Value)?;
    Ok(expansion.size)
}

/// What a subschema applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// A nested value
    Value,
    /// A property name
    Name,
    /// The value of the enclosing schema
    SameValue,
}

impl Position {
    /// Returns the position of a keyword's schema.
    fn of(keyword: &str) -> Position {
        match keyword {
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
            | "dependencies" => Position::SameValue,
            "propertyNames" => Position::Name,
            _ => Position::Value,
        }
    }
}

/// The number of schemas that apply to the value of a schema.
#[derive(Debug, Clone, Copy)]
struct Count {
    applied: usize,
    /// The depth of their nesting
    levels: usize,
    /// The outermost open schema that it leads back to, by its index in [`Expansion::open`]
    back_to: usize,
}

impl Count {
    const ONE: Count = Count { applied: 1, levels: 1, back_to: usize::MAX };

    fn add(&mut self, inner: Count) {
        self.applied += inner.applied;
        self.levels = self.levels.max(inner.levels + 1);
        self.back_to = self.back_to.min(inner.back_to);
    }
}

struct Expansion<'s> {
    targets: Targets<'s>,
    /// Counted schemas, by address
    counts: HashMap<usize, Count>,
    /// The addresses of the schemas that lead to the current one, which a validator does not enter
    /// again for the same value
    open: Vec<usize>,
    size: Size,
}

impl<'s> Expansion<'s> {
    /// Counts a value of the document and all nested values.
    fn visit(
        &mut self,
        value: &'s Json,
        at: &Path<'_>,
        depth: usize,
        position: Position,
    ) -> Result<(), SchemaError> {
        let limit = |reason| SchemaError::Limit { path: at.pointer(), reason };
        self.size.values += 1;
        if self.size.values > MAX_VALUES {
            return Err(limit(TOO_MANY_VALUES));
        }
        if depth > MAX_DEPTH {
            return Err(limit(TOO_DEEP));
        }
        match value {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.visit(item, &at.index(index), depth + 1, position)?;
                }
            }
            Json::Object(object) => {
                if position != Position::SameValue {
                    self.apply(value, position).map_err(limit)?;
                }
                for (key, item) in object.iter() {
                    self.size.patterns += patterns(key, item);
                    if self.size.patterns > MAX_PATTERNS {
                        return Err(limit(TOO_MANY_PATTERNS));
                    }
                    self.visit(item, &at.key(key), depth + 1, Position::of(key))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts the schemas that apply to a value or a property name.
    fn apply(&mut self, schema: &'s Json, position: Position) -> Result<(), &'static str> {
        let count = self.count(schema)?;
        if position == Position::Name && count.applied > MAX_APPLIED_TO_NAMES {
            return Err(TOO_MANY_APPLIED);
        }
        self.size.applied += count.applied;
        if self.size.applied > MAX_TOTAL { Err(TOO_MANY_IN_ALL) } else { Ok(()) }
    }

    fn count(&mut self, schema: &'s Json) -> Result<Count, &'static str> {
        let Json::Object(object) = schema else { return Ok(Count::ONE) };
        let (address, place) = (address(schema), self.open.len());
        if let Some(count) = self.counts.get(&address) {
            return Ok(*count);
        }
        if let Some(back_to) = self.open.iter().position(|open| *open == address) {
            return Ok(Count { back_to, ..Count::ONE });
        }
        if place == MAX_LEVELS {
            return Err(TOO_MANY_LEVELS);
        }
        self.open.push(address);
        let mut count = Count::ONE;
        for inner in self.targets.applied(object) {
            count.add(self.count(inner)?);
            if count.applied > MAX_APPLIED {
                return Err(TOO_MANY_APPLIED);
            }
            if place + count.levels > MAX_LEVELS {
                return Err(TOO_MANY_LEVELS);
            }
        }
        self.open.pop();
        // A schema that leads back to an open one has another count elsewhere.
        if count.back_to >= place {
            count.back_to = usize::MAX;
            self.counts.insert(address, count);
        }
        Ok(count)
    }
}

/// Returns the number of patterns of a keyword.
fn patterns(keyword: &str, value: &Json) -> usize {
    match (keyword, value) {
        ("pattern", Json::String(_)) => 1,
        ("patternProperties", Json::Object(named)) => named.len(),
        _ => 0,
    }
}

fn address(schema: &Json) -> usize {
    std::ptr::from_ref(schema).addr()
}

/// The targets of references. If a reference is ambiguous (anchors and pointers of a document with
/// several `$id`s), all targets count.
struct Targets<'s> {
    document: Document<'s>,
    /// Schemas with an `$id`
    resources: Vec<(&'s str, &'s Json)>,
    anchors: HashMap<&'s str, Vec<&'s Json>>,
}

impl<'s> Targets<'s> {
    fn new(root: &'s Json) -> Targets<'s> {
        Targets { document: Document::new(root), resources: Vec::new(), anchors: HashMap::new() }
    }

    /// Collects the identifiers within a value.
    fn collect(&mut self, value: &'s Json, depth: usize) {
        match value {
            _ if depth > MAX_DEPTH => {}
            Json::Array(items) => items.iter().for_each(|item| self.collect(item, depth + 1)),
            Json::Object(object) => {
                for (key, item) in object.iter() {
                    match (key, item) {
                        ("$id" | "id", Json::String(id)) => self.resources.push((id, value)),
                        ("$anchor" | "$dynamicAnchor", Json::String(name)) => {
                            self.anchors.entry(name).or_default().push(value);
                        }
                        _ => self.collect(item, depth + 1),
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the schemas that apply to the same value.
    fn applied(&self, object: &'s Object) -> Vec<&'s Json> {
        let mut found = Vec::new();
        for (key, value) in object.iter() {
            match (key, value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Json::String(reference)) => {
                    found.extend(self.of(reference));
                }
                _ if Position::of(key) != Position::SameValue => {}
                (_, Json::Array(schemas)) => found.extend(schemas),
                ("dependentSchemas" | "dependencies", Json::Object(named)) => {
                    found.extend(named.iter().map(|(_, schema)| schema));
                }
                (_, schema) => found.push(schema),
            }
        }
        found
    }

    /// Returns the possible targets of a reference.
    fn of(&self, reference: &str) -> Vec<&'s Json> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut found: Vec<&Json> = self.anchors.get(fragment).cloned().unwrap_or_default();
        found.extend(self.document.resolve(reference).map(|(target, _)| target));
        let resources =
            self.resources.iter().filter(|(id, _)| base.is_empty() || last(id) == last(base));
        found.extend(resources.filter_map(|(_, resource)| resource.pointer(fragment)));
        let mut seen = std::collections::HashSet::new();
        found.retain(|target| seen.insert(address(target)));
        found
    }
}

/// Returns the last segment of an identifier, because relative ones may have any base.
fn last(id: &str) -> &str {
    let id = id.trim_end_matches('#');
    id.rsplit('/').next().unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema whose definitions each refer twice to the next.
    fn doubled(levels: usize) -> Json {
        let reference = |to: usize| format!(r##"{{"$ref":"#/$defs/{to}"}}"##);
        let definitions: Vec<String> = (0..levels)
            .map(|at| format!(r#""{at}":{{"allOf":[{0},{0}]}}"#, reference(at + 1)))
            .collect();
        let text = format!(
            r#"{{"properties":{{"a":{}}},"$defs":{{{},"{levels}":{{"type":"integer"}}}}}}"#,
            reference(0),
            definitions.join(",")
        );
        Json::parse(&text).unwrap()
    }

    fn expansion(schema: &Json) -> (Expansion<'_>, Result<Count, &'static str>) {
        let mut targets = Targets::new(schema);
        targets.collect(schema, 0);
        let size = Size::default();
        let mut own = Expansion { targets, counts: HashMap::new(), open: Vec::new(), size };
        let count = own.count(schema.pointer("/properties/a").unwrap());
        (own, count)
    }

    #[test]
    fn each_definition_is_counted_once_however_often_it_applies() {
        let schema = doubled(10);
        let (expansion, count) = expansion(&schema);
        // Per level: the definition and its two references.
        assert_eq!(count.unwrap().applied, 1 + (1 << 10) + 3 * ((1 << 10) - 1));
        assert_eq!(expansion.counts.len(), 1 + 11 + 2 * 10);
    }

    #[test]
    fn counting_ends_where_it_is_known_to_be_too_much() {
        let schema = doubled(60);
        let (expansion, count) = expansion(&schema);
        assert_eq!(count.unwrap_err(), TOO_MANY_LEVELS);
        assert!(expansion.counts.len() < 4 * 60, "{}", expansion.counts.len());
        let schema = doubled(20);
        assert_eq!(expansion_of(&schema), TOO_MANY_APPLIED);
    }

    fn expansion_of(schema: &Json) -> &'static str {
        expansion(schema).1.unwrap_err()
    }

    #[test]
    fn schemas_that_lead_to_each_other_are_counted_on_every_way() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let definitions: Vec<String> = names
            .iter()
            .map(|own| {
                let others = names.iter().filter(|name| *name != own);
                let others: Vec<String> =
                    others.map(|name| format!(r##"{{"$ref":"#/$defs/{name}"}}"##)).collect();
                format!(r#""{own}":{{"anyOf":[{}]}}"#, others.join(","))
            })
            .collect();
        let text = format!(
            r##"{{"properties":{{"a":{{"$ref":"#/$defs/a"}}}},"$defs":{{{}}}}}"##,
            definitions.join(",")
        );
        assert_eq!(expansion_of(&Json::parse(&text).unwrap()), TOO_MANY_APPLIED);
    }
}
