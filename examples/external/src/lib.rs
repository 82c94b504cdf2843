//! The Rust examples of the README and of the guide, as doctests of a crate that depends on `toolwright`
//! and a runtime alone.

#[doc = include_str!("../../../README.md")]
pub mod readme {}

#[doc = include_str!("../../../README.zh-CN.md")]
pub mod readme_in_chinese {}

#[doc = include_str!("../../../crates/toolwright/guide.md")]
pub mod guide {}
