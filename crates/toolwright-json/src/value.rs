//! A JSON value, and what it is made of. The parser and the writer are in the same room: an object or a string that is
//! kept as text is parsed when it is read, and written as it is.

pub(crate) mod build;
pub(crate) mod hints;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod parse;
pub mod pointer;
pub(crate) mod raw;
pub(crate) mod schema_cache;
pub(crate) mod string;
pub(crate) mod weigh;
pub(crate) mod write;

pub use hints::{Hints, KnownKeys};
pub use number::Number;
pub use object::{Key, Object};
use parse::Result;
pub use parse::{JsonError, MAX_DEPTH};
pub use pointer::Path;
pub use schema_cache::SchemaCache;
pub use string::Text;
pub use weigh::{weigh, weigh_at_most};

/// A JSON value that is written exactly as it was read, except for white space and escapes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, by its digits
    Number(Number),
    /// A string
    String(Text),
    /// An array
    Array(Vec<Json>),
    /// An object, in the order of its keys
    Object(Object),
}

impl Json {
    /// Parses a JSON document.
    pub fn parse(text: &str) -> Result<Json> {
        parse::document(text, &Hints::NONE)
    }

    /// Parses a JSON document of which something is known.
    pub fn parse_with(text: &str, hints: &Hints) -> Result<Json> {
        parse::document(text, hints)
    }

    /// Parses a JSON document with another maximum depth than [`MAX_DEPTH`], such as a record that contains documents
    /// which have it.
    pub fn parse_deep(text: &str, max_depth: usize) -> Result<Json> {
        parse::deep_document(text, max_depth)
    }

    /// Whether arrays and objects are nested more than this many levels deep.
    pub fn is_deeper_than(&self, levels: usize) -> bool {
        let Some(inner) = levels.checked_sub(1) else {
            return matches!(self, Json::Array(_) | Json::Object(_));
        };
        match self {
            Json::Array(items) => items.iter().any(|item| item.is_deeper_than(inner)),
            Json::Object(object) => object.iter().any(|(_, value)| value.is_deeper_than(inner)),
            _ => false,
        }
    }

    /// Parses a JSON document from bytes that may not be UTF-8.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Json> {
        Json::parse_bytes_with(bytes, &Hints::NONE)
    }

    /// Parses a JSON document of which something is known from bytes that may not be UTF-8.
    pub fn parse_bytes_with(bytes: &[u8], hints: &Hints) -> Result<Json> {
        parse::document(parse::utf8(bytes)?, hints)
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the value of a number that is a `u64`.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Json::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns the items of an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the members of an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the members of an object for modification.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// Returns the member of an object by key; the last one of repeated keys, as in other readers.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// Returns the value at a JSON Pointer (RFC 6901).
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        pointer::find(self, pointer)
    }

    /// Returns the value at a JSON Pointer (RFC 6901) for modification.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Json> {
        pointer::find_mut(self, pointer)
    }

    /// Returns the name of the type, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Compares values without regard to the order of keys.
    pub fn same(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Json::Object(a), Json::Object(b)) => a.same(b),
            (a, b) => a == b,
        }
    }

    /// Compares values like [`Json::same`], and numbers by value (`1` equals `1.0`).
    pub fn equals(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Number(a), Json::Number(b)) => a == b || a.compare(b).is_eq(),
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            (Json::Object(a), Json::Object(b)) => a.matches(b, Json::equals),
            (a, b) => a == b,
        }
    }

    /// Returns the text with line breaks and two-space indentation.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        write::pretty(self, 0, &mut out);
        out
    }

    /// Returns the text without white space.
    pub fn compact(&self) -> String {
        write::text(self)
    }

    /// Appends the compact text.
    pub fn write_to(&self, out: &mut String) {
        write::compact(self, out);
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

macro_rules! integers {
    ($wide:ty: $($own:ty)*) => {
        $(impl From<$own> for Json {
            fn from(value: $own) -> Json {
                Json::Number(Number::from(<$wide>::from(value)))
            }
        })*
    };
}

integers!(u64: u32 u64);
integers!(i64: i32 i64);

/// Values that JSON cannot express (`NaN`, infinity) become `null`.
impl From<f64> for Json {
    fn from(value: f64) -> Json {
        let number = serde_json::Number::from_f64(value);
        number.and_then(|number| Number::parse(&number.to_string())).into()
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Json {
        Json::Number(Number::from(value as u64))
    }
}

impl From<Number> for Json {
    fn from(value: Number) -> Json {
        Json::Number(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::String(value.into())
    }
}

impl From<Text> for Json {
    fn from(value: Text) -> Json {
        Json::String(value)
    }
}

impl From<String> for Json {
    fn from(value: String) -> Json {
        Json::String(value.into())
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Json {
        Json::Object(value)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Json {
        Json::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

/// Defines an enum of words: its values, `ALL` of them, a method that returns the word of a value, and a function that
/// finds the value of a word.
///
/// ```
/// toolwright_json::words! {
///     /// How it ended.
///     #[derive(Debug, Clone, Copy, PartialEq)]
///     pub enum End: word, from_word {
///         /// As it should
///         Done = "done",
///         /// Otherwise
///         Failed = "failed",
///     }
/// }
/// assert_eq!(End::from_word("failed").map(End::word), Some("failed"));
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $vis:vis enum $name:ident: $word:ident $(, $find:ident)? {
        $($(#[$attribute:meta])* $value:ident = $text:literal),+ $(,)?
    }) => {
        $(#[$about])*
        $vis enum $name { $($(#[$attribute])* $value,)+ }

        impl $name {
            /// Every value.
            $vis const ALL: [$name; [$($text),+].len()] = [$($name::$value),+];

            /// Returns the word.
            $vis const fn $word(self) -> &'static str {
                match self { $($name::$value => $text,)+ }
            }

            $(
                /// Returns the value of a word.
                $vis fn $find(word: &str) -> Option<$name> {
                    $name::ALL.into_iter().find(|value| value.$word() == word)
                }
            )?
        }
    };
}

/// Builds an [`Object`] from `key: value` pairs in writing order.
#[macro_export]
macro_rules! object {
    ($($key:literal : $value:expr),* $(,)?) => {
        $crate::Object::of([$(($crate::Key::Borrowed($key), $crate::Json::from($value))),*])
    };
}
