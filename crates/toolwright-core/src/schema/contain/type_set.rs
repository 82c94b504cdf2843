//! Sets of JSON types, with integers apart from other numbers.

use std::ops::{BitAnd, BitOr};

use toolwright_json::Json;

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NONE: Types = Types(0);
    pub(super) const NULL: Types = Types(1);
    pub(super) const BOOLEAN: Types = Types(1 << 1);
    pub(super) const INTEGER: Types = Types(1 << 2);
    /// Numbers that are not integers
    pub(super) const FRACTION: Types = Types(1 << 3);
    pub(super) const STRING: Types = Types(1 << 4);
    pub(super) const ARRAY: Types = Types(1 << 5);
    pub(super) const OBJECT: Types = Types(1 << 6);
    pub(super) const NUMBER: Types = Types(Types::INTEGER.0 | Types::FRACTION.0);
    pub(super) const ALL: Types = Types(0x7f);

    /// Returns the types that a `type` keyword allows.
    pub(super) fn declared(keyword: &Json) -> Option<Types> {
        match keyword {
            Json::String(name) => Types::named(name),
            Json::Array(names) => names
                .iter()
                .try_fold(Types::NONE, |types, name| Some(types | Types::named(name.as_str()?)?)),
            _ => None,
        }
    }

    fn named(name: &str) -> Option<Types> {
        Some(match name {
            "null" => Types::NULL,
            "boolean" => Types::BOOLEAN,
            "integer" => Types::INTEGER,
            "number" => Types::NUMBER,
            "string" => Types::STRING,
            "array" => Types::ARRAY,
            "object" => Types::OBJECT,
            _ => return None,
        })
    }

    /// Returns the type of a value.
    pub(super) fn of(value: &Json) -> Types {
        match value {
            Json::Null => Types::NULL,
            Json::Bool(_) => Types::BOOLEAN,
            Json::Number(number) if number.is_integer() => Types::INTEGER,
            Json::Number(_) => Types::FRACTION,
            Json::String(_) => Types::STRING,
            Json::Array(_) => Types::ARRAY,
            Json::Object(_) => Types::OBJECT,
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self == Types::NONE
    }

    pub(super) fn is_within(self, other: Types) -> bool {
        self & other == self
    }

    pub(super) fn has_any(self, other: Types) -> bool {
        !(self & other).is_empty()
    }

    /// Returns the types one by one.
    pub(super) fn each(self) -> impl Iterator<Item = Types> {
        (0..7).map(|bit| Types(1 << bit)).filter(move |single| self.has_any(*single))
    }
}

impl BitAnd for Types {
    type Output = Types;

    fn bitand(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }
}

impl BitOr for Types {
    type Output = Types;

    fn bitor(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }
}
