//! Proofs that a schema accepts all values of which some facts are known: each keyword follows from
//! the facts, or does so in every case of a finite split.
//!
//! A recursive schema is proved by induction: while a claim is open, it may be used for the parts of
//! the value, which are smaller.

use jsonschema::Draft;
use toolwright_json::{Json, Object};

use super::given::{Given, members};
use super::type_set::Types;
use super::{Comparison, Facts, Node, Side};
use crate::schema::walk::{distinct, restricts, step, visit};

/// Maximum number of claims that are open at the same time.
const MAX_OPEN: usize = 96;

/// The result of a proof: an error is the JSON Pointer, in the outer schema, to the first keyword that
/// does not follow.
type Proof = Result<(), String>;

impl Comparison<'_> {
    /// Proves that the outer schema accepts all values of the inner one.
    pub(super) fn prove_root(&self) -> Proof {
        let goal = self.root(Side::Outer);
        if !self.is_meaningful() {
            return Err(goal.at.to_string());
        }
        let mut prover = Prover { comparison: self, open: Vec::new(), depth: 0 };
        prover.prove(&Facts::new(vec![self.root(Side::Inner)]), &goal)
    }

    /// Whether the keywords of both schemas have the meaning that proofs assume.
    pub(super) fn is_meaningful(&self) -> bool {
        use Draft::{Draft6, Draft7, Draft201909, Draft202012};
        [Side::Inner, Side::Outer].into_iter().all(|side| {
            matches!(self.source(side).draft, Draft6 | Draft7 | Draft201909 | Draft202012)
                && !self.has_endless_reference(side)
        })
    }
}

/// A claim whose proof is under way.
#[derive(PartialEq, Eq)]
struct Claim {
    facts: Vec<*const Json>,
    types: Types,
    goal: *const Json,
}

struct Prover<'c, 'd> {
    comparison: &'c Comparison<'d>,
    /// The claims that are open, each with the depth of its value
    open: Vec<(Claim, usize)>,
    /// The depth of the current value
    depth: usize,
}

