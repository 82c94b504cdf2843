//! A method.

#![allow(unused_variables)]

use toolwright_macros::tool;

struct Counter(u32);

impl Counter {
    #[tool]
    fn add(&mut self, amount: u32) {
        self.0 += amount;
    }
}

fn main() {}
