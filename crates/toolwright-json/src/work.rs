//! Counts work in tests, to distinguish linear from quadratic algorithms without a clock.
//!
//! A step is a compared key, a value that a validator visits, or a byte that a repair reads.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts steps.
pub fn count(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

/// Returns the number of steps that a task takes on this thread.
pub fn steps(task: impl FnOnce()) -> usize {
    let before = STEPS.get();
    task();
    STEPS.get() - before
}
