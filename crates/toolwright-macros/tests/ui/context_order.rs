//! `#[context]` that is not first, or not alone.

#![allow(unused_variables)]

use toolwright_macros::tool;

struct Data;
struct Scope;

#[tool]
async fn late(path: String, #[context] data: &mut Data) {}

#[tool]
async fn twice(#[context] data: &mut Data, #[context] more: &Data) {}

#[tool]
async fn after_scope(#[scope] scope: &Scope, #[context] data: &Data) {}

fn main() {}
