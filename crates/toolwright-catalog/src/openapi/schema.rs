//! Schemas of OpenAPI as JSON Schema 2020-12.
//!
//! References become references to `$defs` of the function's own schema, so that a recursive schema stays finite
//! and a large one is written once. What exceeds the size limit is left open: the definitions that are nearest to
//! the root are kept, further ones accept any value of their type.

use std::collections::{HashMap, HashSet, VecDeque};

use toolwright_core::{Json, object};
use toolwright_json::Object;
use toolwright_runtime::redact;

use super::Refusal;
use super::document::{Document, Format, Node};
use super::name::{Names, identifier, shorten};

/// Which way values go: read-only properties are not sent, write-only ones not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    Request,
    Response,
}

impl Direction {
    /// The flag of properties that do not go this way.
    fn omitted(self) -> &'static str {
        match self {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        }
    }
}

/// Limits of one schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Maximum size as JSON
    pub(super) bytes: usize,
    /// Maximum size of its definitions
    pub(super) definitions: usize,
    /// Depth below which schemas are left open
    pub(super) depth: usize,
    /// Whether patterns are kept
    pub(super) patterns: bool,
}

/// Depths at which schemas are left open, one after another.
const DEPTHS: [usize; 5] = [8, 5, 3, 2, 1];

impl Limits {
    pub(super) fn new(bytes: usize) -> Limits {
        Limits { bytes, definitions: bytes, depth: usize::MAX, patterns: true }
    }

    /// Leaves more definitions open. False if all of them are.
    pub(super) fn reduce_definitions(&mut self) -> bool {
        let has_definitions = self.definitions > 0;
        self.definitions = if self.definitions > 1 << 10 { self.definitions / 2 } else { 0 };
        has_definitions
    }

    /// Leaves more of the schema itself open. False if all of it is.
    pub(super) fn reduce_depth(&mut self) -> bool {
        let next = DEPTHS.into_iter().find(|depth| *depth < self.depth);
        self.depth = next.unwrap_or(self.depth);
        next.is_some()
    }
}

/// What the value of a keyword must be; others are dropped.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Number,
    Count,
    Text,
    Flag,
    Any,
    Schema,
    Schemas,
    SchemaMap,
}

/// The keywords that have the same meaning in all versions.
const KEYWORDS: [(&str, Kind); 36] = [
    ("title", Kind::Text),
    ("format", Kind::Text),
    ("const", Kind::Any),
    ("multipleOf", Kind::Number),
    ("maximum", Kind::Number),
    ("minimum", Kind::Number),
    ("exclusiveMaximum", Kind::Number),
    ("exclusiveMinimum", Kind::Number),
    ("maxLength", Kind::Count),
    ("minLength", Kind::Count),
    ("pattern", Kind::Text),
    ("maxItems", Kind::Count),
    ("minItems", Kind::Count),
    ("uniqueItems", Kind::Flag),
    ("maxProperties", Kind::Count),
    ("minProperties", Kind::Count),
    ("minContains", Kind::Count),
    ("maxContains", Kind::Count),
    ("contentEncoding", Kind::Text),
    ("contentMediaType", Kind::Text),
    ("deprecated", Kind::Flag),
    ("items", Kind::Schema),
    ("additionalProperties", Kind::Schema),
    ("not", Kind::Schema),
    ("contains", Kind::Schema),
    ("propertyNames", Kind::Schema),
    ("if", Kind::Schema),
    ("then", Kind::Schema),
    ("else", Kind::Schema),
    ("unevaluatedProperties", Kind::Schema),
    ("allOf", Kind::Schemas),
    ("anyOf", Kind::Schemas),
    ("oneOf", Kind::Schemas),
    ("prefixItems", Kind::Schemas),
    ("patternProperties", Kind::SchemaMap),
    ("dependentSchemas", Kind::SchemaMap),
];

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];
pub(super) const MAX_DESCRIPTION: usize = 400;
const MAX_EXAMPLE_BYTES: usize = 120;
/// Maximum difference of the sizes of a definition in two functions, which name other definitions differently.
const REFERENCES: usize = 1 << 10;
/// Maximum number of schemas and values of enums that are converted for the functions of one document.
const MAX_SCHEMAS: usize = 20_000_000;
const MAX_DEFAULT_BYTES: usize = 60;

