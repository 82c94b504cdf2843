//! Attributes on items of the wrong kind.

#![allow(unused_variables)]

use toolwright_macros::{data, tool};

#[tool]
struct Weather;

#[tool]
impl Weather {
    fn now() {}
}

#[tool]
const LIMIT: u8 = 3;

#[data]
fn nothing() {}

fn main() {}
