//! The canonical model: requests, responses and their components, independent of any vendor.

pub mod call;
pub(crate) mod dialect;
pub(crate) mod digest;
pub mod extra;
pub mod fault;
pub mod message;
pub mod origin;
pub mod outcome;
pub mod part;
pub mod request;
pub mod response;
pub mod tool;
pub mod usage;
