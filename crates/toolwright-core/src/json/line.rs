//! An object that is written as it is said: what frames say around their content needs no tree.

use super::{Number, Object, write};

/// The text of an object that has begun.
#[derive(Debug, Clone)]
pub struct Line(String);

impl Line {
    /// An object without members.
    #[must_use]
    pub fn new() -> Line {
        Line::after("{")
    }

    /// An object that begins as this one.
    #[must_use]
    pub fn fork(&self) -> Line {
        Line::after(&self.0)
    }

    fn after(text: &str) -> Line {
        let mut own = String::with_capacity(text.len() + write::START);
        own.push_str(text);
        Line(own)
    }

    /// Adds a string.
    #[must_use]
    pub fn string(mut self, key: &str, value: &str) -> Line {
        self.key(key);
        write::string(value, &mut self.0);
        self
    }

    /// Adds a count.
    #[must_use]
    pub fn count(mut self, key: &str, value: usize) -> Line {
        self.key(key);
        self.0.push_str(Number::from(value as u64).as_str());
        self
    }

    /// Adds the members of an object.
    #[must_use]
    pub fn members(mut self, object: &Object) -> Line {
        for (key, value) in object.iter() {
            self.key(key);
            write::compact(value, &mut self.0);
        }
        self
    }

    /// The text of the whole.
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
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
    use super::Line;
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
}
