//! How the functions of prefabs run.

pub mod http;
