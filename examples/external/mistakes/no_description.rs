//! A tool without a doc comment: the compiler warns of it.

use toolwright::prelude::*;

#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    drop(add::handler());
}
