//! The compiler's messages for an invalid `#[tool]`, word for word.
//!
//! An invalid function expands to nothing that needs `toolwright`, so that the messages can be
//! tested without it. `TRYBUILD=overwrite` writes them again.

#[test]
fn mistakes_are_reported_at_their_span() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
