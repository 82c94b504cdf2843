//! Unions: `anyOf`, and keywords that become one (`oneOf`, type lists, tuples).

use toolwright_json::Json;

use super::BUDGET;
use super::keep::Draft;
use super::lower::{Built, Lowering};
use super::nulls::Location;
use super::shape::{Member, Shape, Source, Value};
use super::subset::Types;
use super::walk::{applies_to, holds_definitions, restricts, step, type_of};
use crate::loss::Severity;

/// A member beside a union, or the union itself.
enum Slot<'s> {
    Here,
    Beside(Member<'s>),
}

impl<'s> Lowering<'s, '_> {
    /// Returns the position of the union among the members of a node. A second one goes into the
    /// description.
    pub(super) fn union_of(&mut self, shape: &mut Shape<'s>) -> Option<usize> {
        let mut union: Option<usize> = None;
        let mut index = 0;
        while let Some(member) = shape.members.get(index) {
            let is_union = matches!(member.key, "anyOf" | "oneOf")
                && matches!(&member.value, Value::Schemas(branches) if !branches.is_empty());
            if !is_union {
                index += 1;
            } else if union.is_none() {
                if member.key == "oneOf" {
                    self.push(&member.at, "became anyOf", "have no oneOf", Severity::Note);
                }
                union = Some(index);
                index += 1;
            } else {
                let member = shape.members.remove(index);
                let mut draft = Draft::default();
                self.drop(&mut draft, member.key, member.raw, &member.at, false);
                shape.texts.append(&mut draft.texts);
            }
        }
        union
    }

    /// Writes a union. Constraints beside it are repeated in each branch, because a branch must
    /// have its own type and a closed branch its own properties.
    pub(super) fn branches(&mut self, shape: Shape<'s>, union: usize) -> Built {
        let mut own = Shape::new(shape.at.clone());
        let mut slots = Vec::new();
        let mut branches = Vec::new();
        let mut union_at = shape.at.clone();
        let mut nullable = false;
        for (index, member) in shape.members.into_iter().enumerate() {
            match member.value {
                Value::Schemas(sources) if index == union => {
                    slots.push(Slot::Here);
                    union_at = member.at;
                    branches = sources;
                }
                _ if restricts(member.key) => own.members.push(member),
                _ if member.key == "nullable" && self.rules.types != Types::Flag => {
                    self.push(&member.at, "became a branch", "have no nullable", Severity::Note);
                    nullable = member.raw.as_bool() == Some(true);
                }
                _ => slots.push(Slot::Beside(member)),
            }
        }
        let bare = branches.iter().any(|branch| branch.bare);
        for member in &own.members {
            let (what, severity) = if bare {
                ("removed", Severity::Major)
            } else {
                ("said in each branch", Severity::Note)
            };
            self.push(&member.at, what, "have nothing beside anyOf", severity);
        }
        let copied = !own.members.is_empty() && !bare;
        let mut built = Vec::new();
        for branch in &branches {
            if branch.schema == &Json::Bool(false) {
                self.push(&branch.at, "removed", "have no branch for nothing", Severity::Note);
                continue;
            }
            if !copied {
                built.push(self.node(std::slice::from_ref(branch)));
                continue;
            }
            if self.spent > BUDGET {
                self.push(&branch.at, "removed", "would become too large", Severity::Major);
                continue;
            }
            built.push(self.extended_branch(&own, branch));
        }
        if nullable {
            built.push(Built {
                json: Json::Object(toolwright_json::object! { "type": "null" }),
                place: None,
            });
        }
        if built.is_empty() {
            // No branch matches anything: the node is written without the union.
            own.members.extend(slots.into_iter().filter_map(|slot| match slot {
                Slot::Beside(member) => Some(member),
                Slot::Here => None,
            }));
            own.texts = shape.texts;
            return self.typed(own, false);
        }
        self.assemble(&shape.at, &union_at, slots, shape.texts, built)
    }

    /// Combines a branch with the keywords beside the union.
    fn extended_branch(&mut self, own: &Shape<'s>, branch: &Source<'s>) -> Built {
        let mut shape = own.clone();
        shape.at = branch.at.clone();
        self.copies += 1;
        self.depth += 1;
        self.absorb(&mut shape, branch);
        let built = self.emit(shape, false);
        self.depth -= 1;
        self.copies -= 1;
        built
    }

    /// Writes a node of several types as one branch for each.
    pub(super) fn split(&mut self, shape: Shape<'s>, types: &[&'static str]) -> Built {
        let at = shape.at.clone();
        let type_at = step(&at, "type");
        let mut own = Vec::new();
        let mut slots = Vec::new();
        for member in shape.members {
            match member.key {
                "type" => {
                    self.push(&member.at, "split into anyOf", "have one type", Severity::Note);
                    slots.push(Slot::Here);
                }
                key if restricts(key) => own.push(member),
                _ => slots.push(Slot::Beside(member)),
            }
        }
        if !slots.iter().any(|slot| matches!(slot, Slot::Here)) {
            slots.insert(0, Slot::Here);
        }
        let mut built = Vec::new();
        for name in types {
            let mut branch = Shape::new(at.clone());
            branch.members = own.iter().filter_map(|member| limited(member, name)).collect();
            let possible = branch.members.iter().all(|member| match (member.key, &member.value) {
                ("enum", Value::Data(value)) => value.as_array().is_none_or(|v| !v.is_empty()),
                ("const", Value::Data(value)) => fits(value, name),
                _ => true,
            });
            if possible {
                built.push(self.single(branch, &[name], false));
            }
        }
        if built.is_empty() {
            // The enumeration has none of the types; it is kept as it is.
            let mut whole = Shape::new(at.clone());
            whole.members = own;
            built.push(self.single(whole, &types[..1], false));
        }
        self.assemble(&at, &type_at, slots, shape.texts, built)
    }

    /// Combines branches and the keywords beside them.
    fn assemble(
        &mut self,
        at: &str,
        union_at: &str,
        slots: Vec<Slot<'s>>,
        texts: Vec<String>,
        built: Vec<Built>,
    ) -> Built {
        let before = built.len();
        let mut place = Location::default();
        let mut branches: Vec<Json> = Vec::new();
        let mut flag = false;
        let mut seen = std::collections::HashSet::new();
        for Built { json, place: below } in built {
            place.same.extend(below);
            if self.rules.types == Types::Flag && is_null(&json) && before > 1 {
                flag = true;
            } else if seen.insert(json.to_string()) {
                branches.push(json);
            }
        }
        if branches.is_empty() {
            branches
                .push(Json::Object(toolwright_json::object! { "type": self.rules.spell("null") }));
        }
        if flag {
            self.push(union_at, "null became nullable", "have a flag for it", Severity::Note);
        }
        let beside = slots.len() > 1 || !texts.is_empty();
        let reference = branches.first().is_some_and(|branch| branch.get("$ref").is_some());
        let collapse = branches.len() == 1 && before > 1 && !(reference && beside);
        if collapse {
            self.push(union_at, "merged", "have no need of one branch", Severity::Note);
        }
        let mut draft = Draft { texts, ..Draft::default() };
        for slot in slots {
            match slot {
                Slot::Here if collapse => {}
                Slot::Here => draft.push("anyOf", std::mem::take(&mut branches)),
                Slot::Beside(member) => match &member.value {
                    Value::Data(value) => self.data(&mut draft, &member, value, false),
                    Value::Named(named) if holds_definitions(member.key) => {
                        self.definitions(&mut draft, &member, &named.list, false);
                    }
                    _ => self.drop(&mut draft, member.key, member.raw, &member.at, false),
                },
            }
        }
        if collapse && let Some(Json::Object(only)) = branches.pop() {
            let mut members: Vec<_> = only.into_iter().collect();
            // Keywords beside the union are closer and take precedence.
            members.retain_mut(|(key, value)| {
                match (draft.has(key), key.as_ref(), value.as_str()) {
                    (true, "description", Some(text)) => {
                        draft.texts.push(text.to_owned());
                        false
                    }
                    (known, _, _) => !known,
                }
            });
            members.append(&mut draft.members);
            draft.members = members;
        }
        if flag {
            draft.take("nullable");
            draft.push("nullable", true);
        }
        let place = if self.rules.all_required { self.places.add(place) } else { None };
        Built { json: self.finish(draft, at), place }
    }

    /// Writes a tuple as an array of any of its schemas.
    pub(super) fn tuple(
        &mut self,
        draft: &mut Draft,
        place: &mut Location,
        member: &Member<'s>,
        sources: &[Source<'s>],
    ) {
        self.drop(draft, member.key, member.raw, &member.at, false);
        if draft.has("items") || sources.is_empty() {
            return;
        }
        let built = sources.iter().map(|source| self.node(std::slice::from_ref(source))).collect();
        let at = member.at.as_ref();
        let Built { json, place: below } =
            self.assemble(at, at, vec![Slot::Here], Vec::new(), built);
        place.items = below;
        draft.push("items", json);
    }
}

/// Restricts a member to one type; none if it does not apply to that type.
fn limited<'s>(member: &Member<'s>, name: &str) -> Option<Member<'s>> {
    let applies = applies_to(member.key);
    if !applies.is_empty() && !applies.contains(&name) || member.key == "format" && name == "null" {
        return None;
    }
    let mut member = member.clone();
    if let ("enum", Value::Data(value)) = (member.key, &member.value)
        && let Some(values) = value.as_array()
    {
        if name == "null" && values.contains(&Json::Null) {
            return None;
        }
        let values: Vec<Json> = values.iter().filter(|value| fits(value, name)).cloned().collect();
        member.value = Value::Data(std::borrow::Cow::Owned(Json::Array(values)));
    }
    Some(member)
}

/// Whether a value has a type.
fn fits(value: &Json, name: &str) -> bool {
    let own = type_of(value);
    own == name || own == "integer" && name == "number" || own == "number" && name == "integer"
}

fn is_null(schema: &Json) -> bool {
    let name = schema.get("type").and_then(Json::as_str);
    name.is_some_and(|name| name.eq_ignore_ascii_case("null"))
}