impl<'d> Prover<'_, 'd> {
    fn prove(&mut self, facts: &Facts<'d>, goal: &Node<'d>) -> Proof {
        let unproved = || Err(goal.at.to_string());
        let given = self.comparison.gather(facts);
        let object = match goal.schema {
            _ if given.types.is_empty() => return Ok(()),
            Json::Bool(true) => return Ok(()),
            Json::Object(object) => object,
            _ => return unproved(),
        };
        if facts.nodes.iter().any(|node| self.is_same(node, goal)) {
            return Ok(());
        }
        let claim = Claim {
            facts: facts.nodes.iter().map(Node::address).collect(),
            types: facts.types,
            goal: goal.address(),
        };
        match self.open.iter().find(|(open, _)| *open == claim) {
            Some((_, depth)) if *depth < self.depth => return Ok(()),
            Some(_) => return unproved(),
            None => {}
        }
        if self.open.len() >= MAX_OPEN || !self.comparison.take_step() {
            return unproved();
        }
        self.open.push((claim, self.depth));
        let direct = self.derive(facts, &given, goal, object);
        let proof = direct.or_else(|path| {
            if self.holds_in_each_case(facts, &given, goal) { Ok(()) } else { Err(path) }
        });
        self.open.pop();
        proof
    }

    /// Whether two subschemas are the same, and mean the same.
    fn is_same(&self, node: &Node<'d>, goal: &Node<'d>) -> bool {
        let sources = [node, goal].map(|node| self.comparison.source(node.side));
        if sources[0].draft != sources[1].draft || !node.schema.same(goal.schema) {
            return false;
        }
        let mut is_closed = true;
        visit(goal.schema, "", &mut |object, _| {
            let mut references = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter();
            is_closed &= !references.any(|keyword| object.contains_key(keyword));
        });
        is_closed
    }

    /// Proves a claim about a part of the value.
    fn prove_within(&mut self, facts: &Facts<'d>, goal: &Node<'d>) -> Proof {
        self.depth += 1;
        let proof = self.prove(facts, goal);
        self.depth -= 1;
        proof
    }

    /// Proves a claim for each type, listed value or member of a union.
    fn holds_in_each_case(
        &mut self,
        facts: &Facts<'d>,
        given: &Given<'d>,
        goal: &Node<'d>,
    ) -> bool {
        if let Some((node, values)) = &given.values {
            let comparison = self.comparison;
            let is_excluded = |value| {
                !given.types.has_any(Types::of(value))
                    || comparison.accepts(node, value) == Some(false)
            };
            let is_accepted = |value| comparison.accepts(goal, value) == Some(true);
            return values.iter().all(|value| is_excluded(value) || is_accepted(value));
        }
        if given.types.is_within(Types::NULL | Types::BOOLEAN) {
            let values = [Json::Null, Json::Bool(true), Json::Bool(false)];
            let mut possible =
                values.into_iter().filter(|value| given.types.has_any(Types::of(value)));
            return possible.all(|value| self.comparison.accepts(goal, &value) == Some(true));
        }
        given.unions.iter().any(|union| {
            let mut members = union.members.iter();
            members.all(|member| {
                self.prove(&facts.with_member(union.id, member.clone()), goal).is_ok()
            })
        }) || given.types.each().count() > 1
            && given.types.each().all(|single| self.prove(&facts.with_types(single), goal).is_ok())
    }

    /// Derives each keyword of the goal from the facts.
    fn derive(
        &mut self,
        facts: &Facts<'d>,
        given: &Given<'d>,
        goal: &Node<'d>,
        object: &'d Object,
    ) -> Proof {
        for (keyword, value) in distinct(object) {
            let is_derived = match keyword {
                "$ref" => match self.comparison.resolve(goal) {
                    Some(target) => self.prove(facts, &target).is_ok(),
                    None => false,
                },
                "allOf" | "anyOf" | "oneOf" | "not" | "if" => {
                    self.derive_combination(facts, goal, keyword)?
                }
                "type" => Types::declared(value).is_some_and(|types| given.types.is_within(types)),
                "enum" | "const" => given.values.as_ref().is_some_and(|(_, values)| {
                    let accepted = match value {
                        Json::Array(list) if keyword == "enum" => list.as_slice(),
                        _ => std::slice::from_ref(value),
                    };
                    let is_listed = |own: &&Json| accepted.iter().any(|other| own.equals(other));
                    values.iter().all(is_listed)
                }),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                    !given.types.has_any(Types::NUMBER)
                        || matches!(value, Json::Number(limit) if given.implies_limit(keyword, limit))
                }
                "minLength" | "maxLength" | "pattern" | "contentEncoding" | "contentMediaType" => {
                    !given.types.has_any(Types::STRING)
                        || self.derive_text(given, goal, keyword, value)
                }
                "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems"
                | "uniqueItems" | "contains" | "maxContains" | "unevaluatedItems" => {
                    !given.types.has_any(Types::ARRAY)
                        || self.derive_array(given, goal, keyword, value)?
                }
                "properties"
                | "patternProperties"
                | "additionalProperties"
                | "required"
                | "minProperties"
                | "maxProperties"
                | "propertyNames"
                | "dependentRequired"
                | "dependentSchemas"
                | "dependencies"
                | "unevaluatedProperties" => {
                    !given.types.has_any(Types::OBJECT)
                        || self.derive_object(facts, given, goal, keyword, value)?
                }
                "then" | "else" | "format" | "propertyOrdering" | "minContains" | "ref"
                | "contentSchema" => true,
                other => !restricts(other),
            };
            if !is_derived {
                return Err(step(&goal.at, keyword));
            }
        }
        Ok(())
    }

    fn derive_combination(
        &mut self,
        facts: &Facts<'d>,
        goal: &Node<'d>,
        keyword: &str,
    ) -> Result<bool, String> {
        let members = goal.list(keyword);
        match keyword {
            "allOf" => members.iter().try_for_each(|member| self.prove(facts, member))?,
            "anyOf" => return Ok(members.iter().any(|member| self.prove(facts, member).is_ok())),
            "oneOf" => {
                return Ok((0..members.len()).any(|at| {
                    let mut others = members.iter().enumerate().filter(|(other, _)| *other != at);
                    self.prove(facts, &members[at]).is_ok()
                        && others.all(|(_, other)| self.comparison.is_disjoint(facts, other))
                }));
            }
            "not" => {
                let node = goal.keyword("not");
                return Ok(node.is_some_and(|node| self.comparison.is_disjoint(facts, &node)));
            }
            _ => {
                let (Some(condition), then) = (goal.keyword("if"), goal.keyword("then")) else {
                    return Ok(false);
                };
                if let Some(then) = then {
                    let mut known = facts.clone();
                    known.nodes.push(condition);
                    self.prove(&known, &then)?;
                }
                if let Some(otherwise) = goal.keyword("else") {
                    self.prove(facts, &otherwise)?;
                }
            }
        }
        Ok(true)
    }

    fn derive_text(&self, given: &Given<'d>, goal: &Node<'d>, keyword: &str, value: &Json) -> bool {
        match keyword {
            "pattern" => given.keyword("pattern").any(|own| own == value),
            // Later drafts do not validate the content.
            "contentEncoding" | "contentMediaType" => {
                self.comparison.source(goal.side).has_ref_siblings()
            }
            _ => value.as_u64().is_some_and(|limit| given.implies_count(keyword, limit)),
        }
    }

    fn derive_array(
        &mut self,
        given: &Given<'d>,
        goal: &Node<'d>,
        keyword: &str,
        value: &Json,
    ) -> Result<bool, String> {
        let comparison = self.comparison;
        let longest = given.at_most("maxItems");
        match keyword {
            "minItems" | "maxItems" => {
                Ok(value.as_u64().is_some_and(|limit| given.implies_count(keyword, limit)))
            }
            "uniqueItems" => Ok(value.as_bool() == Some(false)
                || longest.is_some_and(|longest| longest < 2)
                || given.keyword("uniqueItems").any(|own| own.as_bool() == Some(true))),
            "contains" => {
                let is_one =
                    goal.schema.get("minContains").is_none_or(|least| least.as_u64() == Some(1));
                let first = comparison.item(given, Some(0));
                Ok(is_one
                    && given.at_least("minItems") > 0
                    && self.prove_within(&first, &goal.keyword("contains").ok_or("")?).is_ok())
            }
            "items" | "prefixItems" | "additionalItems" => {
                let (prefix, rest) = comparison.tuple(goal);
                let known = given.nodes.iter().map(|node| comparison.tuple(node).0.len()).max();
                let known = prefix.len().max(known.unwrap_or(0));
                for index in 0..known {
                    let goal = prefix.get(index).or(rest.as_ref());
                    let is_absent = longest.is_some_and(|longest| longest <= index as u64);
                    if let Some(goal) = goal.filter(|_| !is_absent) {
                        self.prove_within(&comparison.item(given, Some(index)), goal)?;
                    }
                }
                let is_absent = longest.is_some_and(|longest| longest <= known as u64);
                if let Some(rest) = rest.filter(|_| !is_absent) {
                    self.prove_within(&comparison.item(given, None), &rest)?;
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn derive_object(
        &mut self,
        facts: &Facts<'d>,
        given: &Given<'d>,
        goal: &Node<'d>,
        keyword: &str,
        value: &Json,
    ) -> Result<bool, String> {
        let comparison = self.comparison;
        let required = given.required();
        let is_possible =
            |name: &str| !comparison.gather(&comparison.property(given, name)).types.is_empty();
        match keyword {
            "required" => {
                let mut names =
                    value.as_array().unwrap_or_default().iter().filter_map(Json::as_str);
                Ok(names.all(|name| required.contains(&name)))
            }
            "minProperties" => Ok(value.as_u64().is_some_and(|limit| {
                required.len() as u64 >= limit || given.implies_count(keyword, limit)
            })),
            "maxProperties" => Ok(value.as_u64().is_some_and(|limit| {
                given.implies_count(keyword, limit)
                    || self.is_closed(given) && given.names().len() as u64 <= limit
            })),
            "properties" => {
                for (name, _) in members(goal, keyword) {
                    let Some(goal) = goal.member(keyword, name) else { return Ok(false) };
                    self.prove_within(&comparison.property(given, name), &goal)?;
                }
                Ok(true)
            }
            "patternProperties" => {
                for (pattern, _) in members(goal, keyword) {
                    let Some(goal) = goal.member(keyword, pattern) else { return Ok(false) };
                    for name in given.names() {
                        if comparison.matches(pattern, name) != Some(false) {
                            self.prove_within(&comparison.property(given, name), &goal)?;
                        }
                    }
                    self.prove_others(given, &goal)?;
                }
                Ok(true)
            }
            "additionalProperties" => self.derive_additional(given, goal, keyword),
            "unevaluatedProperties" => {
                let applicators =
                    ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"];
                if applicators.iter().any(|keyword| goal.schema.get(keyword).is_some()) {
                    return Ok(value.as_bool() == Some(true));
                }
                self.derive_additional(given, goal, keyword)
            }
            "propertyNames" => {
                let Some(goal) = goal.keyword(keyword) else { return Ok(false) };
                let is_accepted = |name: &&str| {
                    comparison.accepts(&goal, &Json::from(*name)) == Some(true)
                        || !is_possible(name)
                };
                let names = given.names();
                if self.is_closed(given) {
                    return Ok(names.iter().all(is_accepted));
                }
                let nodes = given.nodes.iter().filter_map(|node| node.keyword(keyword)).collect();
                self.prove_within(&Facts::new(nodes).with_types(Types::STRING), &goal)?;
                Ok(true)
            }
            // "dependentRequired", "dependentSchemas" and "dependencies"
            _ => {
                for (name, needed) in members(goal, keyword) {
                    if !is_possible(name) {
                        continue;
                    }
                    if let Json::Array(needed) = needed {
                        let mut needed = needed.iter().filter_map(Json::as_str);
                        if !needed.all(|needed| required.contains(&needed)) {
                            return Ok(false);
                        }
                    } else if let Some(goal) = goal.member(keyword, name) {
                        self.prove(facts, &goal)?;
                    }
                }
                Ok(true)
            }
        }
    }

    /// Derives the schema of the properties that the goal does not name.
    fn derive_additional(
        &mut self,
        given: &Given<'d>,
        goal: &Node<'d>,
        keyword: &str,
    ) -> Result<bool, String> {
        let Some(additional) = goal.keyword(keyword) else { return Ok(false) };
        let patterns = members(goal, "patternProperties");
        let is_matched = |name: &str| {
            patterns.iter().any(|(pattern, _)| self.comparison.matches(pattern, name) == Some(true))
        };
        let own = members(goal, "properties");
        let is_named = |name: &&str| own.iter().any(|(own, _)| own == name) || is_matched(name);
        let names: Vec<&str> = given.names().into_iter().filter(|name| !is_named(name)).collect();
        for name in names {
            self.prove_within(&self.comparison.property(given, name), &additional)?;
        }
        self.prove_others(given, &additional)?;
        Ok(true)
    }

    /// Proves a claim about the properties that no fact names.
    fn prove_others(&mut self, given: &Given<'d>, goal: &Node<'d>) -> Proof {
        let alternatives = given.other_properties();
        alternatives.iter().try_for_each(|facts| self.prove_within(facts, goal))
    }

    /// Whether all properties are named by the facts.
    fn is_closed(&self, given: &Given<'d>) -> bool {
        let alternatives = given.other_properties();
        alternatives.iter().all(|facts| self.comparison.gather(facts).types.is_empty())
    }
}
