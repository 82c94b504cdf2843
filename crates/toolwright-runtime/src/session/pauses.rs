//! Time in which the deadline of a call does not run, because a person thinks or the host lets the call wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Maximum time that all limited pauses of a call add to its deadline.
const MAX_PAUSE: Duration = Duration::from_mins(10);

/// The pauses of a call. Clones share them.
#[derive(Debug, Clone)]
pub struct Pauses(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: watch::Sender<State>,
    /// The pauses of the call that made this one
    outer: Option<Pauses>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    limited: Stopwatch,
    unlimited: Stopwatch,
}

impl State {
    fn total(&self) -> Duration {
        self.limited.total().min(MAX_PAUSE) + self.unlimited.total()
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Stopwatch {
    /// Duration of the pauses that have ended
    ended: Duration,
    /// Number of pauses in progress, and the start of the first of them
    open: usize,
    since: Option<Instant>,
}

impl Stopwatch {
    fn total(&self) -> Duration {
        self.ended + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

/// A pause, until it is dropped.
#[derive(Debug)]
pub struct Pause {
    pauses: Pauses,
    stopwatch: fn(&mut State) -> &mut Stopwatch,
    _outer: Option<Box<Pause>>,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses::new(None)
    }
}

impl Pauses {
    /// Creates the pauses of a call, which also pause the call that made it.
    pub(crate) fn new(outer: Option<&Pauses>) -> Pauses {
        Pauses(Arc::new(Inner { state: watch::Sender::default(), outer: outer.cloned() }))
    }

    /// Starts a pause in which a person is asked. All of them together have a limit.
    pub fn start(&self) -> Pause {
        self.start_with(|state| &mut state.limited)
    }

    /// Starts a pause in which the host lets the call wait, for as long as it takes.
    pub fn start_unlimited(&self) -> Pause {
        self.start_with(|state| &mut state.unlimited)
    }

    fn start_with(&self, stopwatch: fn(&mut State) -> &mut Stopwatch) -> Pause {
        self.0.state.send_modify(|state| {
            let stopwatch = stopwatch(state);
            stopwatch.open += 1;
            stopwatch.since.get_or_insert_with(Instant::now);
        });
        let outer = self.0.outer.as_ref().map(|outer| Box::new(outer.start_with(stopwatch)));
        Pause { pauses: self.clone(), stopwatch, _outer: outer }
    }

    /// Duration of all pauses so far.
    pub(crate) fn total(&self) -> Duration {
        self.0.state.borrow().total()
    }

    /// Waits until a deadline, which the pauses extend.
    pub async fn reached(&self, deadline: Instant) {
        let mut changes = self.0.state.subscribe();
        loop {
            let state = *changes.borrow_and_update();
            if state.unlimited.open > 0 {
                // The sender belongs to these pauses.
                drop(changes.changed().await);
                continue;
            }
            // A pause in progress extends the deadline as far as it can.
            let limited = if state.limited.open > 0 { MAX_PAUSE } else { state.limited.total() };
            let extended = limited.min(MAX_PAUSE) + state.unlimited.ended;
            let Some(end) = deadline.checked_add(extended) else { std::future::pending().await };
            tokio::select! {
                biased;
                _ = changes.changed() => {}
                () = sleep_until(end) => return,
            }
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.pauses.0.state.send_modify(|state| {
            let stopwatch = (self.stopwatch)(state);
            stopwatch.open -= 1;
            if stopwatch.open == 0 {
                stopwatch.ended = stopwatch.total();
                stopwatch.since = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_does_not_run_during_a_pause() {
        let (outer, second) = (Pauses::default(), Duration::from_secs(1));
        let inner = Pauses::new(Some(&outer));
        let start = Instant::now();
        let pausing = async {
            tokio::time::sleep(second / 2).await;
            let pauses = [inner.start(), inner.start()];
            tokio::time::sleep(second * 60).await;
            drop(pauses);
        };
        let ends = async {
            inner.reached(start + second).await;
            start.elapsed()
        };
        let (end, outer_end, ()) = tokio::join!(
            ends,
            async {
                outer.reached(start + second * 2).await;
                start.elapsed()
            },
            pausing
        );
        assert_eq!((end.as_secs(), outer_end.as_secs()), (61, 62));
        let _endless = inner.start();
        let start = Instant::now();
        inner.reached(start).await;
        assert_eq!(start.elapsed(), MAX_PAUSE, "pauses are bounded");
        let (unlimited, start) = (Pauses::default(), Instant::now());
        let waiting = async {
            let _pause = unlimited.start_unlimited();
            tokio::time::sleep(MAX_PAUSE * 3).await;
        };
        tokio::join!(unlimited.reached(start + second), waiting);
        assert_eq!(start.elapsed(), MAX_PAUSE * 3 + second);
    }
}
