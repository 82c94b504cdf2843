//! The exchange: a request in the client's dialect, an answer from any vendor.

pub mod keep;
