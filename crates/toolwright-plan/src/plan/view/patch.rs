//! Applies the edits of one argument: its value, and the references in it.

use std::borrow::Cow;

use toolwright_core::wire_json::key;
use toolwright_json::Json;
use toolwright_json::pointer::segments;

use crate::plan::template::{Reference, Template};

/// Maximum number of segments of the path of a reference in an argument.
const MAX_PATH: usize = 64;

/// What became of the value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValueEdit {
    /// It is the one that was shown
    Unchanged,
    /// It was set
    Set(Json),
    /// It was removed
    Removed,
}

/// A reference in an argument of the edited view.
pub(super) struct FedPlace {
    /// JSON Pointer in the argument
    pub(super) path: String,
    pub(super) reference: Reference,
    /// Whether the plan has this reference already
    pub(super) is_kept: bool,
}

/// Applies the edits of an argument that the plan may have (`given`), and whose value in the view of the plan is
/// `shown`: its value, and the references of the edited view. The error is the position of a reference that has no
/// place, and the problem.
pub(super) fn apply(
    given: Option<&Template>,
    shown: Option<&Json>,
    value: ValueEdit,
    fed: &[&FedPlace],
) -> Result<Option<Template>, (usize, &'static str)> {
    if let Some(whole) = fed.iter().position(|place| place.path.is_empty()) {
        return match (0..fed.len()).find(|at| *at != whole) {
            None => Ok(Some(Template::Reference(Box::new(fed[whole].reference.clone())))),
            Some(other) => Err((other, "another edge feeds the whole parameter")),
        };
    }
    // The value of an argument with references is not shown, so it is not meant.
    let is_blank = !fed.is_empty()
        && match &value {
            ValueEdit::Set(text) => text.as_str() == Some(""),
            ValueEdit::Removed => true,
            ValueEdit::Unchanged => false,
        };
    let value = Some(value).filter(|edit| !is_blank && *edit != ValueEdit::Unchanged);
    let earlier: Vec<String> = given
        .map(|given| given.references().into_iter().map(|(path, _)| path).collect())
        .unwrap_or_default();
    let is_whole = earlier.iter().any(String::is_empty);
    let (mut template, is_base) = match (value, given) {
        (Some(ValueEdit::Set(value)), _) => (Template::Literal(value), false),
        (Some(_), _) => return Ok(None),
        (None, Some(given)) if !is_whole => (given.clone(), true),
        (None, _) if fed.is_empty() => return Ok(None),
        (None, given) if is_blank || given.is_some() => (Template::Literal(Json::Null), false),
        (None, _) => (Template::Literal(shown.cloned().unwrap_or_default()), false),
    };
    for (at, place) in fed.iter().enumerate() {
        if is_base && place.is_kept {
            continue;
        }
        let steps: Vec<Cow<'_, str>> = segments(&place.path).take(MAX_PATH + 1).collect();
        if steps.len() > MAX_PATH || !set(&mut template, &steps, &place.reference) {
            return Err((at, "the path leads to no place in the argument"));
        }
    }
    if is_base {
        // From the end, so that the positions of the others stay.
        for path in
            earlier.iter().rev().filter(|path| fed.iter().all(|origin| origin.path != **path))
        {
            let steps: Vec<Cow<'_, str>> = segments(path).collect();
            remove(&mut template, &steps);
        }
    }
    Ok(Some(template.simplified()))
}

/// Puts a reference at a path. Members that do not exist are added, and an item after the last one.
fn set(template: &mut Template, path: &[Cow<'_, str>], reference: &Reference) -> bool {
    let Some((first, rest)) = path.split_first() else {
        *template = Template::Reference(Box::new(reference.clone()));
        return true;
    };
    open(template, first);
    let nothing = Template::Literal(Json::Null);
    match template {
        Template::Object(members) => {
            let at = members.iter().position(|(own, _)| **own == **first);
            let at = at.unwrap_or_else(|| {
                members.push((key(first), nothing));
                members.len() - 1
            });
            set(&mut members[at].1, rest, reference)
        }
        Template::Array(items) => {
            let Ok(at) = first.parse::<usize>() else { return false };
            if at == items.len() {
                items.push(nothing);
            }
            items.get_mut(at).is_some_and(|item| set(item, rest, reference))
        }
        Template::Literal(_) | Template::Reference(_) => false,
    }
}

/// Turns a literal object or array into one that may have references. Nothing, or an empty text, becomes an
/// empty object or array.
fn open(template: &mut Template, first: &str) {
    let Template::Literal(value) = template else { return };
    *template = match std::mem::take(value) {
        Json::Object(object) => {
            let member =
                |(name, value): (&str, &Json)| (key(name), Template::Literal(value.clone()));
            Template::Object(object.iter().map(member).collect())
        }
        Json::Array(items) => Template::Array(items.into_iter().map(Template::Literal).collect()),
        value if value.is_null() || value.as_str() == Some("") => match first {
            "0" => Template::Array(Vec::new()),
            _ => Template::Object(Vec::new()),
        },
        value => Template::Literal(value),
    };
}

/// Removes the member or item at a path.
fn remove(template: &mut Template, path: &[Cow<'_, str>]) {
    let Some((first, rest)) = path.split_first() else { return };
    match template {
        Template::Object(members) => {
            let Some(at) = members.iter().position(|(own, _)| **own == **first) else { return };
            if rest.is_empty() {
                members.remove(at);
            } else {
                remove(&mut members[at].1, rest);
            }
        }
        Template::Array(items) => {
            let Some(at) = first.parse().ok().filter(|at: &usize| *at < items.len()) else {
                return;
            };
            if rest.is_empty() {
                items.remove(at);
            } else {
                remove(&mut items[at], rest);
            }
        }
        Template::Literal(_) | Template::Reference(_) => {}
    }
}
