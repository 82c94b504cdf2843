//! Checks how run time grows with the input. The processor time of two runs is compared, so that a
//! slow or busy machine does not matter.

/// Ratio of the two input sizes.
const FACTOR: usize = 16;

/// Asserts that the run time is not quadratic: a sixteenth of the input takes about a sixteenth of
/// the time, and not a 256th. The bound is the geometric mean of both.
pub fn assert_not_quadratic(size: usize, work: impl Fn(usize)) {
    let time = |size: usize| -> u64 {
        let before = processor_nanos();
        work(size);
        processor_nanos() - before
    };
    let small = (0..3).map(|_| time(size / FACTOR)).min().unwrap_or_default();
    let large = time(size);
    assert!(large <= small * 64, "{} takes {small} ns, {size} takes {large} ns", size / FACTOR);
}

/// Returns the processor time of this thread; 0 if the system does not report it.
fn processor_nanos() -> u64 {
    // The kernel updates the count when the thread yields.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    counts.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or_default()
}
