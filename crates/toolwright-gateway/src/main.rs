//! The `toolwright` command.
fn main() {}
