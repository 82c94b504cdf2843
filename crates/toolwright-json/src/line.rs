//! Writes an object directly as text, without a tree, for the fixed parts of frames.

use crate::value::{Json, Number, Object, write};

/// Bytes to reserve for a text: most frames of a stream fit.
const START: usize = 512;

/// The text of an object that is being written.
#[must_use]
#[derive(Debug, Clone)]
pub struct Line(String);

impl Line {
    /// Creates an empty object.
    pub fn new() -> Line {
        Line::after("{")
    }

    /// Returns a copy to continue.
    pub fn fork(&self) -> Line {
        Line::after(&self.0)
    }

    fn after(text: &str) -> Line {
        let mut own = String::with_capacity(text.len() + START);
        own.push_str(text);
        Line(own)
    }

    /// Adds a string.
    pub fn string(mut self, key: &str, value: &str) -> Line {
        self.put_string(key, value);
        self
    }

    /// Adds a count.
    pub fn count(mut self, key: &str, value: usize) -> Line {
        self.put_count(key, value as u64);
        self
    }

    /// Adds the members of an object.
    pub fn members(mut self, object: &Object) -> Line {
        for (key, value) in object.iter() {
            self.put(key, value);
        }
        self
    }

    /// Adds `null`.
    pub fn null(mut self, key: &str) -> Line {
        self.key(key);
        self.0.push_str("null");
        self
    }

    /// Begins a nested object; members are added to it until [`Line::close`].
    pub fn open(mut self, key: &str) -> Line {
        self.key(key);
        self.0.push('{');
        self
    }

    /// Ends the innermost object.
    pub fn close(mut self) -> Line {
        self.0.push('}');
        self
    }

    /// Begins an array with a single object; members are added to it until [`Line::close_only`].
    pub fn open_only(mut self, key: &str) -> Line {
        self.key(key);
        self.0.push_str("[{");
        self
    }

    /// Ends an array with a single object.
    pub fn close_only(mut self) -> Line {
        self.0.push_str("}]");
        self
    }

    /// Adds a value in place.
    pub fn put(&mut self, key: &str, value: &Json) {
        self.key(key);
        write::compact(value, &mut self.0);
    }

    /// Adds a string in place.
    pub fn put_string(&mut self, key: &str, value: &str) {
        self.key(key);
        write::string(value, &mut self.0);
    }

    /// Adds a count in place.
    pub fn put_count(&mut self, key: &str, value: u64) {
        self.key(key);
        self.0.push_str(Number::from(value).as_str());
    }

    /// Adds an object in place, whose members `members` writes.
    pub fn put_object(&mut self, key: &str, members: impl FnOnce(&mut Line)) {
        self.key(key);
        self.nest(members);
    }

    /// Adds an array of objects in place.
    pub fn put_objects<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        members: impl Fn(T, &mut Line),
    ) {
        self.key(key);
        self.0.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            self.nest(|line| members(item, line));
        }
        self.0.push(']');
    }

    fn nest(&mut self, members: impl FnOnce(&mut Line)) {
        self.0.push('{');
        members(self);
        self.0.push('}');
    }

    /// Returns the text.
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn key(&mut self, key: &str) {
        // A brace at the end opens an object: one within a string is followed by a quote.
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        write::string(key, &mut self.0);
        self.0.push(':');
    }
}

impl Default for Line {
    fn default() -> Line {
        Line::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{Json, Line};
    use crate::object;

    #[test]
    fn a_line_is_what_an_object_writes() {
        let begun = Line::new().string("type", "a\"b");
        let whole = begun.fork().count("index", 12).members(&object! {"x": true}).end();
        let object = object! {"type": "a\"b", "index": 12_usize, "x": true};
        assert_eq!(whole, object.compact());
        assert_eq!(begun.end(), object! {"type": "a\"b"}.compact());
        assert_eq!(Line::new().end(), "{}");
    }

    #[test]
    fn objects_within_a_line_are_what_an_object_writes() {
        let mut line = Line::new();
        line.put_object("none", |_| {});
        line.put_objects("few", ["a{", "{"], |name, own| {
            own.put_string("name", name);
            own.put("is", &true.into());
        });
        line.put_object("last", |own| own.put_count("{", u64::MAX));
        let few = ["a{", "{"].map(|name| object! {"name": name, "is": true});
        let object = object! {
            "none": object! {},
            "few": few.to_vec(),
            "last": object! {"{": u64::MAX},
        };
        assert_eq!(line.end(), object.compact());
    }

    #[test]
    fn objects_stand_in_objects_and_lists() {
        let line = Line::new().open_only("a").open("b").close().open("c").string("d", "{");
        let whole = line.null("e").close().close_only().members(&object! {"f": 0_usize}).end();
        let inner = object! {"b": object! {}, "c": object! {"d": "{", "e": Json::Null}};
        assert_eq!(whole, object! {"a": vec![inner], "f": 0_usize}.compact());
    }
}
