//! Converts the returned value of a function by its type, at compile time.
//!
//! Method resolution tries `&&&Probe` before `&&Probe`, so among several traits with a method of
//! the same name the one that is implemented for more references wins. Types are resolved where the
//! macro is expanded, so aliases of `Result` work as well.
//!
//! | step | first | else | else |
//! |---|---|---|---|
//! | `shape` | a `Result` | a plain value | |
//! | `way` | `Into<Output>` | `Serialize` | |
//! | `cause` | `Into<ToolError>` | a boxed error | `Display` |
//! | `writer` | `Serialize` | none | |
//! | `describe` | a `Result` of a type with a schema | a type with a schema | none |

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::Serialize;
use toolwright_core::Json;

use super::Probe;
use crate::define::{self, Writer};
use crate::error::ToolError;
use crate::handler::ToolResult;
use crate::output::Output;

/// A `Result`.
pub trait Splittable {
    /// Returns its shape.
    fn shape(&self) -> OfResult {
        OfResult
    }
}

impl<T, E> Splittable for &Probe<Result<T, E>> {}

/// Any other type.
pub trait Plain {
    /// Returns its shape.
    fn shape(&self) -> OfValue {
        OfValue
    }
}

impl<T> Plain for Probe<T> {}

/// The shape of a `Result`.
pub struct OfResult;

impl OfResult {
    /// Returns the `Result`.
    pub fn split<T, E>(&self, returned: Result<T, E>) -> Result<T, E> {
        returned
    }
}

/// The shape of a function that cannot fail.
pub struct OfValue;

impl OfValue {
    /// Wraps the value in `Ok`.
    pub fn split<T>(&self, returned: T) -> Result<T, Infallible> {
        Ok(returned)
    }
}

/// A type that converts to an output.
pub trait Direct {
    /// Selects `From`.
    fn way(&self) -> ByFrom {
        ByFrom
    }
}

impl<T: Into<Output>> Direct for &Probe<T> {}

/// A type that is serialized.
pub trait Serialized {
    /// Selects `serde`.
    fn way(&self) -> BySerde {
        BySerde
    }
}

impl<T> Serialized for Probe<T> {}

/// Converts by `From`.
pub struct ByFrom;

impl ByFrom {
    /// Converts the value.
    pub fn output<T: Into<Output>>(&self, value: T) -> ToolResult {
        Ok(value.into())
    }
}

/// A type that can be the result of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "a model cannot read this",
    note = "put `#[data]` on the type, derive `Serialize` for it, or implement `From` for `Output`",
    note = "a value for the host alone goes beside the text: `Output::text(…).with_host(value)`"
)]
pub trait Answer: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Answer for T {}

/// Converts by `serde`.
pub struct BySerde;

impl BySerde {
    /// Serializes the value.
    pub fn output<T: Answer>(&self, value: T) -> ToolResult {
        let written = Json::from_serialize(&value);
        written.map(Output::json).map_err(|error| {
            let message = format!("the tool's result cannot be written as JSON: {error}");
            ToolError::new(message).with_kind("unwritable_result")
        })
    }
}

/// A type that converts to the error of a tool.
pub trait Converted {
    /// Selects `From`.
    fn cause(&self) -> IntoError {
        IntoError
    }
}

impl<E: Into<ToolError>> Converted for &&Probe<E> {}

/// A boxed error.
pub trait Boxed {
    /// Selects the boxed error with its causes.
    fn cause(&self) -> BoxedError {
        BoxedError
    }
}

impl Boxed for &Probe<Box<dyn Error>> {}
impl Boxed for &Probe<Box<dyn Error + Send>> {}
impl Boxed for &Probe<Box<dyn Error + Send + Sync>> {}

/// A type that can be displayed.
pub trait Shown {
    /// Selects the text.
    fn cause(&self) -> Text {
        Text
    }
}

impl<E> Shown for Probe<E> {}

/// Converts an error by `From`.
pub struct IntoError;

impl IntoError {
    /// Converts the error.
    pub fn error<E: Into<ToolError>>(&self, error: E) -> ToolError {
        error.into()
    }
}

/// Converts a boxed error.
pub struct BoxedError;

impl BoxedError {
    /// Converts the error.
    pub fn error<E: Deref<Target: Error>>(&self, error: E) -> ToolError {
        ToolError::from(&*error).with_kind("Error")
    }
}

/// A type that can be the error of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "this has no words for a model",
    note = "implement `std::error::Error` or `Display` for it, or return a `ToolError`"
)]
pub trait Failure: Display {}

#[diagnostic::do_not_recommend]
impl<E: Display> Failure for E {}

/// Converts an error by its text.
pub struct Text;

impl Text {
    /// Converts the error. The alternate form `{:#}` includes causes for errors that support it.
    pub fn error<E: Failure>(&self, error: E) -> ToolError {
        ToolError::new(format!("{error:#}"))
    }
}

/// A type that can be serialized into a schema.
pub trait Writable<T> {
    /// Returns the serializer.
    fn writer(&self) -> Writer<T>;
}

impl<T: Serialize> Writable<T> for &Probe<T> {
    fn writer(&self) -> Writer<T> {
        |value| Json::from_serialize(value).ok()
    }
}

/// A type that cannot be serialized.
pub trait Unwritable<T> {
    /// Returns a function that returns `None`.
    fn writer(&self) -> Writer<T>;
}

impl<T> Unwritable<T> for Probe<T> {
    fn writer(&self) -> Writer<T> {
        |_| None
    }
}

/// A `Result` of a type with a schema.
pub trait DescribedResult {
    /// Returns the schema.
    fn describe(&self) -> Option<Json>;
}

impl<T: JsonSchema, E> DescribedResult for &&Probe<Result<T, E>> {
    fn describe(&self) -> Option<Json> {
        define::output_of::<T>()
    }
}

/// A type with a schema.
pub trait Described {
    /// Returns the schema.
    fn describe(&self) -> Option<Json>;
}

impl<T: JsonSchema> Described for &Probe<T> {
    fn describe(&self) -> Option<Json> {
        define::output_of::<T>()
    }
}

/// A type without a schema.
pub trait Undescribed {
    /// Returns `None`.
    fn describe(&self) -> Option<Json> {
        None
    }
}

impl<T> Undescribed for Probe<T> {}
