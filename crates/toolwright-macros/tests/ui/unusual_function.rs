//! Functions that cannot be called just so.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool]
const fn fixed() -> u8 {
    1
}

#[tool]
unsafe fn risky() {}

#[tool]
extern "C" fn foreign() {}

fn main() {}
