//! The loop: ask the model, make its calls, give it the outcomes, until it is done.

pub mod model;

pub use model::{EventStream, Model, Upstream};
