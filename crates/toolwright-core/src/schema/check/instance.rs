//! Presents our tree to the validator, with a meter of its work.
//!
//! A recursive schema with unions can make a validator visit a nested value exponentially often,
//! and report an error each time. So each visit and each error is counted. When the meter is spent,
//! every value looks like `null` and every list ends, so that the validator finishes at once. Its
//! result is then discarded: see [`Meter::is_spent`].

use std::borrow::Cow;
use std::cell::Cell;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json as Representation, JsonNumber, Node, NodeIdentity};
use serde_json::Value;

use toolwright_json::{Decimal, Json, Key, Number, Object};

/// The representation of values by [`Json`].
pub(super) struct Exact;

/// The remaining budget of a validator.
#[derive(Debug)]
pub(super) struct Meter {
    looks: Cell<usize>,
    errors: Cell<usize>,
}

impl Meter {
    pub(super) fn new(looks: usize, errors: usize) -> Meter {
        Meter { looks: Cell::new(looks), errors: Cell::new(errors) }
    }

    /// Whether the validator exceeded its budget.
    pub(super) fn is_spent(&self) -> bool {
        self.looks.get() == 0 || self.has_too_many_errors()
    }

    /// Whether the validator found too many errors.
    pub(super) fn has_too_many_errors(&self) -> bool {
        self.errors.get() == 0
    }

    /// Attaches this meter to a value.
    pub(super) fn over<'a>(&'a self, value: &'a Json) -> Metered<'a> {
        Metered { value, meter: self }
    }

    /// Counts a visit; false if there were too many.
    fn look(&self) -> bool {
        #[cfg(test)]
        toolwright_json::work::count(1);
        self.looks.set(self.looks.get().saturating_sub(1));
        !self.is_spent()
    }

    /// Counts an error.
    fn error(&self) {
        self.errors.set(self.errors.get().saturating_sub(1));
    }
}

/// A value of our tree with a meter.
#[derive(Debug)]
pub(super) struct Under<'a, T: ?Sized> {
    value: &'a T,
    meter: &'a Meter,
}

/// A value under a meter.
pub(super) type Metered<'a> = Under<'a, Json>;

impl<T: ?Sized> Clone for Under<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Under<'_, T> {}

impl<'a> Metered<'a> {
    /// Visits the value.
    pub(super) fn value(self) -> &'a Json {
        if self.meter.look() { self.value } else { &Json::Null }
    }
}

impl Representation for Exact {
    type Node<'a> = Metered<'a>;
    type PreparedKey = String;
    type StringBuffer = Json;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Json, text: &str, see: impl FnOnce(Metered<'_>) -> T) -> T {
        *buffer = Json::from(text);
        // The work for a property name is bounded by the size of its schema.
        see(Meter::new(usize::MAX, usize::MAX).over(buffer))
    }
}

impl<'a> Node<'a, Exact> for Metered<'a> {
    type Object = Under<'a, Object>;
    type Array = Under<'a, [Json]>;
    type Number = Digits<'a>;

    fn as_object(&self) -> Option<Under<'a, Object>> {
        let value = self.value().as_object()?;
        Some(Under { value, meter: self.meter })
    }

    fn as_array(&self) -> Option<Under<'a, [Json]>> {
        let value = self.value().as_array()?;
        Some(Under { value, meter: self.meter })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.value().as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Digits<'a>> {
        match self.value() {
            Json::Number(number) => Some(Digits(number)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        self.value().as_bool()
    }

    fn is_null(&self) -> bool {
        self.value().is_null()
    }

    fn json_type(&self) -> JsonType {
        match self.value() {
            Json::Null => JsonType::Null,
            Json::Bool(_) => JsonType::Boolean,
            Json::Number(_) => JsonType::Number,
            Json::String(_) => JsonType::String,
            Json::Array(_) => JsonType::Array,
            Json::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equals(self.value(), expected)
    }

    /// The validator copies a value into each error. We look it up by its path instead, so the copy
    /// is left empty, and only counted.
    fn to_value(&self) -> Cow<'a, Value> {
        self.meter.error();
        Cow::Owned(Value::Null)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Json>(self.value).addr()))
    }
}

/// Compares with a value of the schema; numbers by value.
fn equals(own: &Json, other: &Value) -> bool {
    match (own, other) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(own), Value::Bool(other)) => own == other,
        (Json::Number(own), Value::Number(other)) => {
            own.decimal() == Decimal::new(&other.to_string())
        }
        (Json::String(own), Value::String(other)) => own == other,
        (Json::Array(own), Value::Array(others)) => {
            own.len() == others.len()
                && own.iter().zip(others).all(|(own, other)| equals(own, other))
        }
        (Json::Object(own), Value::Object(others)) => {
            let same = |(key, other): (&String, &Value)| {
                own.get(key).is_some_and(|own| equals(own, other))
            };
            own.len() == others.len() && others.iter().all(same)
        }
        _ => false,
    }
}

