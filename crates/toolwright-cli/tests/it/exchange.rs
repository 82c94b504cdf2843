//! Exchanges through the running gateway, with upstreams that replay recordings.

mod approvals;
mod array;
pub(crate) mod catalog;
mod conversation;
mod endpoints;
mod fold;
mod hostile;
mod inquiry;
mod key;
mod leave;
mod loss;
mod moves;
mod pass;
mod requests;
mod responses;
mod retry;
mod route;
mod streams;
mod think;
pub(crate) mod tools;
