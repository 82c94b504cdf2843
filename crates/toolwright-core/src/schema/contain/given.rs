//! The keywords that apply to a value, collected from the subschemas that are known to accept it.

use toolwright_json::{Json, Object};

use super::type_set::Types;
use super::{Comparison, Facts, Node};
use crate::schema::walk::distinct;

/// The keywords that apply to a value. Leaving one out is sound: less is known of the value.
#[derive(Debug)]
pub(super) struct Given<'d> {
    /// The subschemas, with references and `allOf` resolved
    pub(super) nodes: Vec<Node<'d>>,
    /// The possible types; none if no value is accepted
    pub(super) types: Types,
    /// The subschema that lists the possible values, and the values
    pub(super) values: Option<(Node<'d>, Vec<&'d Json>)>,
    /// The unions of which one member accepts the value
    pub(super) unions: Vec<Union<'d>>,
}

/// An `anyOf` or a `oneOf`.
#[derive(Debug)]
pub(super) struct Union<'d> {
    pub(super) id: *const Json,
    pub(super) members: Vec<Node<'d>>,
}

impl<'d> Comparison<'d> {
    /// Collects the keywords that apply to a value.
    pub(super) fn gather(&self, facts: &Facts<'d>) -> Given<'d> {
        let mut given =
            Given { nodes: Vec::new(), types: facts.types, values: None, unions: Vec::new() };
        let mut queue: Vec<Node<'d>> = facts.nodes.iter().rev().cloned().collect();
        let mut seen = Vec::new();
        while let Some(node) = queue.pop() {
            if seen.contains(&node.address()) {
                continue;
            }
            seen.push(node.address());
            match node.schema {
                Json::Object(object) => {
                    queue.extend(self.resolve(&node));
                    let is_ignored =
                        object.contains_key("$ref") && !self.source(node.side).has_ref_siblings();
                    if !is_ignored {
                        queue.extend(node.list("allOf"));
                        given.add(node, object, &facts.split);
                    }
                }
                Json::Bool(false) => given.types = Types::NONE,
                _ => {}
            }
        }
        given
    }

    /// Returns what is known about a property.
    pub(super) fn property(&self, given: &Given<'d>, name: &str) -> Facts<'d> {
        let mut nodes = Vec::new();
        for node in &given.nodes {
            let before = nodes.len();
            nodes.extend(node.member("properties", name));
            let mut is_certain = true;
            for (pattern, _) in members(node, "patternProperties") {
                match self.matches(pattern, name) {
                    Some(true) => nodes.extend(node.member("patternProperties", pattern)),
                    Some(false) => {}
                    None => is_certain = false,
                }
            }
            if nodes.len() == before && is_certain {
                nodes.extend(node.keyword("additionalProperties"));
            }
        }
        Facts::new(nodes)
    }

    /// Returns what is known about the item at an index, or about all later ones.
    pub(super) fn item(&self, given: &Given<'d>, index: Option<usize>) -> Facts<'d> {
        let of = |node| {
            let (prefix, rest) = self.tuple(node);
            index.and_then(|index| prefix.into_iter().nth(index)).or(rest)
        };
        Facts::new(given.nodes.iter().filter_map(of).collect())
    }

    /// Returns the schemas of the first items of an array, and of all others.
    pub(super) fn tuple(&self, node: &Node<'d>) -> (Vec<Node<'d>>, Option<Node<'d>>) {
        if self.source(node.side).has_prefix_items() {
            (node.list("prefixItems"), node.keyword("items"))
        } else if let Some(Json::Array(_)) = node.schema.get("items") {
            (node.list("items"), node.keyword("additionalItems"))
        } else {
            (Vec::new(), node.keyword("items"))
        }
    }
}

impl<'d> Given<'d> {
    fn add(&mut self, node: Node<'d>, object: &'d Object, split: &[*const Json]) {
        if let Some(types) = object.get("type").and_then(Types::declared) {
            self.types = self.types & types;
        }
        let constant = object.get("const").map(std::slice::from_ref);
        let listed = object.get("enum").and_then(Json::as_array);
        for values in constant.into_iter().chain(listed) {
            let types = values.iter().map(Types::of).fold(Types::NONE, |all, one| all | one);
            self.types = self.types & types;
            if self.values.as_ref().is_none_or(|(_, known)| known.len() > values.len()) {
                self.values = Some((node.clone(), values.iter().collect()));
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            let union = object.get(keyword).map(std::ptr::from_ref);
            if let Some(id) = union.filter(|id| !split.contains(id)) {
                self.unions.push(Union { id, members: node.list(keyword) });
            }
        }
        self.nodes.push(node);
    }

    /// Returns the values of a keyword.
    pub(super) fn keyword(&self, keyword: &str) -> impl Iterator<Item = &'d Json> {
        self.nodes.iter().filter_map(move |node| node.schema.get(keyword))
    }

    /// Returns the property names that a subschema names.
    pub(super) fn names(&self) -> Vec<&'d str> {
        let mut names: Vec<&str> = self
            .nodes
            .iter()
            .flat_map(|node| members(node, "properties"))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns what is known about a property that no subschema names: the alternatives, if names
    /// that match a pattern have another schema.
    pub(super) fn other_properties(&self) -> Vec<Facts<'d>> {
        let (patterned, plain): (Vec<_>, Vec<_>) =
            self.nodes.iter().partition(|node| !members(node, "patternProperties").is_empty());
        let base: Vec<Node<'d>> =
            plain.iter().filter_map(|node| node.keyword("additionalProperties")).collect();
        let with = |node: Option<Node<'d>>| Facts::new(base.iter().cloned().chain(node).collect());
        match patterned[..] {
            [node] => {
                let patterns = members(node, "patternProperties").into_iter();
                let matching =
                    patterns.map(|(pattern, _)| node.member("patternProperties", pattern));
                matching.chain([node.keyword("additionalProperties")]).map(with).collect()
            }
            _ => vec![with(None)],
        }
    }

    /// Returns the names of the required properties.
    pub(super) fn required(&self) -> Vec<&'d str> {
        let lists = self.keyword("required").filter_map(Json::as_array);
        let mut names: Vec<&str> = lists.flatten().filter_map(Json::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the largest value of a keyword that is a lower limit of a count.
    pub(super) fn at_least(&self, keyword: &str) -> u64 {
        self.keyword(keyword).filter_map(Json::as_u64).max().unwrap_or(0)
    }

    /// Returns the smallest value of a keyword that is an upper limit of a count.
    pub(super) fn at_most(&self, keyword: &str) -> Option<u64> {
        self.keyword(keyword).filter_map(Json::as_u64).min()
    }
}

/// Returns the members of a keyword's object, such as the properties.
pub(super) fn members<'d>(node: &Node<'d>, keyword: &str) -> Vec<(&'d str, &'d Json)> {
    node.schema.get(keyword).and_then(Json::as_object).map(distinct).unwrap_or_default()
}
