//! Functions that have no single schema.

#![allow(unused_variables)]

use toolwright_macros::tool;

#[tool]
fn largest<T: Ord>(items: Vec<T>) -> Option<T> {
    items.into_iter().max()
}

#[tool]
fn first<'a>(text: &'a str) -> &'a str {
    text.split(' ').next().unwrap_or(text)
}

fn main() {}
