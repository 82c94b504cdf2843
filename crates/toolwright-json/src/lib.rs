//! Exact JSON for programs that pass documents on: what is read is written again, digit by digit and in its order.
//!
//! `serde_json` turns a number into 64 bits and, of repeated keys, keeps one. For a gateway that is wrong: a
//! nineteen-digit id, `1e400`, `0.10` or a second `"a"` belongs to somebody else, and must arrive. Here a [`Number`] is
//! its digits, and an
//! [`Object`] is a list of members.
//!
//! ```
//! use toolwright_json::{Json, object};
//!
//! let text = r#"{"id":9007199254740993,"price":0.10,"id":1}"#;
//! let mut document = Json::parse(text)?;
//! assert_eq!(document.to_string(), text);
//! assert_eq!(document.get("id").and_then(Json::as_u64), Some(1), "the last one counts");
//!
//! if let Some(members) = document.as_object_mut() {
//!     members.insert("tags", vec!["a", "b"]);
//! }
//! assert_eq!(document.pointer("/tags/1").and_then(Json::as_str), Some("b"));
//! assert_eq!(Json::from(object! {"n": 1_u64}).to_string(), r#"{"n":1}"#);
//! # Ok::<(), toolwright_json::JsonError>(())
//! ```
//!
//! - [`Json::parse`] is strict (RFC 8259), bounded in depth, and linear in time. [`Hints`] make it cheaper for
//!   documents whose keys are known, and do not change its result.
//! - [`peek`] and [`skim`] read some members of a body without building a tree; [`weigh`] says what the tree would
//!   take.
//! - [`pointer`](mod@pointer) and [`Index`] find values by JSON Pointers; [`Path`] builds one.
//! - [`Json::to`] and [`Json::from_serialize`] convert to and from Rust types.
//! - [`Line`] writes the same line of a stream over and over, with other texts.
//!
//! The crate knows no format of a vendor. It promises no stability of its own: depend on `toolwright`, which exports
//! it.

mod canonical;
mod decimal;
mod index;
mod line;
mod peek;
mod scan;
mod serde;
mod skim;
mod text;
mod value;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod work;

pub use canonical::canonical;
pub use decimal::Decimal;
pub use index::{Index, at_mut};
pub use line::Line;
pub use peek::{Member, each_member, guess_string, peek, peek_and_parse};
pub use serde::SerdeError;
pub use skim::{Value, skim};
pub use text::JsonText;
pub use value::{
    Hints, Json, JsonError, Key, KnownKeys, MAX_DEPTH, Number, Object, Path, SchemaCache, Text,
    pointer, weigh, weigh_at_most,
};
