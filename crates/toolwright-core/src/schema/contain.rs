//! Containment of schemas: whether every value that one schema accepts is accepted by another.
//!
//! Three answers are possible, and the first two are certain. `prove` derives each keyword of the
//! outer schema from the keywords of the inner one (`given`); `refute` builds values that the inner
//! schema accepts, close to the limits of the outer one, until the validator of the outer schema
//! rejects one. If neither succeeds within the budget, the answer is [`Containment::Unknown`].

mod bound;
mod disjoint;
mod endless;
mod given;
mod prove;
mod refute;
mod type_set;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jsonschema::Draft;
use toolwright_json::Json;

use super::Violation;
use super::check::{Check, Part, Parts};
use super::inline::Document;
use super::walk::{step, visit};
use type_set::Types;

/// Maximum number of steps that a proof or a search for a witness takes.
const MAX_STEPS: usize = 20_000;

/// Whether every value that one schema accepts is accepted by another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Containment {
    /// Every value is accepted.
    Contained,
    /// A value is not accepted.
    NotContained(Box<Witness>),
    /// Neither was shown.
    Unknown {
        /// JSON Pointer into the outer schema, to the keyword that was not derived
        schema_path: String,
    },
}

/// A value that shows that a schema is not contained in another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Witness {
    /// A value that the inner schema accepts and the outer schema rejects
    pub value: Json,
    /// The reason, with the path of the rejected part of the value
    pub violation: Violation,
}

/// Determines whether every value that `inner` accepts is accepted by `outer`.
pub fn containment(inner: &Check, outer: &Check) -> Containment {
    let unknown = |schema_path: String| Containment::Unknown { schema_path };
    let compared = compare(inner, outer, |comparison| {
        let schema_path = match comparison.prove_root() {
            Ok(()) => return Containment::Contained,
            Err(unproved) => unproved,
        };
        match comparison.refute(inner, outer) {
            Some(witness) => Containment::NotContained(Box::new(witness)),
            None => unknown(schema_path),
        }
    });
    compared.unwrap_or_else(|| unknown(String::new()))
}

/// Whether it is certain that no value is accepted by both schemas.
pub fn are_disjoint(one: &Check, other: &Check) -> bool {
    let compared = compare(one, other, |comparison| {
        comparison.is_meaningful() && comparison.are_roots_disjoint()
    });
    compared.unwrap_or(false)
}

/// Compares two schemas, unless one of them cannot be taken apart.
fn compare<T>(inner: &Check, outer: &Check, judge: impl FnOnce(&Comparison<'_>) -> T) -> Option<T> {
    let (inner_document, outer_document) = (inner.document(), outer.document());
    let comparison = Comparison {
        inner: Source::new(inner, inner_document.parts()?),
        outer: Source::new(outer, outer_document.parts()?),
        steps: RefCell::new(MAX_STEPS),
        patterns: RefCell::default(),
    };
    Some(judge(&comparison))
}

/// Which of the two schemas a subschema belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Inner,
    Outer,
}

/// A subschema of one of the two schemas, with its JSON Pointer.
#[derive(Debug, Clone)]
struct Node<'d> {
    schema: &'d Json,
    at: Rc<str>,
    side: Side,
}

impl<'d> Node<'d> {
    /// Returns the subschema of a keyword.
    fn keyword(&self, keyword: &str) -> Option<Node<'d>> {
        let schema = self.schema.get(keyword)?;
        Some(Node { schema, at: step(&self.at, keyword).into(), side: self.side })
    }

    /// Returns a member of a keyword's value, such as a property.
    fn member(&self, keyword: &str, key: &str) -> Option<Node<'d>> {
        self.keyword(keyword)?.keyword(key)
    }

    /// Returns the subschemas in a keyword's list.
    fn list(&self, keyword: &str) -> Vec<Node<'d>> {
        let items = self.schema.get(keyword).and_then(Json::as_array).unwrap_or_default();
        let at = step(&self.at, keyword);
        let node =
            |(index, schema)| Node { schema, at: format!("{at}/{index}").into(), side: self.side };
        items.iter().enumerate().map(node).collect()
    }

    /// The identity of the subschema, for comparison.
    fn address(&self) -> *const Json {
        self.schema
    }
}

