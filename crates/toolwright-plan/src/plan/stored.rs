//! Values that an engine stores elsewhere. The interpreter has an object in place of such a value:
//!
//! | member | |
//! |---|---|
//! | `$handle` | the handle of the stored value |
//! | `pointer` | JSON Pointer to the part that is meant |
//! | `parts` | the parts that conditions read, by JSON Pointer |
//! | `arrays` | the arrays that `each` takes its items from, by JSON Pointer: an object like this one for each item, or `{"items": count}` if no condition reads them |
//! | `absent` | JSON Pointers of parts and arrays that the value does not have |
//! | `default` | the value if there is nothing at the pointer |
//!
//! An argument is looked up in the stored value when the call is made. What the interpreter itself must know, because a
//! condition or the number of items depends on it, is in `parts` and `arrays`: the plan says what that is ([`Needs`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::{Json, Object};

use super::document::Plan;
use super::template::{Reference, Source};

/// The member with the handle of a stored value. An engine that stores values elsewhere stores every value that has
/// such a member itself, so that no tool can write one.
const HANDLE: &str = "$handle";

/// The parts of a value that the interpreter must know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// What conditions read
    reads: BTreeSet<String>,
    /// Arrays whose items calls are made for, with what conditions read of each item
    arrays: BTreeMap<String, BTreeSet<String>>,
}

impl Needs {
    /// Returns what a plan needs of its inputs, or of the output of one call of a step.
    pub fn new(plan: &Plan, source: &Source) -> Needs {
        let mut needs = Needs::default();
        for step in &plan.steps {
            let references = step.references();
            let item_reads: BTreeSet<String> = references
                .iter()
                .filter(|(path, own)| path.starts_with("/when") && own.source == Source::Item)
                .map(|(_, own)| own.pointer.clone())
                .collect();
            for (path, reference) in references.iter().filter(|(_, own)| own.source == *source) {
                let pointer = reference.pointer.clone();
                if path.starts_with("/when") {
                    needs.reads.insert(pointer);
                } else if path == "/each" {
                    needs.arrays.entry(pointer).or_default().extend(item_reads.clone());
                } else if let Some(path) = path.strip_prefix("/each/") {
                    // The value is an item, or a part of one.
                    let place = path.find('/').map_or("", |at| &path[at..]);
                    needs.reads.extend(item_reads.iter().filter_map(|read| {
                        let read = below(read, place).or(below(place, read).map(|_| ""))?;
                        Some(format!("{pointer}{read}"))
                    }));
                }
            }
        }
        let Source::Step(id) = source else { return needs };
        let has_items = plan.steps.iter().any(|step| step.id == *id && step.each.is_some());
        if has_items { needs.of_items() } else { needs }
    }

    /// Returns what is needed of each item of an array.
    fn of_items(self) -> Needs {
        let in_item = |pointer: &str| {
            let rest = pointer.strip_prefix('/')?;
            Some(rest.find('/').map_or("", |at| &rest[at..]).to_owned())
        };
        let mut needs = Needs::default();
        // Who reads the array reads all of each item.
        needs.reads.extend(self.reads.iter().map(|pointer| in_item(pointer).unwrap_or_default()));
        for (pointer, item_reads) in self.arrays {
            match in_item(&pointer) {
                Some(pointer) => needs.arrays.entry(pointer).or_default().extend(item_reads),
                None => needs.reads.extend(item_reads),
            }
        }
        needs
    }

    /// Returns the JSON form: `{"reads": [pointer], "arrays": {pointer: [pointer]}}`.
    pub fn to_json(&self) -> Object {
        let list = |pointers: &BTreeSet<String>| -> Json {
            pointers.iter().map(String::as_str).collect::<Vec<&str>>().into()
        };
        let arrays = self.arrays.iter().map(|(pointer, reads)| (key(pointer), list(reads)));
        object! {"reads": list(&self.reads), "arrays": arrays.collect::<Object>()}
    }

