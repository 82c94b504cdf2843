//! Options that do not exist.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool(dedline = "5s", readonly, colour = "red")]
fn a() {}

fn main() {}
