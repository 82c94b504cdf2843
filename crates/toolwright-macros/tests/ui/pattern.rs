//! Parameters without a name.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool]
fn add((a, b): (i64, i64)) -> i64 {
    a + b
}

#[tool]
fn ignore(_: String) {}

#[tool]
fn bound(whole @ _: String) {}

fn main() {}
