//! `#[scope]` that is too late, or twice.

#![allow(unused_variables)]

use toolwright_macros::tool;

struct Scope;

#[tool]
fn late(path: String, #[scope] scope: &Scope) {}

#[tool]
fn twice(#[scope] scope: &Scope, #[scope] again: Scope) {}

fn main() {}
