//! `#[context]` on what cannot be shared.

#![allow(unused_variables)]

use toolwright_macros::tool;

struct Data;

#[tool]
async fn by_value(#[context] data: Data) {}

#[tool]
async fn with_default(#[context] #[default(Data)] data: &Data) {}

#[tool]
async fn both(#[context] #[scope] data: &Data) {}

fn main() {}
