//! How the work grows with its input, by comparison, so that a slow or busy machine does not matter.

use std::time::{Duration, Instant};

/// How much smaller the input is that is compared with.
const FACTOR: usize = 16;

/// Asserts that the work does not grow with the square of its input: a sixteenth of the input takes about
/// a sixteenth of the time, and not a 256th. The middle between both is the bound.
pub fn assert_not_quadratic(size: usize, work: impl Fn(usize)) {
    let time = |size: usize| -> Duration {
        let began = Instant::now();
        work(size);
        began.elapsed()
    };
    let small = (0..3).map(|_| time(size / FACTOR)).min().unwrap_or_default();
    // Another process may interrupt a measurement.
    let is_within = (0..3).any(|_| time(size) < small * 64);
    assert!(is_within, "{} takes {small:?}, {size} more than 64 times that", size / FACTOR);
}