impl<'a> jsonschema::json::Object<'a, Exact> for Under<'a, Object> {
    type Node = Metered<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.value.len()
    }

    fn get(&self, key: &String) -> Option<Metered<'a>> {
        self.value.get(key).map(|value| self.meter.over(value))
    }

    fn members(&self) -> Members<'a> {
        Members { members: self.value.members(), meter: self.meter }
    }
}

/// The members of an object.
pub(super) struct Members<'a> {
    members: std::slice::Iter<'a, (Key, Json)>,
    meter: &'a Meter,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Metered<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.members.next().filter(|_| self.meter.look())?;
        Some((key.as_ref(), self.meter.over(value)))
    }
}

impl<'a> Array<'a, Exact> for Under<'a, [Json]> {
    type Node = Metered<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.value.len()
    }

    fn elements(&self) -> Elements<'a> {
        Elements { items: self.value.iter(), meter: self.meter }
    }

    fn is_unique(&self) -> bool {
        let mut seen = std::collections::HashSet::with_capacity(self.value.len());
        self.value.iter().all(|item| seen.insert(canonical(item)))
    }
}

/// The items of an array.
pub(super) struct Elements<'a> {
    items: std::slice::Iter<'a, Json>,
    meter: &'a Meter,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Metered<'a>;

    fn next(&mut self) -> Option<Metered<'a>> {
        let value = self.items.next().filter(|_| self.meter.look())?;
        Some(self.meter.over(value))
    }
}

/// Returns a text that is equal for values that are equal in JSON Schema.
fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Json, out: &mut String) {
    match value {
        Json::Number(number) => number.decimal().write(out),
        Json::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Json::Object(object) => {
            let mut members: Vec<(&str, &Json)> = object.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, item) in members {
                Json::from(key).write_to(out);
                out.push(':');
                write(item, out);
                out.push(',');
            }
            out.push('}');
        }
        other => other.write_to(out),
    }
}

/// A number as the validator reads it.
pub(super) struct Digits<'a>(&'a Number);

impl JsonNumber for Digits<'_> {
    fn as_u64(&self) -> Option<u64> {
        integer(self.0)
    }

    fn as_i64(&self) -> Option<i64> {
        integer(self.0)
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.0.as_f64()).filter(|value| value.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0.as_str())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(self.0.nearest())
    }

    fn is_integer(&self) -> bool {
        self.0.is_integer()
    }

    fn is_written_as_integer(&self) -> bool {
        !self.0.as_str().contains(['.', 'e', 'E'])
    }
}

fn integer<T: std::str::FromStr + TryFrom<i128>>(number: &Number) -> Option<T> {
    let text = number.as_str();
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    T::try_from(number.decimal().to_i128()?).ok()
}

#[cfg(test)]
mod tests {
    use jsonschema::json::{Array, JsonNumber, Node};

    use super::{Digits, Json, Meter, equals};

    fn parse(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn equality_is_by_value() {
        let equal =
            |own: &str, other: &str| equals(&parse(own), &serde_json::from_str(other).unwrap());
        assert!(equal("1.0", "1") && equal("1", "1.0") && equal("100", "1e2"));
        assert!(equal(r#"{"a":1,"b":[2.50]}"#, r#"{"b":[2.5],"a":1.0}"#));
        assert!(!equal("true", "1") && !equal("\"1\"", "1") && !equal("null", "0"));
        assert!(!equal("10000000000000000000000001", "1e25"));
    }

    #[test]
    fn repetitions_are_found_by_value() {
        let unique = |text: &str| {
            let (value, meter) = (parse(text), Meter::new(9, 9));
            meter.over(&value).as_array().unwrap().is_unique()
        };
        assert!(!unique("[1, 1.0]") && !unique(r#"[{"a":1,"b":2},{"b":2.0,"a":1}]"#));
        assert!(unique(r#"[1, "1", true, [1], {"a":1}, null]"#) && unique("[1e400, 1e401]"));
        assert!(unique("[[1,2],[12]]") && unique(r#"["a,","a"]"#));
    }

    #[test]
    fn numbers_are_read_however_written() {
        let Json::Number(number) = parse("5.0") else { panic!() };
        let number = Digits(&number);
        assert_eq!(number.as_i64(), Some(5));
        assert!(number.is_integer() && !number.is_written_as_integer());
        let Json::Number(number) = parse("1e400") else { panic!() };
        let number = Digits(&number);
        assert_eq!((number.as_f64(), number.as_u64()), (None, None));
        assert!(number.is_integer());
    }
}
