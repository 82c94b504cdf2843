//! What the compiler says about a wrong `#[tool]`, word by word.
//!
//! A function with mistakes expands to nothing of `toolwright`, so that the messages can be had
//! without it. `TRYBUILD=overwrite` writes them anew.

#[test]
fn mistakes_are_explained_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