/// Converts the schemas of one function in one direction.
pub(super) struct Converter<'d> {
    document: &'d Document<'d>,
    direction: Direction,
    limits: Limits,
    names: Names,
    /// The names of definitions, by their pointers
    defined: HashMap<String, String>,
    /// Definitions that are referred to and not yet converted
    queue: VecDeque<(String, Node<'d>)>,
    /// Whether something was left open
    pub(super) is_shortened: bool,
}

impl<'d> Converter<'d> {
    pub(super) fn new(
        document: &'d Document<'d>,
        direction: Direction,
        limits: Limits,
    ) -> Converter<'d> {
        let (names, defined, queue) = Default::default();
        Converter { document, direction, limits, names, defined, queue, is_shortened: false }
    }

    /// Refuses another conversion if the document has used its limit, as one does whose operations all repeat a
    /// large schema.
    pub(super) fn check(document: &Document<'_>, node: &Node<'_>) -> Result<(), Refusal> {
        if document.conversions.borrow().schemas <= MAX_SCHEMAS {
            return Ok(());
        }
        let reason = format!("the operations of the document use more than {MAX_SCHEMAS} schemas");
        Err(node.refuse(reason))
    }

    /// Converts a schema.
    pub(super) fn convert(&mut self, node: &Node<'d>) -> Result<Json, Refusal> {
        self.schema(node, 0)
    }

    /// Returns a schema with the definitions that it refers to. None if it alone exceeds the limit.
    pub(super) fn finish(mut self, mut root: Object) -> Result<Option<(Json, bool)>, Refusal> {
        let Some(left) = self.limits.bytes.checked_sub(root.compact().len()) else {
            return Ok(None);
        };
        let mut left = left.min(self.limits.definitions);
        let mut definitions = Object::new();
        while let Some((name, node)) = self.queue.pop_front() {
            let Limits { depth, patterns, .. } = self.limits;
            let key = (node.pointer.clone(), self.direction, depth, patterns);
            let known = self.document.conversions.borrow().sizes.get(&key).copied();
            if known.is_some_and(|size| size > left + REFERENCES) {
                let definition = self.open(&node);
                left = left.saturating_sub(definition.compact().len() + name.len());
                definitions.insert(name, definition);
                continue;
            }
            let (waiting, was_shortened) = (self.queue.len(), self.is_shortened);
            let mut definition = self.schema(&node, 1)?;
            let size = definition.compact().len() + name.len();
            self.document.conversions.borrow_mut().sizes.insert(key, size);
            if size > left {
                // What only this definition refers to is not needed.
                for (_, unused) in self.queue.drain(waiting..) {
                    self.defined.remove(&unused.pointer);
                }
                self.is_shortened = was_shortened;
                definition = self.open(&node);
            }
            left = left.saturating_sub(definition.compact().len() + name.len());
            definitions.insert(name, definition);
        }
        root.insert_filled("$defs", definitions);
        Ok(Some((Json::Object(root), self.is_shortened)))
    }

    /// A schema that accepts any value of the same type.
    fn open(&mut self, node: &Node<'d>) -> Json {
        self.is_shortened = true;
        let mut out = typed(node);
        if let Some(description) = node.text("description") {
            out.insert("description", shorten(description, 100));
        }
        Json::Object(out)
    }

    fn schema(&mut self, node: &Node<'d>, depth: usize) -> Result<Json, Refusal> {
        let Some(object) = node.value.as_object() else {
            // `true` and `false` are schemas; any other value accepts everything.
            return Ok(Json::Bool(node.value.as_bool().unwrap_or(true)));
        };
        let values = object.get("enum").and_then(Json::as_array).map_or(0, <[Json]>::len);
        self.document.conversions.borrow_mut().schemas += 1 + values;
        if let Some(reference) = node.text("$ref") {
            return self.reference(reference, node);
        }
        let has_parts = ["properties", "items", "allOf", "anyOf", "oneOf", "additionalProperties"];
        if depth >= self.limits.depth && has_parts.iter().any(|key| object.contains_key(key)) {
            return Ok(self.open(node));
        }
        let mut out = typed(node);
        self.describe(node, &mut out);
        if let Some(values) =
            object.get("enum").and_then(Json::as_array).filter(|own| !own.is_empty())
        {
            out.insert("enum", values.to_vec());
        }
        self.properties(node, depth, &mut out)?;
        for (key, kind) in KEYWORDS {
            let Some(value) = node.get(key) else { continue };
            if let Some(converted) = self.keyword(key, kind, &value, depth)? {
                out.insert(key, converted);
            }
        }
        for (flag, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            if node.flag(flag) == Some(true)
                && let Some(value) = out.remove(limit)
            {
                out.insert(flag, value);
            }
        }
        // Without the discriminator, a value may match several alternatives.
        if object.contains_key("discriminator")
            && let Some(alternatives) = out.remove("oneOf")
        {
            out.insert("anyOf", alternatives);
        }
        let is_nullable = ["nullable", "x-nullable"].iter().any(|key| node.flag(key) == Some(true));
        Ok(if is_nullable { nullable(out) } else { Json::Object(out) })
    }

    fn reference(&mut self, reference: &str, node: &Node<'d>) -> Result<Json, Refusal> {
        let target = self.document.find(reference, node)?;
        let name = if let Some(name) = self.defined.get(&target.pointer) {
            name.clone()
        } else {
            let last = target.pointer.rsplit('/').next().unwrap_or_default();
            let name = self.names.add(&identifier(last));
            self.defined.insert(target.pointer.clone(), name.clone());
            self.queue.push_back((name.clone(), target));
            name
        };
        let mut out = Object::new();
        self.describe(node, &mut out);
        if self.document.version == Format::V31 {
            // Keywords beside the reference count as well, of which few are used.
            for (key, kind) in KEYWORDS {
                let is_plain = !matches!(kind, Kind::Schema | Kind::Schemas | Kind::SchemaMap);
                if let Some(value) = node.get(key).filter(|_| is_plain)
                    && let Some(copied) = self.keyword(key, kind, &value, 0)?
                {
                    out.insert(key, copied);
                }
            }
        }
        out.insert("$ref", format!("#/$defs/{name}"));
        Ok(Json::Object(out))
    }

    fn describe(&self, node: &Node<'d>, out: &mut Object) {
        let description = node.text("description").unwrap_or_default();
        let mut description = shorten(description, MAX_DESCRIPTION);
        // A default is applied by the server. As a keyword it would be sent.
        let default = node.value.get("default").filter(|own| !own.is_null()).map(Json::compact);
        if let Some(default) = default.filter(|own| own.len() <= MAX_DEFAULT_BYTES)
            && self.direction == Direction::Request
        {
            let space = if description.is_empty() { "" } else { " " };
            description = format!("{description}{space}(default: {default})");
        }
        out.insert_filled("description", description);
        let examples = node.value.get("examples").and_then(Json::as_array);
        let example = node.value.get("example").or_else(|| examples?.first());
        let is_shown = |own: &&Json| {
            let text = own.compact();
            !own.is_null() && text.len() <= MAX_EXAMPLE_BYTES && !redact::has_credential(&text)
        };
        let example = example.filter(is_shown);
        if let Some(example) = example.filter(|_| self.direction == Direction::Request) {
            out.insert("examples", vec![example.clone()]);
        }
    }

    fn properties(
        &mut self,
        node: &Node<'d>,
        depth: usize,
        out: &mut Object,
    ) -> Result<(), Refusal> {
        let mut omitted = HashSet::new();
        if let Some(properties) =
            node.get("properties").filter(|own| own.value.as_object().is_some())
        {
            let mut converted = Object::new();
            // A property may have any name, also one that begins with x-.
            for (name, property) in properties.entries() {
                if self.is_omitted(&property) {
                    omitted.insert(name);
                } else {
                    let mut schema = self.schema(&property, depth + 1)?;
                    without_example(name, &mut schema);
                    converted.insert(name.to_owned(), schema);
                }
            }
            out.insert("properties", converted);
        }
        let mut seen = HashSet::new();
        let names = node.value.get("required").and_then(Json::as_array).unwrap_or_default();
        let names = names.iter().filter_map(Json::as_str);
        let kept = names.filter(|name| !omitted.contains(name) && seen.insert(*name));
        let required: Vec<Json> = kept.map(Json::from).collect();
        out.insert_filled("required", required);
        Ok(())
    }

    /// Whether a property does not go this way.
    pub(super) fn is_omitted(&self, property: &Node<'d>) -> bool {
        let flag = self.direction.omitted();
        property.flag(flag) == Some(true)
            || self.document.resolve(property.clone()).is_ok_and(|own| own.flag(flag) == Some(true))
    }

    fn keyword(
        &mut self,
        key: &str,
        kind: Kind,
        node: &Node<'d>,
        depth: usize,
    ) -> Result<Option<Json>, Refusal> {
        let value = node.value;
        let copy = |is_valid: bool| Ok(is_valid.then(|| value.clone()));
        match kind {
            Kind::Any => copy(true),
            Kind::Number => copy(matches!(value, Json::Number(_))),
            Kind::Count => copy(value.as_u64().is_some()),
            Kind::Flag => copy(value.as_bool() == Some(true)),
            Kind::Text if key == "pattern" && !self.limits.patterns => Ok(None),
            // A pattern of credentials looks like one, which no manifest may have.
            Kind::Text => copy(
                value.as_str().is_some_and(|own| !own.is_empty() && !redact::has_credential(own)),
            ),
            Kind::Schema if value.as_array().is_some() => Ok(None),
            Kind::Schema => self.schema(node, depth + 1).map(Some),
            Kind::Schemas => {
                let items: Vec<Json> = node
                    .items()
                    .map(|item| self.schema(&item, depth + 1))
                    .collect::<Result<_, _>>()?;
                Ok((!items.is_empty()).then_some(Json::Array(items)))
            }
            Kind::SchemaMap => {
                let mut out = Object::new();
                for (name, schema) in node.entries() {
                    out.insert(name.to_owned(), self.schema(&schema, depth + 1)?);
                }
                Ok((!out.is_empty()).then_some(Json::Object(out)))
            }
        }
    }
}

