//! [`Json`] and [`Object`] as Rust types, for fields and parameters that take any JSON.
//!
//! [`Json::to`] preserves every digit, the order of keys and their repetitions. With other formats,
//! and with `serde` attributes that buffer values (`flatten`, `untagged`), numbers are those that
//! `serde` supports. When serialized, an integer of up to 128 bits keeps its digits, another number
//! becomes the nearest double, and only the last of repeated keys stays.

use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::access::distinct;
use crate::value::{Json, Number, Object};

/// The name by which our deserializer recognizes that the exact value is requested, as text.
pub(super) const NAME: &str = "$toolwright::Json";

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_newtype_struct(NAME, Any)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Object(object) => Ok(object),
            other => Err(de::Error::invalid_type(other.unexpected(), &"an object")),
        }
    }
}

/// Accepts any value.
struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<Json, D::Error> {
        value.deserialize_any(self)
    }

    fn visit_bytes<E: de::Error>(self, text: &[u8]) -> Result<Json, E> {
        Json::parse_bytes(text).map_err(E::custom)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Json, D::Error> {
        value.deserialize_any(self)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json, E> {
        self.visit_i128(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Json, E> {
        Ok(Number::parse(&value.to_string()).into())
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Json, E> {
        Ok(Number::parse(&value.to_string()).into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        let number = serde_json::Number::from_f64(value);
        let number = number.ok_or_else(|| E::custom("JSON has no word for this number"))?;
        Ok(Number::parse(&number.to_string()).into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::from(text))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut object = Object::new();
        while let Some((name, value)) = access.next_entry::<String, Json>()? {
            object.push(name, value);
        }
        Ok(Json::Object(object))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => number.serialize(serializer),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(items) => serializer.collect_seq(items),
            Json::Object(object) => object.serialize(serializer),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = self.as_str();
        if let Ok(value) = digits.parse() {
            return serializer.serialize_u64(value);
        }
        if let Ok(value) = digits.parse() {
            return serializer.serialize_i64(value);
        }
        if let Ok(value) = digits.parse() {
            return serializer.serialize_i128(value);
        }
        if let Ok(value) = digits.parse() {
            return serializer.serialize_u128(value);
        }
        self.nearest().serialize(serializer)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = distinct(self);
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (key, value) in members {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(feature = "schemars")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use crate::value::{Json, Object};

    impl JsonSchema for Json {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Json".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({})
        }
    }

    impl JsonSchema for Object {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Object".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"type": "object"})
        }
    }
}