/// One of the two schemas.
struct Source<'d> {
    root: &'d Json,
    document: Document<'d>,
    draft: Draft,
    /// Whether all references resolve within the document by pointers
    is_plain: bool,
    parts: Parts<'d>,
    /// Compiled subschemas by pointer
    compiled: RefCell<HashMap<Rc<str>, Option<Rc<Part<'d>>>>>,
}

impl<'d> Source<'d> {
    fn new(check: &'d Check, parts: Parts<'d>) -> Source<'d> {
        let root = check.schema();
        let mut is_plain = true;
        visit(root, "", &mut |object, at| {
            is_plain &= at.is_empty() || !object.contains_key("$id") && !object.contains_key("id");
        });
        Source {
            root,
            document: Document::new(root),
            draft: check.draft(),
            is_plain,
            parts,
            compiled: RefCell::default(),
        }
    }

    /// Whether keywords beside a `$ref` apply.
    fn has_ref_siblings(&self) -> bool {
        !matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
    }

    /// Whether a tuple is written with `prefixItems`.
    fn has_prefix_items(&self) -> bool {
        self.has_ref_siblings() && self.draft != Draft::Draft201909
    }
}

/// Two schemas under comparison.
struct Comparison<'d> {
    inner: Source<'d>,
    outer: Source<'d>,
    /// Number of steps that are left
    steps: RefCell<usize>,
    /// Compiled patterns, which are matched against property names
    patterns: RefCell<HashMap<String, Option<Rc<Check>>>>,
}

impl<'d> Comparison<'d> {
    fn source(&self, side: Side) -> &Source<'d> {
        match side {
            Side::Inner => &self.inner,
            Side::Outer => &self.outer,
        }
    }

    fn root(&self, side: Side) -> Node<'d> {
        Node { schema: self.source(side).root, at: "".into(), side }
    }

    /// Takes one step; false if none is left.
    fn take_step(&self) -> bool {
        let mut steps = self.steps.borrow_mut();
        let is_left = *steps > 0;
        *steps = steps.saturating_sub(1);
        is_left
    }

    /// Returns the target of a node's reference.
    fn resolve(&self, node: &Node<'d>) -> Option<Node<'d>> {
        let source = self.source(node.side);
        let reference = node.schema.get("$ref")?.as_str()?;
        let (schema, at) = source.document.resolve(reference).filter(|_| source.is_plain)?;
        Some(Node { schema, at: at.into(), side: node.side })
    }

    /// Whether the validator of a subschema accepts a value; `None` if that cannot be determined within
    /// the limits.
    fn accepts(&self, node: &Node<'d>, value: &Json) -> Option<bool> {
        let source = self.source(node.side);
        let known = source.compiled.borrow().get(&node.at).cloned();
        let part = known.unwrap_or_else(|| {
            let part = source.parts.compile(&node.at).map(Rc::new);
            source.compiled.borrow_mut().insert(Rc::clone(&node.at), part.clone());
            part
        });
        part?.try_accepts(value)
    }

    /// Whether a pattern matches a text; `None` if that cannot be determined within the limits.
    fn matches(&self, pattern: &str, text: &str) -> Option<bool> {
        let known = self.patterns.borrow().get(pattern).cloned();
        let check = known.unwrap_or_else(|| {
            let schema = Json::Object(toolwright_json::object! {"pattern": pattern});
            let check = Check::compile(&schema).ok().map(Rc::new);
            self.patterns.borrow_mut().insert(pattern.to_owned(), check.clone());
            check
        });
        check?.try_accepts(&Json::from(text)).ok()
    }
}

/// What is known about a value: the subschemas that accept it, and its possible types.
#[derive(Debug, Clone)]
struct Facts<'d> {
    nodes: Vec<Node<'d>>,
    types: Types,
    /// The unions of which one member is already among the nodes
    split: Vec<*const Json>,
}

impl<'d> Facts<'d> {
    fn new(nodes: Vec<Node<'d>>) -> Facts<'d> {
        Facts { nodes, types: Types::ALL, split: Vec::new() }
    }

    /// Adds a member of a union.
    fn with_member(&self, union: *const Json, member: Node<'d>) -> Facts<'d> {
        let mut facts = self.clone();
        facts.nodes.push(member);
        facts.split.push(union);
        facts
    }

    fn with_types(&self, types: Types) -> Facts<'d> {
        Facts { types: self.types & types, ..self.clone() }
    }
}
