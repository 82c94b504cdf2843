//! A value that cannot be printed: a tool can take it as a parameter, and no log, ledger or message
//! contains it by accident.
//!
//! The model supplies it, or it is hidden and filled by the host. The text that a secret was parsed
//! from is not wiped; do not keep that text in long-lived values.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use zeroize::Zeroize;

/// Replaces a secret.
pub const MARK: &str = "[redacted]";

/// A secret string.
pub type SecretString = Secret<String>;

/// A value that cannot be printed, and is wiped from memory when it is dropped.
///
/// Its schema has `writeOnly` (and `format: "password"` for strings), which redaction looks for. It
/// serializes as a mark, and deserializing the mark is an error.
///
/// ```
/// use toolwright_transport::secret::SecretString;
///
/// let secret = SecretString::new("hunter2".to_owned());
/// assert_eq!(format!("{secret:?}"), "Secret(…)");
/// assert_eq!(secret.expose(), "hunter2");
/// ```
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Secret<T> {
        Secret(value)
    }

    /// Returns the value. The caller must not log or store it.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Secret<T> {
        Secret::new(value)
    }
}

impl From<&str> for SecretString {
    fn from(value: &str) -> SecretString {
        Secret::new(value.to_owned())
    }
}

impl<T: Zeroize + Clone> Clone for Secret<T> {
    fn clone(&self) -> Secret<T> {
        Secret(self.0.clone())
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl<T: Zeroize> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MARK)
    }
}

impl<'de, T: Zeroize + Deserialize<'de> + 'static> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret<T>, D::Error> {
        let secret = Secret(T::deserialize(deserializer)?);
        let text = any(&secret.0).downcast_ref::<String>().map(String::as_str);
        if text == Some(MARK) {
            return Err(de::Error::custom("this is the mark of a redacted secret, not a secret"));
        }
        Ok(secret)
    }
}

fn any<T: 'static>(value: &T) -> &dyn std::any::Any {
    value
}

impl<T: Zeroize + JsonSchema> JsonSchema for Secret<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Secret_{}", T::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("toolwright_transport::secret::Secret<{}>", T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        if schema.get("type").and_then(|kind| kind.as_str()) == Some("string") {
            schema.insert("format".to_owned(), "password".into());
        }
        schema.insert("writeOnly".to_owned(), true.into());
        schema
    }
}
