//! Output of a JSON document: a tree, or text without a tree.

use toolwright_core::Json;
use toolwright_core::json::{Line, Object};

/// An object that is being written.
pub(super) trait Page: Sized {
    /// Adds a value
    fn value(&mut self, name: &'static str, value: &Json);

    /// Adds a string
    fn text(&mut self, name: &'static str, value: &str);

    /// Adds a count
    fn count(&mut self, name: &'static str, value: u64);

    /// Adds an object
    fn object(&mut self, name: &'static str, write: impl FnOnce(&mut Self));

    /// Adds a list of objects, unless it is empty
    fn objects<T>(&mut self, name: &'static str, items: &[T], write: impl Fn(&T, &mut Self));

    /// Adds an optional string
    fn some_text(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// Adds an optional count
    fn some_count(&mut self, name: &'static str, value: Option<u64>) {
        if let Some(value) = value {
            self.count(name, value);
        }
    }
}

impl Page for Object {
    fn value(&mut self, name: &'static str, value: &Json) {
        self.push(name, value.clone());
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.push(name, value);
    }

    fn count(&mut self, name: &'static str, value: u64) {
        self.push(name, value);
    }

    fn object(&mut self, name: &'static str, write: impl FnOnce(&mut Object)) {
        let mut own = Object::new();
        write(&mut own);
        self.push(name, own);
    }

    fn objects<T>(&mut self, name: &'static str, items: &[T], write: impl Fn(&T, &mut Object)) {
        if items.is_empty() {
            return;
        }
        let items = items.iter().map(|item| {
            let mut own = Object::new();
            write(item, &mut own);
            Json::Object(own)
        });
        self.push(name, items.collect::<Vec<Json>>());
    }
}

impl Page for Line {
    fn value(&mut self, name: &'static str, value: &Json) {
        self.put(name, value);
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.put_string(name, value);
    }

    fn count(&mut self, name: &'static str, value: u64) {
        self.put_count(name, value);
    }

    fn object(&mut self, name: &'static str, write: impl FnOnce(&mut Line)) {
        self.put_object(name, write);
    }

    fn objects<T>(&mut self, name: &'static str, items: &[T], write: impl Fn(&T, &mut Line)) {
        if !items.is_empty() {
            self.put_objects(name, items, write);
        }
    }
}
