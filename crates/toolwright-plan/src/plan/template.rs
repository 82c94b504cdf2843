//! Values with references in them: arguments, items of `each`, conditions, outputs.

use std::borrow::Cow;
use std::fmt;

use toolwright_core::document::Faults;
use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Key, Object};

use super::error::{Fields, Node, PlanError, PlanErrorKind};

/// The member that makes an object a reference.
const FROM: &str = "$from";
/// The member that makes an object a literal value, whatever it looks like.
const LITERAL: &str = "$literal";

const FORMS: &[(&str, ReferenceForm)] =
    &[("value", ReferenceForm::Value), ("handle", ReferenceForm::Handle)];

/// Maximum depth of a template. Deeper values are refused.
const MAX_DEPTH: usize = 128;

/// Where the value of a reference comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// The inputs of the plan
    Inputs,
    /// The item of the step's `each`
    Item,
    /// The position of the item of the step's `each`, from 0
    Index,
    /// The output of a step
    Step(String),
}

/// How the value of a reference is passed to the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReferenceForm {
    /// The value itself
    #[default]
    Value,
    /// A handle that stands for the value (`"$as": "handle"`)
    Handle,
}

/// A reference to a value: `{"$from": "step/json/pointer"}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Where the value comes from
    pub source: Source,
    /// JSON Pointer into the source; empty for all of it
    pub pointer: String,
    /// How the value is passed
    pub form: ReferenceForm,
    /// The value if nothing is at the pointer, or if the step was skipped
    pub default: Option<Json>,
}

/// A JSON value in which some values are references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Template {
    /// A value without references
    Literal(Json),
    /// A reference
    Reference(Box<Reference>),
    /// An array with references in some items
    Array(Vec<Template>),
    /// An object with references in some members
    Object(Vec<(Key, Template)>),
}

impl Source {
    fn parse(text: &str) -> Source {
        match text {
            "inputs" => Source::Inputs,
            "item" => Source::Item,
            "index" => Source::Index,
            step => Source::Step(step.to_owned()),
        }
    }

    /// Returns the name in a reference.
    pub fn as_str(&self) -> &str {
        match self {
            Source::Inputs => "inputs",
            Source::Item => "item",
            Source::Index => "index",
            Source::Step(id) => id,
        }
    }

    /// Whether a name is that of a source other than a step, and so cannot be the id of a step.
    pub(super) fn is_reserved(name: &str) -> bool {
        !matches!(Source::parse(name), Source::Step(_))
    }
}

impl fmt::Display for Reference {
    /// Writes the text after `$from`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.source.as_str(), self.pointer)
    }
}

impl Reference {
    /// Creates a reference to a value, without a default.
    pub fn new(source: Source, pointer: impl Into<String>) -> Reference {
        let pointer = pointer.into();
        Reference { source, pointer, form: ReferenceForm::Value, default: None }
    }

    /// Parses the text after `$from`.
    pub fn parse(text: &str) -> Reference {
        let (source, pointer) = text.find('/').map_or((text, ""), |at| text.split_at(at));
        Reference::new(Source::parse(source), pointer)
    }

    fn decode(node: Node<'_>) -> Option<Reference> {
        let mut fields = Fields::of(node)?;
        let reference = fields.take(FROM).and_then(|node| {
            let problem =
                "'$from' is a text: the id of a step, 'inputs' or 'item', and a JSON Pointer";
            let reference = Reference::parse(node.some_or(node.value.as_str(), problem)?);
            if reference.pointer == "/" {
                node.fault("'$from' ends with a slash: remove it to refer to the whole value");
            }
            Some(reference)
        });
        let form = fields.take("$as").and_then(|node| node.one_of(FORMS)).unwrap_or_default();
        let default = fields.take("$default").map(|node| node.value.clone());
        fields.finish();
        Some(Reference { form, default, ..reference? })
    }

    fn to_json(&self) -> Json {
        let mut out = object! {"$from": self.to_string()};
        if self.form == ReferenceForm::Handle {
            out.insert("$as", "handle");
        }
        out.insert_some("$default", self.default.clone());
        out.into()
    }
}

impl Template {
    /// Parses a value. What is wrong becomes a literal.
    pub(super) fn parse(node: &Node<'_>) -> Template {
        Template::parse_at(node.value, &node.path(), 0, node.faults)
    }

    /// Parses a value at a path, for the paths of errors.
    pub fn from_json(value: &Json, path: &Path<'_>) -> Result<Template, Vec<PlanError>> {
        let faults = Faults::default();
        let template = Template::parse_at(value, path, 0, &faults);
        let errors = faults.take();
        if errors.is_empty() { Ok(template) } else { Err(errors) }
    }

    /// Parses a value. A large one has many values without a fault, so a [`Node`] is only created for a reference.
    fn parse_at(
        value: &Json,
        path: &Path<'_>,
        depth: usize,
        faults: &Faults<PlanError>,
    ) -> Template {
        if depth > MAX_DEPTH {
            let message = format!("the value is nested more than {MAX_DEPTH} levels deep");
            faults.add(PlanError::new(PlanErrorKind::Limit, path, message));
            return Template::Literal(Json::Null);
        }
        match value {
            Json::Object(object) if object.contains_key(FROM) => {
                match Reference::decode(Node { value, pointer: path.pointer(), faults }) {
                    Some(reference) => Template::Reference(Box::new(reference)),
                    None => Template::Literal(Json::Null),
                }
            }
            Json::Object(object) if object.contains_key(LITERAL) => {
                if object.len() > 1 {
                    let message = "an object with '$literal' has no other members";
                    faults.add(PlanError::new(PlanErrorKind::Shape, path, message));
                }
                Template::Literal(object.get(LITERAL).cloned().unwrap_or_default())
            }
            Json::Object(object) => {
                let member = |(name, value): (&str, &Json)| {
                    (key(name), Template::parse_at(value, &path.key(name), depth + 1, faults))
                };
                Template::object(object.iter().map(member).collect())
            }
            Json::Array(items) => {
                let item = |(index, value): (usize, &Json)| {
                    Template::parse_at(value, &path.index(index), depth + 1, faults)
                };
                Template::array(items.iter().enumerate().map(item).collect())
            }
            other => Template::Literal(other.clone()),
        }
    }