    /// Parses the JSON form. What is not understood is left out.
    pub fn from_json(document: &Json) -> Needs {
        let list = |value: Option<&Json>| -> BTreeSet<String> {
            let items = value.and_then(Json::as_array).unwrap_or_default();
            items.iter().filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let arrays = document.get("arrays").and_then(Json::as_object);
        let arrays = arrays.into_iter().flat_map(Object::iter);
        Needs {
            reads: list(document.get("reads")),
            arrays: arrays
                .map(|(pointer, reads)| (pointer.to_owned(), list(Some(reads))))
                .collect(),
        }
    }

    /// Returns the object that stands for a value behind a handle.
    pub fn stand_in(&self, handle: &str, value: &Json) -> Json {
        let mut out = object! {"$handle": handle};
        add_parts(&mut out, value, &self.reads);
        for (pointer, item_reads) in &self.arrays {
            let array = match lookup(value, pointer).as_deref() {
                Some(Json::Array(items)) if item_reads.is_empty() => {
                    Some(object! {"items": items.len()}.into())
                }
                Some(Json::Array(items)) => {
                    let item = |(at, value): (usize, &Json)| {
                        let pointer = format!("{pointer}/{at}");
                        let mut item = object! {"$handle": handle, "pointer": pointer};
                        add_parts(&mut item, value, item_reads);
                        Json::Object(item)
                    };
                    Some(Json::Array(items.iter().enumerate().map(item).collect()))
                }
                // Its members are of no use to `each`.
                Some(Json::Object(_)) => Some(Object::new().into()),
                other => other.cloned(),
            };
            add(&mut out, "arrays", pointer, array);
        }
        out.into()
    }
}

fn add_parts(out: &mut Object, value: &Json, pointers: &BTreeSet<String>) {
    for pointer in pointers {
        add(out, "parts", pointer, lookup(value, pointer).map(Cow::into_owned));
    }
}

/// Adds what is at a pointer to `parts` or `arrays`, or the pointer to `absent`.
fn add(out: &mut Object, name: &str, pointer: &str, found: Option<Json>) {
    let (name, empty) = match found {
        Some(_) => (name, Json::Object(Object::new())),
        None => ("absent", Json::Array(Vec::new())),
    };
    if !out.contains_key(name) {
        out.insert(key(name), empty);
    }
    match (out.get_mut(name), found) {
        (Some(Json::Object(known)), Some(found)) => known.insert(key(pointer), found),
        (Some(Json::Array(absent)), None) => absent.push(pointer.into()),
        _ => {}
    }
}

/// Returns the rest of a pointer to something at or below another one.
pub(super) fn below<'p>(pointer: &'p str, above: &str) -> Option<&'p str> {
    pointer.strip_prefix(above).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a value, or a part of it, is that of a handle.
pub fn has_handles(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(has_handles),
        Json::Object(members) => {
            members.contains_key(HANDLE) || members.iter().any(|(_, value)| has_handles(value))
        }
        _ => false,
    }
}

/// Returns the handles in a value, each once.
pub fn handles(value: &Json) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items),
            Json::Object(members) => match members.get(HANDLE).and_then(Json::as_str) {
                Some(handle) => drop(found.insert(handle.to_owned())),
                None => open.extend(members.iter().map(|(_, value)| value)),
            },
            _ => {}
        }
    }
    found
}

/// Puts stored values in the places of their handles. The error is the JSON Pointer of a part that a value does not
/// have.
pub fn put_values(value: &mut Json, values: &BTreeMap<String, Json>) -> Result<(), String> {
    match value {
        Json::Array(items) => items.iter_mut().try_for_each(|item| put_values(item, values)),
        Json::Object(members) => {
            let Some(handle) = members.get(HANDLE).and_then(Json::as_str) else {
                return members.iter_mut().try_for_each(|(_, value)| put_values(value, values));
            };
            let pointer = text(members, "pointer");
            let found = values.get(handle).and_then(|stored| lookup(stored, pointer));
            let found = found.map(Cow::into_owned).or_else(|| members.get("default").cloned());
            *value = found.ok_or_else(|| pointer.to_owned())?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Looks up a part of an output. Many tools return JSON as text, so a pointer may lead into a text that is JSON.
pub(super) fn lookup<'v>(value: &'v Json, pointer: &str) -> Option<Cow<'v, Json>> {
    match value {
        Json::String(text) if !pointer.is_empty() => {
            let mut parsed = Json::parse(text).ok()?;
            Some(Cow::Owned(std::mem::take(parsed.pointer_mut(pointer)?)))
        }
        value => value.pointer(pointer).map(Cow::Borrowed),
    }
}

/// Looks up a part of a value in which handles may stand for values. What stands for the part has what is known of it.
pub(super) fn lookup_stored<'v>(value: &'v Json, reference: &Reference) -> Option<Cow<'v, Json>> {
    let pointer = reference.pointer.as_str();
    // The handle may be above the part.
    let ends = pointer.match_indices('/').map(|(at, _)| at).chain([pointer.len()]);
    for end in ends {
        let Some(Json::Object(members)) = value.pointer(&pointer[..end]) else { continue };
        if !members.contains_key(HANDLE) {
            continue;
        }
        let rest = &pointer[end..];
        let mut out = object! {"$handle": text(members, HANDLE)};
        out.insert("pointer", format!("{}{rest}", text(members, "pointer")));
        for name in ["parts", "arrays"] {
            let known =
                members.get(name).and_then(Json::as_object).into_iter().flat_map(Object::iter);
            for (pointer, found) in known {
                if let Some(pointer) = below(pointer, rest) {
                    add(&mut out, name, pointer, Some(found.clone()));
                }
            }
        }
        let absent = members.get("absent").and_then(Json::as_array).unwrap_or_default();
        for pointer in absent.iter().filter_map(|own| below(own.as_str()?, rest)) {
            if pointer.is_empty() {
                return None;
            }
            add(&mut out, "absent", pointer, None);
        }
        out.insert_some("default", reference.default.clone());
        return Some(Cow::Owned(out.into()));
    }
    lookup(value, pointer)
}

