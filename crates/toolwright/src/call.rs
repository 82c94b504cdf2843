//! The one way from a model's call to its outcome. One verb, one file, in order.

pub mod called;
pub mod journal;

pub use called::{Approval, Called, Done, Source};
