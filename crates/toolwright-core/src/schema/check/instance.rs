//! Our tree as the validator sees it.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json as Representation, JsonNumber, Node, NodeIdentity};
use serde_json::Value;

use crate::json::{Decimal, Json, Key, Number, Object};

/// The representation of values by [`Json`].
pub(super) struct Exact;

impl Representation for Exact {
    type Node<'a> = &'a Json;
    type PreparedKey = String;
    type StringBuffer = Json;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Json, text: &str, see: impl FnOnce(&Json) -> T) -> T {
        *buffer = Json::from(text);
        see(buffer)
    }
}

impl<'a> Node<'a, Exact> for &'a Json {
    type Object = &'a Object;
    type Array = &'a [Json];
    type Number = &'a Number;

    fn as_object(&self) -> Option<&'a Object> {
        Json::as_object(self)
    }

    fn as_array(&self) -> Option<&'a [Json]> {
        Json::as_array(self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        Json::as_str(self).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        match self {
            Json::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn is_null(&self) -> bool {
        Json::is_null(self)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Json::Null => JsonType::Null,
            Json::Bool(_) => JsonType::Boolean,
            Json::Number(_) => JsonType::Number,
            Json::String(_) => JsonType::String,
            Json::Array(_) => JsonType::Array,
            Json::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (self, expected) {
            (Json::Null, Value::Null) => true,
            (Json::Bool(own), Value::Bool(other)) => own == other,
            (Json::Number(own), Value::Number(other)) => {
                own.decimal() == Decimal::new(&other.to_string())
            }
            (Json::String(own), Value::String(other)) => own == other,
            (Json::Array(own), Value::Array(others)) => {
                own.len() == others.len()
                    && own.iter().zip(others).all(|(own, other)| own.equals_value(other))
            }
            (Json::Object(own), Value::Object(others)) => {
                let same = |(key, other): (&String, &Value)| {
                    own.get(key).is_some_and(|own| own.equals_value(other))
                };
                own.len() == others.len() && others.iter().all(same)
            }
            _ => false,
        }
    }

    /// The validator copies a value into each error it finds. We find it again by its path, so the
    /// copy is left empty.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(Value::Null)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Json>(self).addr()))
    }
}

impl<'a> jsonschema::json::Object<'a, Exact> for &'a Object {
    type Node = &'a Json;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Object::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Json> {
        Object::get(self, key)
    }

    fn members(&self) -> Members<'a> {
        Members(Object::members(self))
    }
}

/// The members of an object.
pub(super) struct Members<'a>(std::slice::Iter<'a, (Key, Json)>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Json);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.as_ref(), value))
    }
}

impl<'a> Array<'a, Exact> for &'a [Json] {
    type Node = &'a Json;
    type ElementsIter = std::slice::Iter<'a, Json>;

    fn len(&self) -> usize {
        <[Json]>::len(self)
    }

    fn elements(&self) -> Self::ElementsIter {
        self.iter()
    }

    fn is_unique(&self) -> bool {
        let mut seen = std::collections::HashSet::with_capacity(self.len());
        self.iter().all(|item| seen.insert(canonical(item)))
    }
}

/// A text that two values share if JSON Schema takes them for equal.
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

impl JsonNumber for &Number {
    fn as_u64(&self) -> Option<u64> {
        integer(self)
    }

    fn as_i64(&self) -> Option<i64> {
        integer(self)
    }

    fn as_f64(&self) -> Option<f64> {
        Some(Number::as_f64(self)).filter(|value| value.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(Number::as_str(self))
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(self.nearest())
    }

    fn is_integer(&self) -> bool {
        Number::is_integer(self)
    }

    fn is_written_as_integer(&self) -> bool {
        !Number::as_str(self).contains(['.', 'e', 'E'])
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

    use super::Json;

    fn parse(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn equality_is_by_value() {
        let equal = |own: &str, other: &str| {
            (&&parse(own)).equals_value(&serde_json::from_str(other).unwrap())
        };
        assert!(equal("1.0", "1") && equal("1", "1.0") && equal("100", "1e2"));
        assert!(equal(r#"{"a":1,"b":[2.50]}"#, r#"{"b":[2.5],"a":1.0}"#));
        assert!(!equal("true", "1") && !equal("\"1\"", "1") && !equal("null", "0"));
        assert!(!equal("10000000000000000000000001", "1e25"));
    }

    #[test]
    fn repetitions_are_found_by_value() {
        let unique = |text: &str| parse(text).as_array().unwrap().is_unique();
        assert!(!unique("[1, 1.0]") && !unique(r#"[{"a":1,"b":2},{"b":2.0,"a":1}]"#));
        assert!(unique(r#"[1, "1", true, [1], {"a":1}, null]"#) && unique("[1e400, 1e401]"));
        assert!(unique("[[1,2],[12]]") && unique(r#"["a,","a"]"#));
    }

    #[test]
    fn numbers_are_read_however_written() {
        let Json::Number(number) = parse("5.0") else { panic!() };
        assert_eq!((&number).as_i64(), Some(5));
        assert!(number.is_integer() && !(&number).is_written_as_integer());
        let Json::Number(number) = parse("1e400") else { panic!() };
        assert_eq!((JsonNumber::as_f64(&&number), JsonNumber::as_u64(&&number)), (None, None));
        assert!(number.is_integer());
    }
}
