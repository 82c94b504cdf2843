//! Access of serde to arrays, objects and variants.

use serde::de::{self, DeserializeSeed, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::{Result, SerdeError};
use crate::value::{Json, Object};

/// Returns the members of an object, only the last of repeated keys.
pub(super) fn distinct(object: &Object) -> Vec<(&str, &Json)> {
    let mut members: Vec<(&str, &Json)> = object.iter().collect();
    let mut seen = std::collections::HashSet::with_capacity(members.len());
    let mut kept: Vec<(&str, &Json)> =
        members.drain(..).rev().filter(|(key, _)| seen.insert(*key)).collect();
    kept.reverse();
    kept
}

pub(super) struct Items<'de> {
    pub(super) items: std::slice::Iter<'de, Json>,
    pub(super) index: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = SerdeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(item).map(Some).map_err(|error| error.within(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

pub(super) struct Members<'de> {
    pub(super) members: std::vec::IntoIter<(&'de str, &'de Json)>,
    pub(super) open: Option<(&'de str, &'de Json)>,
}

impl<'de> de::MapAccess<'de> for Members<'de> {
    type Error = SerdeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some((key, value)) = self.members.next() else { return Ok(None) };
        self.open = Some((key, value));
        seed.deserialize(MemberKey(key)).map(Some).map_err(|error| error.within(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let (key, value) =
            self.open.take().ok_or_else(|| SerdeError::new("a value before its key"))?;
        seed.deserialize(value).map_err(|error| error.within(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// A key, which may be requested as a number or a boolean.
struct MemberKey<'de>(&'de str);

macro_rules! keys {
    ($($method:ident $visit:ident $kind:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.0.parse::<$kind>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(SerdeError::new(concat!("the key is no ", stringify!($kind)))),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for MemberKey<'de> {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(self.0)
    }

    keys! {
        deserialize_bool visit_bool bool
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
        deserialize_i128 visit_i128 i128
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
        deserialize_u128 visit_u128 u128
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(Variant { name: self.0, content: None })
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

pub(super) struct Variant<'de> {
    pub(super) name: &'de str,
    pub(super) content: Option<&'de Json>,
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = SerdeError;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'de>)> {
        let name: de::value::BorrowedStrDeserializer<'de, SerdeError> =
            de::value::BorrowedStrDeserializer::new(self.name);
        Ok((seed.deserialize(name)?, Content { name: self.name, content: self.content }))
    }
}

pub(super) struct Content<'de> {
    name: &'de str,
    content: Option<&'de Json>,
}

impl<'de> Content<'de> {
    fn need(&self) -> Result<&'de Json> {
        self.content.ok_or_else(|| SerdeError::new("the variant has no content"))
    }
}

impl<'de> de::VariantAccess<'de> for Content<'de> {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<()> {
        match self.content {
            None | Some(Json::Null) => Ok(()),
            Some(_) => Err(SerdeError::new("the variant has no content").within(self.name)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.need()?).map_err(|error| error.within(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.need()?.deserialize_any(visitor).map_err(|error| error.within(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.need()?.deserialize_any(visitor).map_err(|error| error.within(self.name))
    }
}
