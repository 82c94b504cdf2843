//! Integration tests of the core, in one binary.

mod anthropic;
mod fixtures;
mod json;
mod law_2;
mod law_3;
mod spelling;
