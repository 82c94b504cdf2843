//! Counts work in tests, so that they can tell linear from quadratic without a clock.
//!
//! A step is a key that is compared, a look of a validator at a value, or a byte that a repair reads.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts some steps.
pub(crate) fn count(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

/// How many steps a task takes on this thread.
pub(crate) fn steps(task: impl FnOnce()) -> usize {
    let before = STEPS.get();
    task();
    STEPS.get() - before
}
