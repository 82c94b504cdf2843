//! Who runs on which core: what is measured gets the first for itself, clients and mock the others.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The split of the cores.
#[derive(Debug, Clone)]
pub(crate) struct Cores {
    measured: Vec<usize>,
    others: Vec<usize>,
}

impl Cores {
    /// Takes the cores that this process may use.
    pub(crate) fn find() -> Cores {
        let mine = sched_getaffinity(None).map_or_else(|_| Vec::new(), |set| list(&set));
        match mine.as_slice() {
            [first, others @ ..] if !others.is_empty() => {
                Cores { measured: vec![*first], others: others.to_vec() }
            }
            _ => Cores { measured: mine.clone(), others: mine },
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        if self.is_split() { 1 + self.others.len() } else { self.measured.len() }
    }

    /// Whether what is measured is alone on its core.
    pub(crate) fn is_split(&self) -> bool {
        self.measured != self.others
    }

    /// What this thread starts from now on is measured.
    pub(crate) fn enter_measured(&self) {
        pin(&self.measured);
    }

    /// What this thread starts from now on is not measured.
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
    // Where it is not allowed, the figures are less steady, and the report says who ran beside.
    let _ = sched_setaffinity(None, &set);
}

/// Lets this process and what it starts open as many files as the machine allows.
pub(crate) fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
