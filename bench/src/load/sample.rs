//! The samples of a measurement: every single time, so that percentiles are exact.

use std::time::Duration;

/// Times of many exchanges, each from its scheduled start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    /// To the last byte, in nanoseconds
    whole: Vec<u64>,
    /// To the first byte of the body, in nanoseconds
    first: Vec<u64>,
    /// How long the measurement took
    elapsed: Duration,
}

impl Samples {
    /// Records one exchange.
    pub(crate) fn note(&mut self, first: Duration, whole: Duration) {
        self.first.push(first.as_nanos() as u64);
        self.whole.push(whole.as_nanos() as u64);
    }

    /// Adds the times of another client, or of a later round.
    pub(crate) fn append(&mut self, other: Samples) {
        self.first.extend(other.first);
        self.whole.extend(other.whole);
    }

    /// Sets the duration, and sorts the times.
    pub(crate) fn finish(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
        self.sort();
    }

    /// Sorts the times, for the percentiles.
    fn sort(&mut self) {
        self.first.sort_unstable();
        self.whole.sort_unstable();
    }

    /// The number of exchanges.
    pub(crate) fn count(&self) -> usize {
        self.whole.len()
    }

    /// Exchanges per second.
    pub(crate) fn rate(&self) -> f64 {
        self.count() as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    /// A percentile of the time to the last byte, in microseconds.
    pub(crate) fn whole(&self, percent: f64) -> f64 {
        percentile(&self.whole, percent)
    }

    /// A percentile of the time to the first byte, in microseconds.
    pub(crate) fn first(&self, percent: f64) -> f64 {
        percentile(&self.first, percent)
    }
}

/// The samples of several rounds.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    all: Samples,
    rate: Vec<f64>,
    p50: Vec<f64>,
    first: Vec<f64>,
}

/// The figures of several rounds. Times in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Number of exchanges
    pub(crate) count: usize,
    /// Exchanges per second
    pub(crate) rate: f64,
    /// Time to the last byte: the median over rounds of each round's median
    pub(crate) p50: f64,
    /// Of all rounds together
    pub(crate) p99: f64,
    /// Of all rounds together
    pub(crate) p999: f64,
    /// Time to the first byte of the body, like `p50`
    pub(crate) first: f64,
}

impl Rounds {
    /// Adds a round.
    pub(crate) fn add(&mut self, samples: Samples) {
        self.rate.push(samples.rate());
        self.p50.push(samples.whole(50.0));
        self.first.push(samples.first(50.0));
        self.all.append(samples);
    }

    /// Sums up the rounds.
    pub(crate) fn figures(mut self) -> Figures {
        self.all.sort();
        Figures {
            count: self.all.count(),
            rate: median(self.rate),
            p50: median(self.p50),
            p99: self.all.whole(99.0),
            p999: self.all.whole(99.9),
            first: median(self.first),
        }
    }
}

/// The nearest rank in sorted nanoseconds, in microseconds.
fn percentile(sorted: &[u64], percent: f64) -> f64 {
    let rank = ((percent * 10.0).round() as usize * sorted.len()).div_ceil(1000);
    sorted.get(rank.max(1) - 1).map_or(f64::NAN, |nanos| *nanos as f64 / 1000.0)
}

/// The median of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => figures[middle],
        _ => f64::midpoint(figures[middle - 1], figures[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact() {
        let mut samples = Samples::default();
        for micros in (1..=1000).rev() {
            samples.note(Duration::from_micros(1), Duration::from_micros(micros));
        }
        samples.finish(Duration::from_secs(2));
        assert_eq!(samples.whole(50.0) as u64, 500);
        assert_eq!(samples.whole(99.9) as u64, 999);
        assert_eq!(samples.rate() as u64, 500);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]).to_bits(), 2.5_f64.to_bits());
    }
}
