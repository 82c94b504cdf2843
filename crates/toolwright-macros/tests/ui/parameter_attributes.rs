//! Attributes that a parameter cannot have.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool]
fn renamed(#[serde(rename = "b")] a: u8) {}

#[tool]
fn sometimes(#[cfg(unix)] a: u8) {}

#[tool]
fn empty(#[default] a: u8) {}

#[tool]
fn twice(#[default(1)] #[default(2)] a: u8) {}

fn main() {}
