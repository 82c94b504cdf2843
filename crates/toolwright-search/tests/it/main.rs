//! Integration tests of the search for tools.

mod properties;
mod rank;
mod snapshot;