    /// Joins items. Without references among them, the array is a literal.
    pub(super) fn array(items: Vec<Template>) -> Template {
        if items.iter().all(Template::is_literal) {
            let items = items.into_iter().filter_map(Template::into_literal);
            Template::Literal(Json::Array(items.collect()))
        } else {
            Template::Array(items)
        }
    }

    /// Joins members. Without references among them, the object is a literal.
    pub(super) fn object(members: Vec<(Key, Template)>) -> Template {
        if members.iter().all(|(_, template)| template.is_literal()) {
            let literal = |(key, value): (Key, Template)| Some((key, value.into_literal()?));
            Template::Literal(Json::Object(members.into_iter().filter_map(literal).collect()))
        } else {
            Template::Object(members)
        }
    }

    /// Turns arrays and objects without references into literals.
    pub(super) fn simplified(self) -> Template {
        match self {
            Template::Array(items) => {
                Template::array(items.into_iter().map(Template::simplified).collect())
            }
            Template::Object(members) => {
                let member = |(key, value): (Key, Template)| (key, value.simplified());
                Template::object(members.into_iter().map(member).collect())
            }
            other => other,
        }
    }

    /// Returns the value as it is written in a plan.
    pub fn to_json(&self) -> Json {
        match self {
            Template::Literal(value) if needs_quoting(value) => {
                object! {"$literal": value.clone()}.into()
            }
            Template::Literal(value) => value.clone(),
            Template::Reference(reference) => reference.to_json(),
            Template::Array(items) => Json::Array(items.iter().map(Template::to_json).collect()),
            Template::Object(members) => {
                let members = members.iter().map(|(key, value)| (key.clone(), value.to_json()));
                Json::Object(members.collect())
            }
        }
    }

    /// Whether there is no reference in it.
    pub fn is_literal(&self) -> bool {
        matches!(self, Template::Literal(_))
    }

    /// Returns the reference, if the whole value is one.
    pub fn as_reference(&self) -> Option<&Reference> {
        match self {
            Template::Reference(reference) => Some(reference),
            _ => None,
        }
    }

    fn into_literal(self) -> Option<Json> {
        match self {
            Template::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Returns how much memory the value takes without the values of its references.
    pub(super) fn weight(&self) -> usize {
        match self {
            Template::Literal(value) => value.weight(),
            Template::Reference(_) => 0,
            Template::Array(items) => items.iter().map(Template::weight).sum(),
            Template::Object(members) => members.iter().map(|(_, value)| value.weight()).sum(),
        }
    }

    /// Returns the references, each with its JSON Pointer in the value.
    pub fn references(&self) -> Vec<(String, &Reference)> {
        let mut found = Vec::new();
        self.visit(&Path::ROOT, &mut |path, reference| found.push((path.pointer(), reference)));
        found
    }

    /// Returns the JSON Pointers of the references whose values are passed by handle.
    pub(super) fn handles(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.visit(&Path::ROOT, &mut |path, reference| {
            if reference.form == ReferenceForm::Handle {
                found.push(path.pointer());
            }
        });
        found
    }

    /// Visits the references, each with its path.
    pub(super) fn visit<'t>(
        &'t self,
        path: &Path<'_>,
        visit: &mut dyn FnMut(&Path<'_>, &'t Reference),
    ) {
        match self {
            Template::Literal(_) => {}
            Template::Reference(reference) => visit(path, reference),
            Template::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.visit(&path.index(index), visit);
                }
            }
            Template::Object(members) => {
                for (key, value) in members {
                    value.visit(&path.key(key), visit);
                }
            }
        }
    }

    /// Replaces each reference by its value. The first error ends it. A template that is one reference is not copied.
    pub fn fill<'t, E>(&'t self, get: &mut Getter<'_, 't, E>) -> Result<Cow<'t, Json>, E> {
        Ok(match self {
            Template::Literal(value) => Cow::Borrowed(value),
            Template::Reference(reference) => get(reference)?,
            Template::Array(items) => {
                let items = items.iter().map(|item| Ok(item.fill(get)?.into_owned()));
                Cow::Owned(Json::Array(items.collect::<Result<_, E>>()?))
            }
            Template::Object(members) => {
                let mut out = Object::with_capacity(members.len());
                for (key, value) in members {
                    out.push(key.clone(), value.fill(get)?.into_owned());
                }
                Cow::Owned(Json::Object(out))
            }
        })
    }
}

/// Returns the value of a reference.
pub type Getter<'g, 't, E> = dyn FnMut(&'t Reference) -> Result<Cow<'t, Json>, E> + 'g;

/// Whether a literal value would be read as something else.
fn needs_quoting(value: &Json) -> bool {
    match value {
        Json::Object(object) => {
            object.contains_key(FROM)
                || object.contains_key(LITERAL)
                || object.iter().any(|(_, value)| needs_quoting(value))
        }
        Json::Array(items) => items.iter().any(needs_quoting),
        _ => false,
    }
}
