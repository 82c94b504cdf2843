//! The seed of property tests. It is fixed by `.cargo/config.toml`, so that every run checks the same values;
//! `cargo xtask fuzz --fresh` sets another.
//!
//! A failure prints its seed: set `PROPTEST_RNG_SEED` to it to run again.

use std::fmt::Display;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;

use proptest::prelude::{Strategy, TestCaseError};
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// A deterministic pseudorandom generator.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Dice {
        // Neighbouring seeds differ in most bits, and none gives zero, which would stay zero.
        Dice(seed.max(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns a number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % sides as u64).unwrap()
    }

    /// Returns one of several.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }
}

/// The seed of `.cargo/config.toml`.
pub const FIXED: u64 = 0;

/// Checks a property with the seed of this run.
pub fn check(property: impl Fn(u64)) {
    let seed = match Config::default().rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().build_hasher().finish(),
    };
    let _printed = PrintedOnPanic(seed);
    property(seed);
}

/// Checks a property of generated values with the seed of this run. The seed that most runs have in common checks a
/// third of the cases, so that an edit is tested in seconds; every other seed checks all.
pub fn check_values<S: Strategy>(
    name: impl Display,
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    check(|seed| {
        let rng_seed = RngSeed::Fixed(seed);
        let cases = if seed == FIXED { cases.div_ceil(3) } else { cases };
        let config = Config { cases, failure_persistence: None, rng_seed, ..Config::default() };
        let outcome = TestRunner::new(config).run(strategy, &property);
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    });
}

struct PrintedOnPanic(u64);

impl Drop for PrintedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "run again with PROPTEST_RNG_SEED={}", self.0);
        }
    }
}