/// Puts the parts that conditions read in the places of their handles. Returns whether all of them are known.
pub(super) fn put_parts(value: &mut Json) -> bool {
    match value {
        Json::Array(items) => items.iter_mut().all(put_parts),
        Json::Object(members) if members.contains_key(HANDLE) => {
            let part = members.get("parts").and_then(|parts| parts.get("")).cloned();
            part.map(|part| *value = part).is_some()
        }
        Json::Object(members) => members.iter_mut().all(|(_, value)| put_parts(value)),
        _ => true,
    }
}

/// Leaves out what only conditions and `each` need of stored values.
pub(super) fn drop_parts(value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(drop_parts),
        Json::Object(members) if members.contains_key(HANDLE) => {
            for name in ["parts", "arrays", "absent"] {
                members.remove(name);
            }
        }
        Json::Object(members) => members.iter_mut().for_each(|(_, value)| drop_parts(value)),
        _ => {}
    }
}

/// Returns the items of an array behind a handle; the value itself if it is anything else.
pub(super) fn stored_items(value: Json) -> Json {
    let Json::Object(members) = &value else { return value };
    if !members.contains_key(HANDLE) {
        return value;
    }
    let Some(array) = members.get("arrays").and_then(|arrays| arrays.get("")) else { return value };
    let Some(count) = array.get("items").and_then(Json::as_u64) else { return array.clone() };
    let (handle, pointer) = (text(members, HANDLE), text(members, "pointer"));
    let item = |at: u64| object! {"$handle": handle, "pointer": format!("{pointer}/{at}")}.into();
    Json::Array((0..count).map(item).collect())
}

