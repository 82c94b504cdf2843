//! How the work grows with its input: the processor's time of two runs is compared, so that a slow or busy
//! machine does not matter.

/// How much smaller the input is that is compared with.
const FACTOR: usize = 16;

/// Asserts that the work does not grow with the square of its input: a sixteenth of the input takes about
/// a sixteenth of the time, and not a 256th. The middle between both is the bound.
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

/// The time that a processor has spent on this thread; 0 where the system does not tell.
fn processor_nanos() -> u64 {
    // The count is brought up to date when the thread yields.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    counts.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or_default()
}
