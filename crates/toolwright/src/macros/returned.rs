//! What a function may return, chosen by its type when it is compiled.
//!
//! Rust looks for a method on `&&&Probe` before it looks on `&&Probe`, so that of several traits with
//! a method of the same name the one that is implemented with more references wins. The types are
//! known where an expansion stands, and so aliases of `Result` work as well as the word itself.
//!
//! | step | first | else | else |
//! |---|---|---|---|
//! | `shape` | a `Result` | a plain value | |
//! | `way` | what becomes an [`Output`] by `From` | what `serde` can write | |
//! | `cause` | what becomes a [`ToolError`] by `From` | a boxed error | what can be shown |
//! | `writer` | what `serde` can write | nothing | |
//! | `describe` | a `Result` of what has a schema | what has a schema | nothing |

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
use crate::handler::Ended;
use crate::output::Output;

/// A `Result`.
pub trait Splittable {
    /// Its shape.
    fn shape(&self) -> OfResult {
        OfResult
    }
}

impl<T, E> Splittable for &Probe<Result<T, E>> {}

/// Any other value.
pub trait Plain {
    /// Its shape.
    fn shape(&self) -> OfValue {
        OfValue
    }
}

impl<T> Plain for Probe<T> {}

/// The shape of a `Result`.
pub struct OfResult;

impl OfResult {
    /// The `Result` itself.
    pub fn split<T, E>(&self, returned: Result<T, E>) -> Result<T, E> {
        returned
    }
}

/// The shape of a function that cannot fail.
pub struct OfValue;

impl OfValue {
    /// The value, which is no error.
    pub fn split<T>(&self, returned: T) -> Result<T, Infallible> {
        Ok(returned)
    }
}

/// What becomes an output.
pub trait Direct {
    /// By `From`.
    fn way(&self) -> ByFrom {
        ByFrom
    }
}

impl<T: Into<Output>> Direct for &Probe<T> {}

/// What must be written.
pub trait Serialized {
    /// By `serde`.
    fn way(&self) -> BySerde {
        BySerde
    }
}

impl<T> Serialized for Probe<T> {}

/// The way of what becomes an output.
pub struct ByFrom;

impl ByFrom {
    /// The output.
    pub fn output<T: Into<Output>>(&self, value: T) -> Ended {
        Ok(value.into())
    }
}

/// What a tool can give to a model.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "a model cannot read this",
    note = "put `#[data]` on the type, derive `Serialize` for it, or implement `From` for `Output`",
    note = "a value for the host alone goes beside the text: `Output::text(…).with_host(value)`"
)]
pub trait Answer: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Answer for T {}

/// The way of what `serde` writes.
pub struct BySerde;

impl BySerde {
    /// The output.
    pub fn output<T: Answer>(&self, value: T) -> Ended {
        let written = Json::from_serialize(&value);
        written.map(Output::json).map_err(|error| {
            let message = format!("the tool's result cannot be written as JSON: {error}");
            ToolError::new(message).with_kind("unwritable_result")
        })
    }
}

/// What becomes the error of a tool.
pub trait Converted {
    /// By `From`.
    fn cause(&self) -> IntoError {
        IntoError
    }
}

impl<E: Into<ToolError>> Converted for &&Probe<E> {}

/// A boxed error.
pub trait Boxed {
    /// With what caused it.
    fn cause(&self) -> BoxedError {
        BoxedError
    }
}

impl Boxed for &Probe<Box<dyn Error>> {}
impl Boxed for &Probe<Box<dyn Error + Send>> {}
impl Boxed for &Probe<Box<dyn Error + Send + Sync>> {}

/// What can be shown.
pub trait Shown {
    /// As text.
    fn cause(&self) -> Text {
        Text
    }
}

impl<E> Shown for Probe<E> {}

/// The cause of what becomes the error of a tool.
pub struct IntoError;

impl IntoError {
    /// The error.
    pub fn error<E: Into<ToolError>>(&self, error: E) -> ToolError {
        error.into()
    }
}

/// The cause of a boxed error.
pub struct BoxedError;

impl BoxedError {
    /// The error.
    pub fn error<E: Deref<Target: Error>>(&self, error: E) -> ToolError {
        ToolError::from(&*error).with_kind("Error")
    }
}

/// What a tool can fail with.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "this has no words for a model",
    note = "implement `std::error::Error` or `Display` for it, or return a `ToolError`"
)]
pub trait Failure: Display {}

#[diagnostic::do_not_recommend]
impl<E: Display> Failure for E {}

/// The cause that is text.
pub struct Text;

impl Text {
    /// The error. Errors that keep their causes tell them too, if they are asked with `#`.
    pub fn error<E: Failure>(&self, error: E) -> ToolError {
        ToolError::new(format!("{error:#}"))
    }
}

/// A value that can be written into a schema.
pub trait Writable<T> {
    /// How.
    fn writer(&self) -> Writer<T>;
}

impl<T: Serialize> Writable<T> for &Probe<T> {
    fn writer(&self) -> Writer<T> {
        |value| Json::from_serialize(value).ok()
    }
}

/// A value that cannot.
pub trait Unwritable<T> {
    /// Not at all.
    fn writer(&self) -> Writer<T>;
}

impl<T> Unwritable<T> for Probe<T> {
    fn writer(&self) -> Writer<T> {
        |_| None
    }
}

/// A `Result` of what has a schema.
pub trait DescribedResult {
    /// The schema.
    fn describe(&self) -> Option<Json>;
}

impl<T: JsonSchema, E> DescribedResult for &&Probe<Result<T, E>> {
    fn describe(&self) -> Option<Json> {
        define::output_of::<T>()
    }
}

/// What has a schema.
pub trait Described {
    /// The schema.
    fn describe(&self) -> Option<Json>;
}

impl<T: JsonSchema> Described for &Probe<T> {
    fn describe(&self) -> Option<Json> {
        define::output_of::<T>()
    }
}

/// What has none.
pub trait Undescribed {
    /// None.
    fn describe(&self) -> Option<Json> {
        None
    }
}

impl<T> Undescribed for Probe<T> {}
