//! Reads members of a document, and collects all faults.

use std::cell::RefCell;
use std::collections::HashSet;

use toolwright_core::{Json, suggest};
use toolwright_json::{Object, pointer};

use super::ManifestFault;

/// The faults found so far.
pub(super) struct Problems {
    faults: RefCell<Vec<ManifestFault>>,
    /// Whether schemas are compiled, and requests are compared with the files: not for a manifest that was
    /// published, perhaps before such a check existed
    pub(super) checks_schemas: bool,
}

impl Problems {
    pub(super) fn new(checks_schemas: bool) -> Problems {
        Problems { faults: RefCell::default(), checks_schemas }
    }

    /// Adds a fault.
    pub(super) fn add(&self, pointer: impl Into<String>, problem: impl Into<String>) {
        self.faults.borrow_mut().push(ManifestFault::new(pointer, problem));
    }

    /// Reports keys that occur twice in an object, at any depth: readers disagree on which one counts.
    pub(super) fn refuse_repeated_keys(&self, value: &Json, at: &str) {
        match value {
            Json::Object(object) => {
                let mut seen = HashSet::with_capacity(object.len());
                for (key, value) in object.iter() {
                    let at = format!("{at}/{}", pointer::escape(key));
                    if !seen.insert(key) {
                        self.add(&at, "this key is repeated");
                    }
                    self.refuse_repeated_keys(value, &at);
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.refuse_repeated_keys(item, &format!("{at}/{index}"));
                }
            }
            _ => {}
        }
    }

    /// Returns the value, or all faults in the order of the document.
    pub(super) fn finish<T>(
        self,
        document: &Json,
        value: Option<T>,
    ) -> Result<T, Vec<ManifestFault>> {
        let mut faults = self.faults.into_inner();
        match value {
            Some(value) if faults.is_empty() => Ok(value),
            _ => {
                faults.sort_by_cached_key(|fault| positions(document, &fault.pointer));
                faults.dedup();
                Err(faults)
            }
        }
    }
}

/// Returns the position of each segment of a pointer among its siblings; an absent one is last.
fn positions(document: &Json, pointer: &str) -> Vec<usize> {
    let mut here = document;
    let mut positions = Vec::new();
    for segment in pointer::segments(pointer) {
        let found = match here {
            Json::Object(object) => {
                let mut members = object.iter().enumerate();
                members.find_map(|(index, (key, value))| (key == segment).then_some((index, value)))
            }
            Json::Array(items) => {
                let index = segment.parse::<usize>().ok();
                index.and_then(|index| Some((index, items.get(index)?)))
            }
            _ => None,
        };
        let (position, next) = found.unwrap_or((usize::MAX, &Json::Null));
        positions.push(position);
        here = next;
    }
    positions
}

/// A value of the document, with its pointer.
#[derive(Clone)]
pub(super) struct Node<'j> {
    pub(super) value: &'j Json,
    pub(super) pointer: String,
    pub(super) problems: &'j Problems,
}

impl<'j> Node<'j> {
    pub(super) fn root(value: &'j Json, problems: &'j Problems) -> Node<'j> {
        Node { value, pointer: String::new(), problems }
    }

    /// Returns a value below this one.
    pub(super) fn below(&self, key: &str, value: &'j Json) -> Node<'j> {
        let pointer = format!("{}/{}", self.pointer, pointer::escape(key));
        Node { value, pointer, problems: self.problems }
    }

    /// Reports a fault of this value.
    pub(super) fn fault(&self, problem: impl Into<String>) {
        self.problems.add(&self.pointer, problem);
    }

    /// Returns the value, or reports the problem.
    pub(super) fn some_or<T>(&self, value: Option<T>, problem: &str) -> Option<T> {
        if value.is_none() {
            self.fault(problem);
        }
        value
    }

    /// Adds a fault if the value has another type.
    fn expect<T>(&self, value: Option<T>, what: &str) -> Option<T> {
        if value.is_none() {
            self.fault(format!("this must be {what}, not {}", self.value.kind()));
        }
        value
    }

    /// Reads a string.
    pub(super) fn text(&self) -> Option<&'j str> {
        self.expect(self.value.as_str(), "a string")
    }

    /// Reads a string with a number of characters within bounds, of which one is not white space.
    pub(super) fn text_of(&self, least: usize, most: usize) -> Option<String> {
        let text = self.text()?;
        let length = text.chars().count();
        if (least..=most).contains(&length) && !text.trim().is_empty() {
            return Some(text.to_owned());
        }
        self.fault(format!("this has {length} characters, and {least} to {most} are required"));
        None
    }

    /// Reads a boolean.
    pub(super) fn flag(&self) -> Option<bool> {
        self.expect(self.value.as_bool(), "true or false")
    }

    /// Reads one of several words.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let accepted: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.fault(format!(
            "'{text}' is not accepted here{}; accepted: {}",
            did_you_mean(text, &accepted),
            accepted.join(", ")
        ));
        None
    }

    /// Reads the items of an array.
    pub(super) fn items(&self) -> Option<Vec<Node<'j>>> {
        let items = self.expect(self.value.as_array(), "an array")?;
        let item = |(index, value): (usize, &'j Json)| self.below(&index.to_string(), value);
        Some(items.iter().enumerate().map(item).collect())
    }

    /// Reads an array of strings.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        let items = self.items()?;
        let texts = items.iter().map(|item| item.text().map(str::to_owned));
        // Every item is read, so that each fault is reported.
        texts.collect::<Vec<_>>().into_iter().collect()
    }

    /// Reads the members of an object whose keys are names.
    pub(super) fn members(&self) -> Option<Vec<(&'j str, Node<'j>)>> {
        let object = self.object()?;
        Some(object.iter().map(|(key, value)| (key, self.below(key, value))).collect())
    }

    /// Reads an object.
    pub(super) fn object(&self) -> Option<&'j Object> {
        self.expect(self.value.as_object(), "an object")
    }
}

/// Returns the hint for a misspelled name.
fn did_you_mean(name: &str, known: &[&str]) -> String {
    let hint = suggest(name, known.iter().copied());
    hint.map(|similar| format!(" (did you mean '{similar}'?)")).unwrap_or_default()
}

/// An object whose members are taken one by one; members that were not taken are faults.
pub(super) struct Fields<'j> {
    /// The object itself
    pub(super) node: Node<'j>,
    object: &'j Object,
    known: Vec<&'static str>,
}

impl<'j> Fields<'j> {
    /// Starts to read an object; reports a value that is not one.
    pub(super) fn of(node: Node<'j>) -> Option<Fields<'j>> {
        let object = node.object()?;
        Some(Fields { node, object, known: Vec::new() })
    }

    /// Takes a member.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Node<'j>> {
        self.known.push(key);
        self.object.get(key).map(|value| self.node.below(key, value))
    }

    /// Takes a member, and reports its absence.
    pub(super) fn require(&mut self, key: &'static str) -> Option<Node<'j>> {
        let found = self.take(key);
        if found.is_none() {
            self.node
                .problems
                .add(format!("{}/{key}", self.node.pointer), "this member is required");
        }
        found
    }

    /// Reports the members that were not taken.
    pub(super) fn finish(self) {
        for (key, value) in self.object.iter() {
            if !self.known.contains(&key) {
                let hint = did_you_mean(key, &self.known);
                let accepted = self.known.join(", ");
                let problem = format!("there is no such member{hint}; accepted: {accepted}");
                self.node.below(key, value).fault(problem);
            }
        }
    }
}
