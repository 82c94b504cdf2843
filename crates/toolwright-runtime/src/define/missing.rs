//! The value of an absent argument: `None` for an `Option`, an error for most other types.
//!
//! The type decides, as in `serde` for a missing field, so that an alias of `Option` works as well.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the value of an absent argument, if the type has one.
pub(super) fn absent<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Absent).ok()
}

/// A deserializer without a value, which only optional types accept.
struct Absent;

impl<'de> Deserializer<'de> for Absent {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("absent"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
