//! Types: read, inferred if a target requires one, and written in the form of the target.

use toolwright_json::Json;

use super::keep::Draft;
use super::lower::{Built, Lowering};
use super::shape::{Member, Shape, StandIn, Value};
use super::subset::Types;
use super::walk::{applies_to, step, type_named, type_of};
use crate::loss::Severity;

impl<'s> Lowering<'s, '_> {
    /// Writes a node that is not a union, by its types.
    pub(super) fn typed(&mut self, mut shape: Shape<'s>, root: bool) -> Built {
        let mut types = self.types(&mut shape);
        if root && types.contains(&"object") {
            types = vec!["object"];
        }
        if !self.rules.typed || types.is_empty() {
            return self.plain(shape, &types, root);
        }
        self.of_types(shape, types, root)
    }

    /// Writes a node of these types in the form of the target.
    pub(super) fn of_types(
        &mut self,
        mut shape: Shape<'s>,
        mut types: Vec<&'static str>,
        root: bool,
    ) -> Built {
        let mut flag = false;
        if self.rules.types == Types::Flag && types.len() > 1 {
            let before = types.len();
            types.retain(|name| *name != "null");
            flag = types.len() < before;
        }
        if flag {
            shape.take("nullable");
        }
        let compound = types.iter().any(|name| matches!(*name, "object" | "array"));
        let split = types.len() > 1
            && match self.rules.types {
                Types::List => false,
                Types::ScalarList => compound,
                Types::Branches | Types::Flag => true,
            };
        let mut built =
            if split { self.split(shape, &types) } else { self.single(shape, &types, root) };
        if flag && let Some(object) = built.json.as_object_mut() {
            object.insert("nullable", true);
        }
        built
    }

    /// Returns the types of a node, inferred if the target requires one and there is none.
    fn types(&mut self, shape: &mut Shape<'s>) -> Vec<&'static str> {
        let mut types: Vec<&'static str> = Vec::new();
        if let Some(member) = shape.get("type") {
            let at = member.at.clone();
            let names = match shape.data("type") {
                Some(Json::Array(names)) => names.as_slice(),
                Some(single) => std::slice::from_ref(single),
                None => &[],
            };
            let known = |name: &Json| name.as_str().and_then(type_named);
            let strange = names.iter().any(|name| known(name).is_none());
            for name in names.iter().filter_map(known) {
                if !types.contains(&name) {
                    types.push(name);
                }
            }
            if self.rules.typed && (strange || types.is_empty()) {
                self.push(&at, "without what is no type", "know no such type", Severity::Major);
                if types.is_empty() {
                    shape.take("type");
                }
            }
        }
        if !self.rules.typed {
            return types;
        }
        let refers = self.rules.has("ref", false) && shape.get("ref").is_some();
        if types.is_empty() && !refers {
            types = self.inferred(shape);
        }
        if self.rules.types != Types::Flag
            && let Some(nullable) = shape.take("nullable")
        {
            self.push(&nullable.at, "became the type null", "have no nullable", Severity::Note);
            if nullable.raw.as_bool() == Some(true) && !types.contains(&"null") {
                types.push("null");
            }
        }
        types
    }

    /// Returns the types that the keywords of a node apply to, or else all simple types.
    fn inferred(&mut self, shape: &Shape<'s>) -> Vec<&'static str> {
        let mut types: Vec<&'static str> = Vec::new();
        let mut add = |name: &'static str| {
            let name = if name == "integer" && !self.integers { "number" } else { name };
            if !types.contains(&name) {
                types.push(name);
            }
        };
        match (shape.data("enum"), shape.data("const")) {
            (Some(Json::Array(values)), _) => values.iter().map(type_of).for_each(&mut add),
            (_, Some(value)) => add(type_of(value)),
            _ => {
                for member in &shape.members {
                    match (member.key, applies_to(member.key)) {
                        ("format", _) => add("string"),
                        (_, [first, ..]) => add(first),
                        _ => {}
                    }
                }
            }
        }
        let at = step(&shape.at, "type");
        if types.is_empty() {
            self.push(&at, "limited to simple types", "need a type everywhere", Severity::Major);
            types = self.simple_types();
        } else {
            self.push(&at, "added", "need a type everywhere", Severity::Note);
        }
        types
    }

    /// Returns the simple types, which need no other keywords.
    pub(super) fn simple_types(&self) -> Vec<&'static str> {
        match self.rules.types {
            Types::Flag => vec!["string", "number", "boolean"],
            _ => vec!["string", "number", "boolean", "null"],
        }
    }

    /// Writes a node whose types can be written in one `type`.
    pub(super) fn single(&mut self, shape: Shape<'s>, types: &[&'static str], root: bool) -> Built {
        let empty = match shape.get("properties") {
            Some(Member { value: Value::Named(named), .. }) => named.list.is_empty(),
            _ => true,
        };
        if !root && empty && self.rules.no_empty_object && types == ["object"] {
            let mut shape = shape;
            let at = step(&shape.at, "type");
            self.push(&at, "became text", "refuse objects without properties", Severity::Major);
            shape.stand_in = Some(StandIn { text: "an object".to_owned(), kind: None });
            return self.stand_in(shape, root);
        }
        self.plain(shape, types, root)
    }

    /// Writes `type`.
    pub(super) fn kind(
        &mut self,
        draft: &mut Draft,
        member: &Member<'s>,
        value: &Json,
        types: &[&'static str],
        root: bool,
    ) {
        if !self.rules.typed {
            return self.data(draft, member, value, root);
        }
        let lists = matches!(self.rules.types, Types::List | Types::ScalarList);
        let list = value.as_array().is_some() && lists;
        let spelled = self.spelled(types, list);
        // Capitals are only the target's notation of a type.
        if !spelled.to_string().eq_ignore_ascii_case(&value.to_string()) {
            self.push(&member.at, "rewritten", "say types in another way", Severity::Note);
        }
        draft.push("type", spelled);
    }

    pub(super) fn spelled(&self, types: &[&'static str], list: bool) -> Json {
        match types {
            [only] if !list => Json::from(self.rules.spell(only)),
            _ => Json::from(types.iter().map(|name| self.rules.spell(name)).collect::<Vec<_>>()),
        }
    }
}
