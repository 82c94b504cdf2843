//! Calls whose arguments come in several parts, as Vertex AI streams them.
//!
//! `functionCall {name, willContinue: true}` opens a call, each `partialArgs` entry sets or extends
//! the value at its `jsonPath`, and a `functionCall` without `willContinue` completes it.

use toolwright_core::{Arguments, Body, Part};
use toolwright_json::{Json, Object};

use crate::dialect::gemini::wire::{self, DIALECT};

/// Maximum number of steps in a path.
const MAX_STEPS: usize = 64;

/// Joins the parts of calls.
#[derive(Debug, Default)]
pub(in crate::dialect::gemini) struct Assembler {
    open: Option<Open>,
}

/// An incomplete call.
#[derive(Debug)]
struct Open {
    part: Part,
    arguments: Json,
    /// The path of a string that will continue
    growing: Option<String>,
}

impl Assembler {
    /// Adds a part; returns it if it is complete, or the call that it completes.
    pub(in crate::dialect::gemini) fn push(&mut self, mut part: Part) -> Vec<Part> {
        let Body::Call(call) = &part.body else { return vec![part] };
        let unnamed = call.name.is_empty();
        let Fragment { entries, will_continue } = take_fragment(&mut part);
        let continues = unnamed && self.open.is_some();
        if !continues && entries.is_empty() && !will_continue {
            // A complete call. One without a name is dropped.
            return self.finish().into_iter().chain((!unnamed).then_some(part)).collect();
        }
        let mut done = Vec::new();
        if !continues {
            done.extend(self.finish());
            let arguments = match &part.body {
                Body::Call(call) => Json::parse(call.arguments.as_str()).unwrap_or_default(),
                _ => Json::Null,
            };
            self.open = Some(Open { part, arguments, growing: None });
        } else if let Some(open) = &mut self.open {
            open.part.signature = part.signature.or(open.part.signature.take());
        }
        if let Some(open) = &mut self.open {
            for entry in &entries {
                open.set(entry);
            }
        }
        if !will_continue {
            done.extend(self.finish());
        }
        done
    }

    /// Returns the call that was open at the end of the response.
    pub(in crate::dialect::gemini) fn finish(&mut self) -> Option<Part> {
        let Open { mut part, arguments, .. } = self.open.take()?;
        if let Body::Call(call) = &mut part.body {
            call.arguments = Arguments::from_json(&arguments);
        }
        Some(part)
    }
}

/// Joins the calls in a list of parts.
pub(in crate::dialect::gemini) fn assemble(parts: Vec<Part>) -> Vec<Part> {
    let mut assembler = Assembler::default();
    let mut whole: Vec<Part> = parts.into_iter().flat_map(|part| assembler.push(part)).collect();
    whole.extend(assembler.finish());
    whole
}

struct Fragment {
    entries: Vec<Json>,
    will_continue: bool,
}

/// Takes `partialArgs` and `willContinue` out of a call's extra fields.
fn take_fragment(part: &mut Part) -> Fragment {
    let mut fields = part.extra.for_dialect(DIALECT).cloned().unwrap_or_default();
    let Some(Json::Object(mut call)) = fields.remove("functionCall") else {
        return Fragment { entries: Vec::new(), will_continue: false };
    };
    let entries = match call.remove("partialArgs") {
        Some(Json::Array(entries)) => entries,
        _ => Vec::new(),
    };
    let will_continue = call.remove("willContinue") == Some(Json::Bool(true));
    fields.insert_filled("functionCall", call);
    part.extra = toolwright_core::extra::Extra::new(DIALECT, fields);
    Fragment { entries, will_continue }
}

impl Open {
    /// Sets the value of an entry at its path, or appends to a string that continues.
    fn set(&mut self, entry: &Json) {
        let Some(entry) = entry.as_object() else { return };
        let member = |name: &str| wire::member(entry, name);
        let Some(path) = member("jsonPath").and_then(Json::as_str) else { return };
        let value = if let Some(text) = member("stringValue") {
            text.clone()
        } else if let Some(value) = member("numberValue").or(member("boolValue")) {
            value.clone()
        } else if entry.iter().any(|(key, _)| wire::camel(key) == "nullValue") {
            Json::Null
        } else {
            return;
        };
        let Some(place) = place(&mut self.arguments, path) else { return };
        let grows = self.growing.as_deref() == Some(path);
        match (place, value) {
            (Json::String(own), Json::String(text)) if grows => own.edit(|own| own.push_str(&text)),
            (place, value) => *place = value,
        }
        let goes_on = member("willContinue") == Some(&Json::Bool(true));
        self.growing = goes_on.then(|| path.to_owned());
    }
}

/// Returns the value at a path such as `$.foo['bar'][0]`, which is created if absent. `None` for a
/// path of another form.
fn place<'j>(root: &'j mut Json, path: &str) -> Option<&'j mut Json> {
    let mut rest = path.strip_prefix('$')?;
    let mut place = root;
    for _ in 0..MAX_STEPS {
        if rest.is_empty() {
            return Some(place);
        }
        let step;
        (step, rest) = next(rest)?;
        place = match step {
            Step::Name(name) => {
                if place.as_object().is_none() {
                    *place = Json::Object(Object::new());
                }
                let object = place.as_object_mut()?;
                if !object.contains_key(name) {
                    object.insert(name.to_owned(), Json::Null);
                }
                object.get_mut(name)?
            }
            Step::Index(index) => {
                if place.as_array().is_none() {
                    *place = Json::Array(Vec::new());
                }
                let Json::Array(items) = place else { return None };
                if index == items.len() {
                    items.push(Json::Null);
                }
                items.get_mut(index)?
            }
        };
    }
    None
}

enum Step<'p> {
    Name(&'p str),
    Index(usize),
}

/// Returns the first step of a path, and the remaining path.
fn next(path: &str) -> Option<(Step<'_>, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        return (!name.is_empty()).then_some((Step::Name(name), rest));
    }
    let rest = path.strip_prefix('[')?;
    if let Some(quote) = rest.chars().next().filter(|own| matches!(own, '\'' | '"')) {
        let (name, rest) = rest.get(1..)?.split_once(quote)?;
        return Some((Step::Name(name), rest.strip_prefix(']')?));
    }
    let (index, rest) = rest.split_once(']')?;
    Some((Step::Index(index.parse().ok()?), rest))
}
