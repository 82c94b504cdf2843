//! Reads a document that a person or a model wrote, and collects everything that is wrong with it, so that its author
//! corrects all of it at once.
//!
//! A [`Node`] is a value with its JSON Pointer; what it must be and is not becomes a fault. [`Fields`] takes the
//! members of an object one by one.

use std::cell::RefCell;
use std::collections::HashSet;

use toolwright_json::pointer::{Path, escape, segments};
use toolwright_json::{Json, Object};

use crate::suggest;

/// A fault of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentFault {
    /// JSON Pointer to the value
    pub pointer: String,
    /// What is wrong, and what is accepted
    pub problem: String,
    /// The name that was probably meant
    pub suggestion: Option<String>,
}

/// The faults found so far, as errors of the document's kind.
#[derive(Debug)]
pub struct Faults<E>(RefCell<Vec<E>>);

impl<E> Default for Faults<E> {
    fn default() -> Faults<E> {
        Faults(RefCell::default())
    }
}

impl<E> Faults<E> {
    /// Adds a fault.
    pub fn add(&self, fault: E) {
        self.0.borrow_mut().push(fault);
    }

    /// Takes all faults, in the order in which they were found.
    pub fn take(&self) -> Vec<E> {
        self.0.take()
    }
}

/// A value of a document, with its JSON Pointer.
#[derive(Debug)]
pub struct Node<'j, E> {
    /// The value
    pub value: &'j Json,
    /// The pointer
    pub pointer: String,
    /// The faults of the document
    pub faults: &'j Faults<E>,
}

impl<E> Clone for Node<'_, E> {
    fn clone(&self) -> Self {
        Node { value: self.value, pointer: self.pointer.clone(), faults: self.faults }
    }
}

impl<'j, E: From<DocumentFault>> Node<'j, E> {
    /// Returns the root of a document.
    pub fn root(value: &'j Json, faults: &'j Faults<E>) -> Node<'j, E> {
        Node { value, pointer: String::new(), faults }
    }

    /// Returns a value below this one.
    #[must_use]
    pub fn below(&self, key: &str, value: &'j Json) -> Node<'j, E> {
        let pointer = format!("{}/{}", self.pointer, escape(key));
        Node { value, pointer, faults: self.faults }
    }

    /// Returns the place of the value.
    pub fn path(&self) -> Path<'_> {
        Path::at(&self.pointer)
    }

    /// Reports a fault of this value.
    pub fn fault(&self, problem: impl Into<String>) {
        self.fault_at("", problem);
    }

    /// Reports a fault at a pointer below this value.
    pub fn fault_at(&self, below: &str, problem: impl Into<String>) {
        let (pointer, problem) = (format!("{}{below}", self.pointer), problem.into());
        self.faults.add(DocumentFault { pointer, problem, suggestion: None }.into());
    }

    /// Returns the value, or reports the problem.
    pub fn some_or<T>(&self, value: Option<T>, problem: &str) -> Option<T> {
        if value.is_none() {
            self.fault(problem);
        }
        value
    }

    /// Returns what was read, or reports what the value must be.
    pub fn expect<T>(&self, read: Option<T>, what: &str) -> Option<T> {
        if read.is_none() {
            let kind = self.value.kind();
            let article = match kind {
                "null" => "",
                kind if kind.starts_with(['a', 'o']) => "an ",
                _ => "a ",
            };
            self.fault(format!("this must be {what}, not {article}{kind}"));
        }
        read
    }

    /// Reads a string.
    pub fn text(&self) -> Option<&'j str> {
        self.expect(self.value.as_str(), "a string")
    }

    /// Reads a string with a number of characters within bounds, of which one is not white space.
    pub fn text_of(&self, min: usize, max: usize) -> Option<String> {
        let text = self.text()?;
        let length = text.chars().count();
        if (min..=max).contains(&length) && !text.trim().is_empty() {
            return Some(text.to_owned());
        }
        self.fault(format!("this has {length} characters, and {min} to {max} are required"));
        None
    }

    /// Reads a boolean.
    pub fn flag(&self) -> Option<bool> {
        self.expect(self.value.as_bool(), "true or false")
    }

    /// Reads a whole number of at least `min`.
    pub fn count(&self, min: u64) -> Option<u64> {
        let count = self.value.as_u64().filter(|count| *count >= min);
        self.some_or(count, &format!("this must be a whole number, at least {min}"))
    }

    /// Reads one of several words.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let problem = format!("'{text}' is not accepted here; accepted: {}", names.join(", "));
            self.misspelled(problem, text, &names);
        }
        found
    }

    /// Reads the items of an array.
    pub fn items(&self) -> Option<Vec<Node<'j, E>>> {
        let items = self.expect(self.value.as_array(), "an array")?;
        let item = |(index, value): (usize, &'j Json)| self.below(&index.to_string(), value);
        Some(items.iter().enumerate().map(item).collect())
    }

    /// Reads every item of an array, so that all faults are found. None if one of them has no value.
    pub fn each<T>(&self, read: impl FnMut(Node<'j, E>) -> Option<T>) -> Option<Vec<T>> {
        let items: Vec<Option<T>> = self.items()?.into_iter().map(read).collect();
        items.into_iter().collect()
    }

    /// Reads an array of strings; items that are none are left out.
    pub fn texts(&self) -> Option<Vec<&'j str>> {
        Some(self.items()?.iter().filter_map(Node::text).collect())
    }

    /// Reads the members of an object whose keys are names.
    pub fn members(&self) -> Option<Vec<(&'j str, Node<'j, E>)>> {
        let object = self.object()?;
        Some(object.iter().map(|(key, value)| (key, self.below(key, value))).collect())
    }

    /// Reads an object.
    pub fn object(&self) -> Option<&'j Object> {
        self.expect(self.value.as_object(), "an object")
    }

    /// Reports repeated keys of this object: readers disagree on which one counts.
    pub fn refuse_repeated_keys(&self) {
        let mut seen = HashSet::new();
        for (key, value) in self.value.as_object().into_iter().flat_map(Object::iter) {
            if !seen.insert(key) {
                self.below(key, value).fault("this key is repeated");
            }
        }
    }

    /// Reports a fault of a name, with the one that was probably meant.
    fn misspelled(&self, problem: String, name: &str, known: &[&str]) {
        let suggestion = suggest(name, known.iter().copied()).map(str::to_owned);
        let pointer = self.pointer.clone();
        self.faults.add(DocumentFault { pointer, problem, suggestion }.into());
    }
}

