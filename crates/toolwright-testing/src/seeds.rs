//! Seeds of property tests: a fixed one, which gives the same values in every run, and a fresh one.
//!
//! A failure prints its seed. If the variable `TOOLWRIGHT_SEED` is set, the properties run with
//! that seed only.

use std::fmt::Display;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;

use proptest::prelude::{Strategy, TestCaseError};
use proptest::test_runner::{Config, RngSeed, TestRunner};

const VARIABLE: &str = "TOOLWRIGHT_SEED";

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

/// The fixed seed.
pub const FIXED: u64 = 0;

/// A fresh seed runs one in this many cases.
const FRESH_SHARE: u32 = 4;

/// Checks a property with each seed.
pub fn each(property: impl Fn(u64)) {
    let given = std::env::var(VARIABLE).ok().map(|seed| vec![seed.parse().unwrap()]);
    let fresh = || RandomState::new().build_hasher().finish();
    for seed in given.unwrap_or_else(|| vec![FIXED, fresh()]) {
        let _printed = PrintedOnPanic(seed);
        property(seed);
    }
}

/// Checks a property of generated values with each seed.
pub fn each_value<S: Strategy>(
    name: impl Display,
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let is_given = std::env::var(VARIABLE).is_ok();
    each(|seed| {
        let cases = if seed == FIXED || is_given { cases } else { cases / FRESH_SHARE };
        let rng_seed = RngSeed::Fixed(seed);
        let config = Config { cases, failure_persistence: None, rng_seed, ..Config::default() };
        let outcome = TestRunner::new(config).run(strategy, &property);
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    });
}

struct PrintedOnPanic(u64);

impl Drop for PrintedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "run again with {VARIABLE}={}", self.0);
        }
    }
}
