//! The resources of a process, from `/proc`: processor time in nanoseconds, memory, files, threads.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// Processor time of a process, thread by thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usage(HashMap<u32, u64>);

impl Usage {
    /// Reads it. `schedstat` counts nanoseconds, while `stat` counts hundredths of a second.
    pub(crate) fn of(process: u32) -> Usage {
        let mut threads = HashMap::new();
        for entry in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let spent = fs::read_to_string(entry.path().join("schedstat")).ok();
            let spent = spent.and_then(|text| text.split(' ').next()?.parse().ok());
            let thread = entry.file_name().to_string_lossy().parse().ok();
            if let (Some(thread), Some(spent)) = (thread, spent) {
                threads.insert(thread, spent);
            }
        }
        Usage(threads)
    }

    /// Time spent since an earlier reading.
    pub(crate) fn since(&self, earlier: &Usage) -> Duration {
        let before = |thread: &u32| earlier.0.get(thread).copied().unwrap_or_default();
        Duration::from_nanos(
            self.0.iter().map(|(thread, spent)| spent.saturating_sub(before(thread))).sum(),
        )
    }

    /// Time spent since the process began.
    pub(crate) fn total(&self) -> Duration {
        self.since(&Usage::default())
    }
}

/// Resident memory in megabytes.
pub(crate) fn resident(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.map_or(f64::NAN, |kilobytes: f64| kilobytes * 1024.0 / 1e6)
}

/// The number of open files and sockets.
pub(crate) fn files(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// The living descendants of a process, with their names. Zombies do not count.
pub(crate) fn descendants(process: u32) -> Vec<(u32, String)> {
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut all: Vec<(u32, u32, String)> = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let id = entry.file_name().to_string_lossy().parse().ok();
        let stat = fs::read_to_string(entry.path().join("stat")).ok();
        let parsed = id.zip(stat).and_then(|(id, stat)| {
            // `id (name) state parent …`, and a name may contain any characters
            let (head, rest) = stat.rsplit_once(") ")?;
            let (_, name) = head.split_once(" (")?;
            let mut words = rest.split(' ');
            let state = words.next()?;
            let parent = words.next()?.parse().ok()?;
            (state != "Z").then(|| (id, parent, name.to_owned()))
        });
        all.extend(parsed);
    }
    let mut parents = vec![process];
    while let Some(parent) = parents.pop() {
        for (id, _, name) in all.iter().filter(|(_, own, _)| *own == parent) {
            parents.push(*id);
            found.push((*id, name.clone()));
        }
    }
    found
}

/// The load of the whole machine.
#[derive(Debug)]
pub(crate) struct Machine {
    since: Instant,
    busy: Duration,
}

impl Machine {
    /// Starts the measurement.
    pub(crate) fn watch() -> Machine {
        Machine { since: Instant::now(), busy: busy() }
    }

    /// The share of `cores` that other programs used; ours used `ours`.
    pub(crate) fn taken_by_others(&self, ours: Duration, cores: usize) -> f64 {
        let busy = busy().saturating_sub(self.busy).saturating_sub(ours);
        busy.as_secs_f64() / (self.since.elapsed().as_secs_f64() * cores.max(1) as f64)
    }
}

/// Time that all cores were busy: user, nice, system, interrupts, stolen.
fn busy() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<u64> = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or_default();
    Duration::from_millis(10 * (at(0) + at(1) + at(2) + at(5) + at(6) + at(7)))
}
