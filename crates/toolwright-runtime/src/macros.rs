//! Functions that the expansion of `#[tool]` calls. Not a public API.
//!
//! ```text
//! arguments → take each → lock the context → run the function → convert the returned value
//! ```

mod arguments;
pub mod context;
pub mod returned;

use std::marker::PhantomData;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};

pub use crate::define::{Definition, Parameter};
pub use arguments::Arguments;

/// Carries a type for method resolution.
pub struct Probe<T: ?Sized>(PhantomData<T>);

impl<T> Probe<T> {
    /// Creates a probe for the type of a value.
    pub fn of(_: &T) -> Probe<T> {
        Probe(PhantomData)
    }

    /// Creates a probe for a named type.
    #[expect(clippy::new_without_default, reason = "written by macros alone")]
    pub fn new() -> Probe<T> {
        Probe(PhantomData)
    }
}

/// Returns the schema of the field `value` of a struct with that single field, whose attributes
/// restrict it.
pub fn narrowed<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    let properties = schema.get_mut("properties").and_then(|own| own.as_object_mut());
    properties
        .and_then(|own| own.shift_remove("value"))
        .and_then(|own| Schema::try_from(own).ok())
        .unwrap_or_default()
}