fn text<'o>(members: &'o Object, name: &str) -> &'o str {
    members.get(name).and_then(Json::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::{Graph, Interpreter, PlanTools};

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn start(plan: &str) -> Interpreter {
        let plan = Arc::new(Plan::parse(&json(plan)).unwrap());
        let graph = Arc::new(Graph::new(&plan, &PlanTools::default()));
        Interpreter::with_handles(plan, graph, Arc::new(Json::Null))
    }

    /// Runs a plan whose first step `a` returns a value that is stored. Returns the arguments of the calls after it,
    /// with stored values in their places.
    fn calls_after(steps: &str, output: &Json) -> Vec<Json> {
        let mut run =
            start(&format!(r#"{{"plan": "1", "steps": {{"a": {{"tool": "t"}}, {steps}}}}}"#));
        assert_eq!(run.next_call().unwrap().step, 0);
        let needs = Needs::new(run.plan(), &Source::Step("a".to_owned()));
        let needs = Needs::from_json(&needs.to_json().into());
        run.succeed(0, None, needs.stand_in("tw:1", output));
        let values = BTreeMap::from([("tw:1".to_owned(), output.clone())]);
        let mut calls = Vec::new();
        while let Some(call) = run.next_call() {
            let mut arguments = Json::Object(call.arguments);
            let error = put_values(&mut arguments, &values).err();
            calls.push(error.map_or(arguments, Json::from));
            run.succeed(call.step, call.item, Json::Null);
        }
        calls
    }

    #[test]
    fn references_into_a_stored_value_have_its_values() {
        let output = json(
            r#"{"rows": [{"n": 1, "ok": true}, {"n": 2, "ok": false}], "text": "{\"x\": 5}"}"#,
        );
        let whole = calls_after(
            r#""b": {"tool": "t", "args": {"x": {"$from": "a"}, "y": [{"$from": "a/rows/1/n"}]}}"#,
            &output,
        );
        assert_eq!(whole[0].get("x"), Some(&output));
        assert_eq!(whole[0].get("y"), Some(&json("[2]")));
        let default = r#""b": {"tool": "t", "args": {"x": {"$from": "a/none", "$default": 7}}}"#;
        assert_eq!(calls_after(default, &output), [json(r#"{"x": 7}"#)]);
        let missing = r#""b": {"tool": "t", "args": {"x": {"$from": "a/none"}}}"#;
        assert_eq!(calls_after(missing, &output), [Json::from("/none")]);
    }

    #[test]
    fn conditions_and_items_read_a_stored_value() {
        let output =
            json(r#"{"rows": [{"n": 1, "ok": true}, {"n": 2, "ok": false}], "more": false}"#);
        let each = r#""b": {"tool": "t", "each": {"$from": "a/rows"}, "args": {"x": {"$from": "item/n"}}}"#;
        assert_eq!(calls_after(each, &output), [json(r#"{"x": 1}"#), json(r#"{"x": 2}"#)]);
        let filtered = r#""b": {"tool": "t", "each": {"$from": "a/rows"}, "when": {"$from": "item/ok"}, "args": {"x": {"$from": "item/n"}}}"#;
        assert_eq!(calls_after(filtered, &output), [json(r#"{"x": 1}"#)]);
        let not = r#""b": {"tool": "t", "when": {"$from": "a/more"}}"#;
        assert_eq!(calls_after(not, &output), Vec::<Json>::new());
        let absent =
            r#""b": {"tool": "t", "when": {"value": {"$from": "a/none"}, "is": {"const": null}}}"#;
        assert_eq!(calls_after(absent, &output).len(), 1);
        let not_array = r#""b": {"tool": "t", "each": {"$from": "a/more"}}"#;
        assert_eq!(calls_after(not_array, &output), Vec::<Json>::new());
    }

    #[test]
    fn conditions_read_a_stored_value_within_an_item() {
        let output = json(r#"{"ok": true, "n": 1, "x": {"ok": false}}"#);
        let step = |each: &str, when: &str| {
            let item = r#"{"x": {"$from": "item"}}"#;
            format!(r#""b": {{"tool": "t", "each": {each}, "when": {when}, "args": {item}}}"#)
        };
        let (a, read) = (r#"[{"$from": "a"}]"#, r#"{"$from": "item/ok"}"#);
        let whole = Json::from(object! {"x": output.clone()});
        assert_eq!(calls_after(&step(a, read), &output), [whole]);
        let row = [Json::from(object! {"x": object! {"row": output.clone()}})];
        let (each, read) = (r#"[{"row": {"$from": "a"}}]"#, r#"{"$from": "item/row/ok"}"#);
        assert_eq!(calls_after(&step(each, read), &output), row);
        let above = r#"{"value": {"$from": "item"}, "is": {"properties": {"row": {"required": ["n"]}}, "required": ["row"]}}"#;
        assert_eq!(calls_after(&step(each, above), &output), row);
        let (below, read) = (r#"[{"$from": "a/x"}, {"$from": "a"}]"#, r#"{"$from": "item/ok"}"#);
        assert_eq!(calls_after(&step(below, read), &output).len(), 1);
    }

    #[test]
    fn conditions_read_all_of_a_stored_value() {
        let required = |from: &str, name: &str| {
            let is = format!(r#"{{"contains": {{"required": ["{name}"]}}}}"#);
            format!(
                r#""b": {{"tool": "t", "when": {{"value": {{"$from": "{from}"}}, "is": {is}}}, "each": {{"$from": "{from}"}}, "args": {{"x": {{"$from": "item/n"}}}}}}"#
            )
        };
        let output = json(r#"{"rows": [{"n": 1}, {"n": 2, "error": "e"}]}"#);
        let both = [json(r#"{"x": 1}"#), json(r#"{"x": 2}"#)];
        assert_eq!(calls_after(&required("a/rows", "error"), &output), both);
        assert_eq!(calls_after(&required("a/rows", "none"), &output), Vec::<Json>::new());
    }

    #[test]
    fn conditions_read_the_stored_outputs_of_items() {
        let count = |name: &str| {
            let plan = format!(
                r#"{{"plan": "1", "steps": {{
                    "a": {{"tool": "t", "each": [1, 2]}},
                    "b": {{"tool": "t", "when": {{"value": {{"$from": "a"}}, "is": {{"contains": {{"required": ["{name}"]}}}}}}}}}}}}"#
            );
            let mut run = start(&plan);
            let needs = Needs::new(run.plan(), &Source::Step("a".to_owned()));
            for (at, output) in [r#"{"n": 1}"#, r#"{"error": "e"}"#].into_iter().enumerate() {
                assert_eq!(run.next_call().unwrap().item, Some(at));
                run.succeed(0, Some(at), needs.stand_in(&format!("tw:{at}"), &json(output)));
            }
            std::iter::from_fn(|| run.next_call()).count()
        };
        assert_eq!((count("error"), count("none")), (1, 0));
    }

    #[test]
    fn a_condition_fails_its_step_if_what_it_reads_is_not_known() {
        let mut run = start(
            r#"{"plan": "1", "steps": {"a": {"tool": "t"}, "b": {"tool": "t", "when": {"$from": "a/ok"}}}}"#,
        );
        run.next_call().unwrap();
        run.succeed(0, None, Needs::default().stand_in("tw:1", &json(r#"{"ok": true}"#)));
        assert_eq!(run.next_call(), None);
        assert!(run.has_failed());
    }

    #[test]
    fn calls_have_handles_without_the_parts_that_conditions_read() {
        let mut run = start(
            r#"{"plan": "1", "steps": {"a": {"tool": "t"}, "b": {"tool": "t", "when": {"value": {"$from": "a/x"}, "is": true}, "args": {"x": {"$from": "a/x"}, "y": {"$from": "a"}}}}}"#,
        );
        run.next_call().unwrap();
        let needs = Needs::new(run.plan(), &Source::Step("a".to_owned()));
        run.succeed(0, None, needs.stand_in("tw:1", &json(r#"{"x": {"$handle": "tw:2"}}"#)));
        let arguments = Json::Object(run.next_call().unwrap().arguments);
        let expected = r#"{"x": {"$handle": "tw:1", "pointer": "/x"}, "y": {"$handle": "tw:1", "pointer": ""}}"#;
        assert_eq!(arguments, json(expected));
    }

    #[test]
    fn an_output_that_a_stored_value_does_not_have_is_null() {
        let mut run = start(
            r#"{"plan": "1", "steps": {"a": {"tool": "t"}}, "outputs": {"x": [{"$from": "a/none"}], "n": {"$from": "a/n"}}}"#,
        );
        run.next_call().unwrap();
        let output = json(r#"{"n": 1}"#);
        run.succeed(0, None, Needs::default().stand_in("tw:1", &output));
        let mut outputs = Json::Object(run.outputs().unwrap());
        put_values(&mut outputs, &BTreeMap::from([("tw:1".to_owned(), output)])).unwrap();
        assert_eq!(outputs, json(r#"{"x": [null], "n": 1}"#));
    }

    #[test]
    fn what_a_plan_needs_of_each_item_is_below_the_array() {
        let plan = json(
            r#"{"plan": "1", "steps": {
                "a": {"tool": "t", "each": [1, 2]},
                "b": {"tool": "t", "when": {"$from": "a/1/ok"}},
                "c": {"tool": "t", "each": {"$from": "a"}, "when": {"$from": "item/fine"}},
                "d": {"tool": "t", "each": {"$from": "a/0/rows"}}}}"#,
        );
        let needs = Needs::new(&Plan::parse(&plan).unwrap(), &Source::Step("a".to_owned()));
        let expected = json(r#"{"reads": ["/fine", "/ok"], "arrays": {"/rows": []}}"#);
        assert_eq!(Json::from(needs.to_json()), expected);
    }

    #[test]
    fn a_value_that_looks_like_a_handle_is_found() {
        assert!(has_handles(&json(r#"[{"a": {"$handle": 1}}]"#)));
        assert!(!has_handles(&json(r#"["$handle"]"#)));
        assert_eq!(handles(&json(r#"[{"$handle": "x"}, {"b": {"$handle": "x"}}]"#)).len(), 1);
    }
}
