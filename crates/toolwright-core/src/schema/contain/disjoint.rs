//! Proofs that no value has two properties at once, for `not` and `oneOf`.

use super::given::Given;
use super::type_set::Types;
use super::{Comparison, Facts, Node, Side};

/// Maximum depth of values and unions in such a proof.
const MAX_DEPTH: usize = 8;

impl<'d> Comparison<'d> {
    /// Whether no value is accepted by both schemas.
    pub(super) fn are_roots_disjoint(&self) -> bool {
        let root = |side| Facts::new(vec![self.root(side)]);
        self.are_disjoint(&root(Side::Inner), &root(Side::Outer), 0)
    }

    /// Whether no value of which some facts are known is accepted by a subschema.
    pub(super) fn is_disjoint(&self, facts: &Facts<'d>, node: &Node<'d>) -> bool {
        self.are_disjoint(facts, &Facts::new(vec![node.clone()]), 0)
    }

    fn are_disjoint(&self, one: &Facts<'d>, other: &Facts<'d>, depth: usize) -> bool {
        if depth > MAX_DEPTH || !self.take_step() {
            return false;
        }
        let (a, b) = (self.gather(one), self.gather(other));
        let types = a.types & b.types;
        types.is_empty()
            || self.has_no_value_of(&a, other)
            || self.has_no_value_of(&b, one)
            || types == Types::OBJECT && self.have_disjoint_property(&a, &b, depth)
            || self.has_disjoint_union(&a, one, other, depth)
            || self.has_disjoint_union(&b, other, one, depth)
    }

    /// Whether the listed values are all rejected.
    fn has_no_value_of(&self, given: &Given<'d>, other: &Facts<'d>) -> bool {
        let is_rejected =
            |value| other.nodes.iter().any(|node| self.accepts(node, value) == Some(false));
        given
            .values
            .as_ref()
            .is_some_and(|(_, values)| values.iter().all(|value| is_rejected(value)))
    }

    /// Whether a property that one side requires is excluded by the other.
    fn have_disjoint_property(&self, a: &Given<'d>, b: &Given<'d>, depth: usize) -> bool {
        let mut names = a.required();
        names.extend(b.required());
        names.iter().any(|name| {
            self.are_disjoint(&self.property(a, name), &self.property(b, name), depth + 1)
        })
    }

    fn has_disjoint_union(
        &self,
        given: &Given<'d>,
        facts: &Facts<'d>,
        other: &Facts<'d>,
        depth: usize,
    ) -> bool {
        given.unions.iter().any(|union| {
            union.members.iter().all(|member| {
                self.are_disjoint(&facts.with_member(union.id, member.clone()), other, depth + 1)
            })
        })
    }
}
