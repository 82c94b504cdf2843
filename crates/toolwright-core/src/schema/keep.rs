//! Keywords that are kept or dropped, and the phrases that replace them in the description.

use toolwright_json::{Json, Key, Object};

use super::lower::Lowering;
use super::shape::Member;
use super::subset::has;
use super::walk::{is_worth_saying, restricts, step};
use crate::loss::Severity;
use crate::wire_json;

/// Maximum length of the phrase for one keyword.
const MAX_PHRASE: usize = 240;

/// Describes a keyword as text, unless it is too long or contains references.
pub(super) fn phrase(key: &str, value: &Json) -> Option<String> {
    let text = match value {
        Json::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    };
    (text.len() <= MAX_PHRASE && !text.contains("\"$ref\"")).then_some(text)
}

/// Adds phrases to a description.
pub(super) fn extended(description: &str, texts: &[String]) -> String {
    let texts = texts.join(", ");
    if description.is_empty() { texts } else { format!("{description} ({texts})") }
}

/// A node that is being built: its members in order, and phrases for the description.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) members: Vec<(Key, Json)>,
    pub(super) texts: Vec<String>,
}

impl Draft {
    pub(super) fn push(&mut self, key: &str, value: impl Into<Json>) {
        self.members.push((wire_json::key(key), value.into()));
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(own, _)| own == key)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        let place = self.members.iter().position(|(own, _)| own == key)?;
        Some(self.members.remove(place).1)
    }
}

impl<'s> Lowering<'s, '_> {
    /// Finishes a node: phrases are added to the description.
    pub(super) fn finish(&mut self, mut draft: Draft, at: &str) -> Json {
        if !draft.texts.is_empty() {
            let place = draft.members.iter().position(|(key, _)| key == "description");
            if let Some((_, value)) = place.and_then(|place| draft.members.get_mut(place)) {
                *value = extended(value.as_str().unwrap_or_default(), &draft.texts).into();
            } else {
                let text = extended("", &draft.texts);
                draft.push("description", text);
            }
            self.push(
                &step(at, "description"),
                "extended",
                "lack what it now says",
                Severity::Note,
            );
        }
        Json::Object(draft.members.into_iter().collect::<Object>())
    }

    /// Writes a keyword that does not depend on others, or drops it.
    pub(super) fn data(
        &mut self,
        draft: &mut Draft,
        member: &Member<'s>,
        value: &Json,
        root: bool,
    ) {
        let (key, at) = (member.key, member.at.as_ref());
        let strict_null = key == "default" && self.rules.all_required && value.is_null();
        if strict_null {
            self.push(at, "removed", "refuse a default of null", Severity::Note);
            return;
        }
        let enumerable = value.as_str().is_some() || !self.rules.string_enum;
        if key == "const"
            && enumerable
            && !self.rules.has(key, root)
            && self.rules.has("enum", root)
            && !draft.has("enum")
        {
            draft.push("enum", vec![value.clone()]);
            self.push(at, "became enum", "have no const", Severity::Note);
            return;
        }
        if key == "enum" && draft.has(key) {
            return self.drop(draft, key, value, at, root);
        }
        if key == "enum" && self.rules.string_enum && self.rules.has(key, root) {
            if let Some(values) = self.strings(value, at) {
                draft.push(key, values);
            } else {
                self.drop(draft, key, value, at, root);
            }
            return;
        }
        if self.rules.has(key, root) && self.is_accepted(key, value) {
            draft.push(key, value.clone());
        } else {
            self.drop(draft, key, value, at, root);
        }
    }

    /// Returns the strings of an enumeration; none if values other than null would be dropped.
    fn strings(&mut self, value: &Json, at: &str) -> Option<Vec<Json>> {
        let values = value.as_array()?;
        let strings: Vec<Json> =
            values.iter().filter(|value| value.as_str().is_some()).cloned().collect();
        let others = values.iter().any(|value| value.as_str().is_none() && !value.is_null());
        if others || strings.is_empty() {
            return None;
        }
        if strings.len() < values.len() {
            self.push(at, "without null", "enumerate strings only", Severity::Note);
        }
        Some(strings)
    }

    /// Whether a supported keyword may have a value.
    fn is_accepted(&self, key: &str, value: &Json) -> bool {
        match (key, value) {
            ("format", Json::String(format)) => {
                self.rules.formats.is_none_or(|formats| has(formats, format))
            }
            ("minItems", value) => self
                .rules
                .max_min_items
                .is_none_or(|most| value.as_u64().is_some_and(|value| value <= most)),
            ("description" | "title", value) => value.as_str().is_some(),
            ("enum", value) => value.as_array().is_some_and(|values| !values.is_empty()),
            ("properties" | "items" | "anyOf" | "$ref" | "$defs" | "definitions" | "defs", _) => {
                false
            }
            _ => true,
        }
    }

    /// Drops a keyword, and describes it as text if that helps.
    pub(super) fn drop(
        &mut self,
        draft: &mut Draft,
        key: &str,
        value: &Json,
        at: &str,
        root: bool,
    ) {
        let telling = is_worth_saying(key);
        let text =
            if telling && self.rules.has("description", root) { phrase(key, value) } else { None };
        match text {
            Some(text) => {
                draft.texts.push(text);
                let severity = self.rules.unenforced();
                self.push(at, "moved into the description", "do not have it", severity);
            }
            None if telling && restricts(key) => {
                self.push(at, "removed", "do not have it", Severity::Major);
            }
            // The description is the only annotation that the model reads.
            None if key == "description" && !value.is_null() => {
                self.push(at, "removed", "do not have it", Severity::Minor);
            }
            None => self.push(at, "removed", "do not have it", Severity::Note),
        }
    }
}
