//! References that lead back to a subschema for the same value, such as `{"not": {"$ref": "#"}}`. The
//! meaning of such a schema is not defined, and validators disagree about it, so nothing is proved of it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use toolwright_json::{Json, Object};

use super::{Comparison, Node, Side};
use crate::schema::walk::visit;

/// The state of a subschema in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// On the current path
    Open,
    /// Leads nowhere
    Done,
}

impl<'d> Comparison<'d> {
    /// Whether a reference of a schema leads back to itself for the same value.
    pub(super) fn has_endless_reference(&self, side: Side) -> bool {
        let source = self.source(side);
        let mut targets = Vec::new();
        visit(source.root, "", &mut |object, _| {
            let reference = object.get("$ref").and_then(Json::as_str);
            let target = reference.and_then(|reference| source.document.resolve(reference));
            targets.extend(target.map(|(schema, at)| Node { schema, at: at.into(), side }));
        });
        let mut states = HashMap::new();
        // Every cycle contains the target of a reference.
        targets.into_iter().any(|target| self.has_cycle(target, &mut states))
    }

    fn has_cycle(&self, start: Node<'d>, states: &mut HashMap<*const Json, State>) -> bool {
        let mut stack = vec![(start, false)];
        while let Some((node, is_left)) = stack.pop() {
            if is_left {
                states.insert(node.address(), State::Done);
                continue;
            }
            let Entry::Vacant(state) = states.entry(node.address()) else { continue };
            state.insert(State::Open);
            let next = self.same_value(&node);
            stack.push((node, true));
            for next in next {
                match states.get(&next.address()) {
                    Some(State::Open) => return true,
                    Some(State::Done) => {}
                    None => stack.push((next, false)),
                }
            }
        }
        false
    }

    /// The subschemas that a subschema applies to the value itself.
    fn same_value(&self, node: &Node<'d>) -> Vec<Node<'d>> {
        let mut next: Vec<Node<'d>> = self.resolve(node).into_iter().collect();
        next.extend(["allOf", "anyOf", "oneOf"].into_iter().flat_map(|own| node.list(own)));
        next.extend(["not", "if", "then", "else"].into_iter().filter_map(|own| node.keyword(own)));
        for keyword in ["dependentSchemas", "dependencies"] {
            let members = node.schema.get(keyword).and_then(Json::as_object);
            let names = members.into_iter().flat_map(Object::keys);
            next.extend(names.filter_map(|name| node.member(keyword, name)));
        }
        next
    }
}
