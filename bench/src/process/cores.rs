//! Assignment of cores: the measured process gets the first core, clients and mock the others.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The split of the cores.
#[derive(Debug, Clone)]
pub(crate) struct Cores {
    measured: Vec<usize>,
    others: Vec<usize>,
}

impl Cores {
    /// Finds the cores that this process may use.
    pub(crate) fn find() -> Cores {
        let mine = sched_getaffinity(None).map_or_else(|_| Vec::new(), |set| list(&set));
        match mine.as_slice() {
            [first, others @ ..] if !others.is_empty() => {
                Cores { measured: vec![*first], others: others.to_vec() }
            }
            _ => Cores { measured: mine.clone(), others: mine },
        }
    }

    /// The number of cores.
    pub(crate) fn count(&self) -> usize {
        if self.is_split() { 1 + self.others.len() } else { self.measured.len() }
    }

    /// Whether the measured process has its core exclusively.
    pub(crate) fn is_split(&self) -> bool {
        self.measured != self.others
    }

    /// Processes that this thread starts from now on are measured.
    pub(crate) fn enter_measured(&self) {
        pin(&self.measured);
    }

    /// Processes that this thread starts from now on are not measured.
    pub(crate) fn enter_others(&self) {
        pin(&self.others);
    }
}

fn list(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

fn pin(cores: &[usize]) {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core);
    }
    // Where it is not allowed, the figures are less stable, and the report shows the load of other
    // programs.
    let _ = sched_setaffinity(None, &set);
}

/// Raises the limit of open files to the maximum.
pub(crate) fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