/// Adds the description of a node to a schema without one.
pub(super) fn add_description(schema: &mut Json, node: &Node<'_>) {
    if let Json::Object(schema) = schema
        && !schema.contains_key("description")
    {
        schema.insert_some("description", node.description());
    }
}

/// Removes the example of a property whose name is that of a secret: it may be one.
pub(super) fn without_example(name: &str, schema: &mut Json) {
    if let Json::Object(schema) = schema
        && redact::is_secret_name(name)
    {
        schema.remove("examples");
    }
}

/// A schema with only the type of another one.
fn typed(node: &Node<'_>) -> Object {
    let mut out = Object::new();
    match &types(node)[..] {
        [] => {}
        [one] => out.insert("type", *one),
        kinds => out.insert("type", kinds.to_vec()),
    }
    out
}

/// The types that a schema names.
fn types<'d>(node: &Node<'d>) -> Vec<&'d str> {
    let known = |own: &'d Json| match own.as_str()? {
        // Swagger's files, where they are not parts of a form.
        "file" => Some("string"),
        name => TYPES.into_iter().find(|own| *own == name),
    };
    match node.value.get("type") {
        Some(Json::Array(items)) => {
            let mut kinds = Vec::new();
            for kind in items.iter().filter_map(known) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            kinds
        }
        own => own.and_then(known).into_iter().collect(),
    }
}

/// Adds `null` to the accepted values.
fn nullable(mut schema: Object) -> Json {
    let has_other =
        ["allOf", "anyOf", "oneOf", "const", "not"].iter().any(|key| schema.contains_key(key));
    if has_other {
        let null = object! {"type": "null"};
        return object! {"anyOf": vec![Json::Object(schema), null.into()]}.into();
    }
    if let Some(Json::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Json::Null)
    {
        values.push(Json::Null);
    }
    if let Some(kind) = schema.get_mut("type") {
        let mut kinds = match &*kind {
            Json::Array(kinds) => kinds.clone(),
            one => vec![one.clone()],
        };
        if !kinds.iter().any(|own| own.as_str() == Some("null")) {
            kinds.push(Json::from("null"));
        }
        *kind = Json::Array(kinds);
    }
    Json::Object(schema)
}
