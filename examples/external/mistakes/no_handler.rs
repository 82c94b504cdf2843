//! A toolbox of a function instead of its handler: the compiler says what to write.

use toolwright::Toolbox;
use toolwright::prelude::*;

/// Returns the sum of two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    drop(Toolbox::new([add]));
}
