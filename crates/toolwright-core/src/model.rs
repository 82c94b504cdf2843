//! The canonical model: requests, responses and their components, independent of any vendor.

pub mod call;
pub mod dialect;
pub mod digest;
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
