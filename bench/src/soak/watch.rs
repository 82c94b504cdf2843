//! Samples the gateway's memory under load.

use std::time::{Duration, Instant};

use crate::load::median;
use crate::process::{self, Child};

/// Readings over time, in megabytes.
#[derive(Debug)]
pub(crate) struct Watch {
    process: u32,
    begun: Instant,
    time: Duration,
    told: Duration,
    readings: Vec<(Duration, f64)>,
}

impl Watch {
    /// Starts sampling.
    pub(crate) fn start(child: &Child, time: Duration) -> Watch {
        let process = child.id();
        Watch { process, begun: Instant::now(), time, told: Duration::ZERO, readings: Vec::new() }
    }

    /// Takes a sample, and prints one from time to time.
    pub(crate) fn look(&mut self) {
        let at = self.begun.elapsed();
        let resident = process::resident(self.process);
        self.readings.push((at, resident));
        if at >= self.told {
            self.told = at + Duration::from_secs(10);
            let files = process::files(self.process);
            println!("{:>4} s  {resident:>6.1} MB  {files:>5} files", at.as_secs());
        }
    }

    /// The median after the warm-up (the second fifth of the time), and at the end (the last fifth).
    pub(crate) fn levels(&self) -> (f64, f64) {
        let fifth = self.time / 5;
        let within = |from: Duration, to: Duration| {
            let readings = self.readings.iter().filter(|(at, _)| *at >= from && *at < to);
            median(readings.map(|(_, resident)| *resident).collect())
        };
        (within(fifth, fifth * 2), within(fifth * 4, Duration::MAX))
    }
}