/// An object whose members are taken one by one.
#[derive(Debug)]
pub struct Fields<'j, E> {
    /// The object itself
    pub node: Node<'j, E>,
    object: &'j Object,
    known: Vec<&'static str>,
}

impl<'j, E: From<DocumentFault>> Fields<'j, E> {
    /// Starts to read an object; reports a value that is not one.
    pub fn of(node: Node<'j, E>) -> Option<Fields<'j, E>> {
        let object = node.object()?;
        Some(Fields { node, object, known: Vec::new() })
    }

    /// Takes a member.
    pub fn take(&mut self, key: &'static str) -> Option<Node<'j, E>> {
        self.known.push(key);
        self.object.get(key).map(|value| self.node.below(key, value))
    }

    /// Takes a member, and reports its absence.
    pub fn require(&mut self, key: &'static str) -> Option<Node<'j, E>> {
        let found = self.take(key);
        if found.is_none() {
            self.node.fault_at(&format!("/{key}"), "this member is required");
        }
        found
    }

    /// Takes a member that may be null, which counts as absent.
    pub fn optional(&mut self, key: &'static str) -> Option<Node<'j, E>> {
        self.take(key).filter(|node| !node.value.is_null())
    }

    /// Reads a string that may be absent or null.
    pub fn optional_text(&mut self, key: &'static str) -> Option<String> {
        self.optional(key)?.text().map(str::to_owned)
    }

    /// Reads a string, and reports its absence.
    pub fn required_text(&mut self, key: &'static str) -> Option<String> {
        self.require(key)?.text().map(str::to_owned)
    }

    /// Accepts members without reading them.
    pub fn ignore(&mut self, keys: &[&'static str]) {
        self.known.extend(keys);
    }

    /// Returns the members that were not taken.
    pub fn rest(&self) -> impl Iterator<Item = (&'j str, Node<'j, E>)> {
        let rest = self.object.iter().filter(|(key, _)| !self.known.contains(key));
        rest.map(|(key, value)| (key, self.node.below(key, value)))
    }

    /// Reports the members that were not taken.
    pub fn finish(self) {
        for (key, node) in self.rest() {
            let problem = format!("there is no such member; accepted: {}", self.known.join(", "));
            node.misspelled(problem, key, &self.known);
        }
    }
}

/// Returns the position of each segment of a pointer among its siblings, by which faults are sorted in the order of a
/// document. An absent one is last.
pub fn positions(document: &Json, pointer: &str) -> Vec<usize> {
    let mut here = document;
    let mut positions = Vec::new();
    for segment in segments(pointer) {
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
