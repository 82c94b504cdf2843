//! Arguments that borrow more than a call can lend.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool]
fn change(text: &mut String) {}

#[tool]
fn inside(text: Option<&str>) {}

#[tool]
fn forever(text: &'static str) {}

fn main() {}
