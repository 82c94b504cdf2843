//! What the expansion of `#[tool]` calls. Nothing here is for people.
//!
//! ```text
//! arguments → take each → bind the context → run the function → end with what it returned
//! ```

mod arguments;
pub mod context;
pub mod returned;

use std::marker::PhantomData;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};

pub use crate::define::{Definition, Parameter};
pub use arguments::Arguments;

/// A type by which methods are chosen.
pub struct Probe<T: ?Sized>(PhantomData<T>);

impl<T> Probe<T> {
    /// The type of a value.
    pub fn of(_: &T) -> Probe<T> {
        Probe(PhantomData)
    }

    /// A type that is named.
    #[expect(clippy::new_without_default, reason = "written by macros alone")]
    pub fn new() -> Probe<T> {
        Probe(PhantomData)
    }
}

/// The schema of the field `value` of a struct with nothing else, where attributes have narrowed it.
pub fn narrowed<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    let properties = schema.get_mut("properties").and_then(|own| own.as_object_mut());
    properties
        .and_then(|own| own.shift_remove("value"))
        .and_then(|own| Schema::try_from(own).ok())
        .unwrap_or_default()
}
