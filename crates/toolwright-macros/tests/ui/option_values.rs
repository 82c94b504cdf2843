//! Options with values that mean nothing, or contradict each other.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool(deadline = "five seconds", envelope = "box", budget = 0, retries = "3")]
fn a() {}

#[tool(read_only, keyed)]
fn b() {}

#[tool(cache = "60s")]
fn c() {}

#[tool(hidden = "executer")]
fn d(executor: String) {}

#[tool(name = "a", name = "b")]
fn e() {}

fn main() {}
