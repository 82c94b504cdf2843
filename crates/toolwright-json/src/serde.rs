//! Conversion between [`Json`] and Rust types with `serde`.
//!
//! [`Json::to`] reads numbers by their digits, so that a nineteen-digit id reaches an `i64`, a
//! `u128` or a `String` exactly, and `5.0` is an integer, as in JSON Schema. Errors have a path.
//! [`Json::from_serialize`] is the reverse.

mod access;
mod any;

use std::fmt;

use serde::de::{self, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize, forward_to_deserialize_any};
use serde_json::Value;

use crate::value::pointer::escape;
use crate::value::{Json, Key, Number};
use access::{Items, Members, Variant, distinct};

/// Why a value does not match a Rust type, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default())]
pub struct SerdeError {
    path: Option<String>,
    message: String,
}

type Result<T, E = SerdeError> = std::result::Result<T, E>;

impl SerdeError {
    /// Returns the JSON Pointer to the value; empty for the root.
    pub fn path(&self) -> &str {
        self.path.as_deref().unwrap_or_default()
    }

    /// Returns the problem.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn new(message: impl Into<String>) -> SerdeError {
        SerdeError { path: None, message: message.into() }
    }

    /// Prefixes the path with a segment.
    fn within(mut self, segment: &str) -> SerdeError {
        self.path = Some(format!("/{}{}", escape(segment), self.path()));
        self
    }
}

impl de::Error for SerdeError {
    fn custom<T: fmt::Display>(message: T) -> SerdeError {
        SerdeError::new(message.to_string())
    }
}

impl Json {
    /// Deserializes a Rust value.
    pub fn to<'de, T: Deserialize<'de>>(&'de self) -> Result<T> {
        T::deserialize(self)
    }

    /// Serializes a Rust value. Numbers that JSON cannot express (`NaN`, infinity) become `null`.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Json> {
        let text =
            serde_json::to_string(value).map_err(|error| SerdeError::new(error.to_string()))?;
        Json::parse(&text).map_err(|error| SerdeError::new(error.to_string()))
    }

    /// Converts to a `serde_json` value: the last of repeated keys, and the nearest representable
    /// number.
    pub fn to_value(&self) -> Value {
        match self {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => Value::Number(number.nearest()),
            Json::String(text) => Value::String(text.as_str().to_owned()),
            Json::Array(items) => Value::Array(items.iter().map(Json::to_value).collect()),
            Json::Object(object) => {
                let members = object.iter().map(|(key, value)| (key.to_owned(), value.to_value()));
                Value::Object(members.collect())
            }
        }
    }
}

impl Number {
    /// Returns the nearest number that `serde_json` can represent.
    pub fn nearest(&self) -> serde_json::Number {
        if let Ok(number) = self.as_str().parse::<serde_json::Number>() {
            return number;
        }
        let most = if self.as_str().starts_with('-') { f64::MIN } else { f64::MAX };
        serde_json::Number::from_f64(most).unwrap_or_else(|| 0.into())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Number::parse(&number.to_string()).into(),
            Value::String(text) => Json::from(text.clone()),
            Value::Array(items) => Json::Array(items.iter().map(Json::from).collect()),
            Value::Object(members) => Json::Object(
                members
                    .iter()
                    .map(|(key, value)| (Key::Owned(key.clone()), Json::from(value)))
                    .collect(),
            ),
        }
    }
}

/// Reads an integer in any notation.
fn whole<T: TryFrom<i128>>(json: &Json) -> Option<T> {
    let Json::Number(number) = json else { return None };
    T::try_from(number.decimal().to_i128()?).ok()
}

impl Json {
    /// Returns the type for messages of serde, without the value.
    fn unexpected(&self) -> de::Unexpected<'static> {
        match self {
            Json::Number(number) if number.is_integer() => de::Unexpected::Other("integer"),
            other => de::Unexpected::Other(other.kind()),
        }
    }

    fn wrong(&self, expected: &dyn de::Expected) -> SerdeError {
        de::Error::invalid_type(self.unexpected(), expected)
    }

    fn out_of_range(&self, kind: &str) -> SerdeError {
        match self {
            Json::Number(_) => SerdeError::new(format!("the number does not fit {kind}")),
            other => SerdeError::new(format!("expected a number, not {}", other.kind())),
        }
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $kind:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match whole::<$kind>(self) {
                Some(value) => visitor.$visit(value),
                None => Err(self.out_of_range(stringify!($kind))),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for &'de Json {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => {
                let plain = !number.as_str().contains(['.', 'e', 'E']);
                match (plain, whole::<u64>(self), whole::<i64>(self)) {
                    (true, Some(value), _) => visitor.visit_u64(value),
                    (true, None, Some(value)) => visitor.visit_i64(value),
                    _ => visitor.visit_f64(number.as_f64()),
                }
            }
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(items) => {
                let mut access = Items { items: items.iter(), index: 0 };
                let value = visitor.visit_seq(&mut access)?;
                match access.items.len() {
                    0 => Ok(value),
                    _ => Err(de::Error::invalid_length(items.len(), &"fewer items")),
                }
            }
            Json::Object(object) => {
                visitor.visit_map(Members { members: distinct(object).into_iter(), open: None })
            }
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
        deserialize_i128 visit_i128 i128
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let digits = match self {
            Json::Number(number) => number.as_str().parse().ok(),
            _ => None,
        };
        match digits.or_else(|| whole::<u128>(self)) {
            Some(value) => visitor.visit_u128(value),
            None => Err(self.out_of_range("u128")),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Json::Number(number) if number.as_f64().is_finite() => {
                visitor.visit_f64(number.as_f64())
            }
            _ => Err(self.out_of_range("f64")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        if name == any::NAME {
            return visitor.visit_byte_buf(self.compact().into_bytes());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self {
            Json::String(name) => visitor.visit_enum(Variant { name, content: None }),
            Json::Object(object) => match distinct(object).as_slice() {
                [(name, content)] => visitor.visit_enum(Variant { name, content: Some(content) }),
                _ => Err(SerdeError::new("expected an object with one member, the variant")),
            },
            other => Err(other.wrong(&"a variant: a string, or an object with one member")),
        }
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl<'de> IntoDeserializer<'de, SerdeError> for &'de Json {
    type Deserializer = &'de Json;

    fn into_deserializer(self) -> &'de Json {
        self
    }
}
