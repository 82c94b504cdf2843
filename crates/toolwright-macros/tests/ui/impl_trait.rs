//! Parameters without a type of their own.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool]
fn greet(name: impl Into<String>, others: Vec<impl Into<String>>) -> String {
    name.into()
}

fn main() {}
