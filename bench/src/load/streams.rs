//! Many open streams: every connection sends one request within a short time, for a stream that lasts until
//! all of them are open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{ClientPool, Samples};
use crate::failure::Outcome;

impl ClientPool {
    /// Opens one stream on each connection within `ramp`, and repeatedly calls `watch` with the
    /// number of open streams.
    pub(crate) async fn streams(
        self,
        ramp: Duration,
        mut watch: impl FnMut(usize),
    ) -> Outcome<Samples> {
        let target = Arc::new(self.target);
        let open = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        let count = self.connections.len() as u32;
        let mut under_way = JoinSet::new();
        for (number, mut connection) in (0..count).zip(self.connections) {
            let target = target.clone();
            let open = open.clone();
            under_way.spawn(async move {
                tokio::time::sleep(ramp * number / count).await;
                let begun = Instant::now();
                open.fetch_add(1, Ordering::Relaxed);
                let times = connection.exchange(&target).await;
                open.fetch_sub(1, Ordering::Relaxed);
                times.map(|times| (times.first - begun, times.last - begun))
            });
        }
        let mut samples = Samples::default();
        let mut pulse = tokio::time::interval(Duration::from_millis(50));
        loop {
            tokio::select! {
                done = under_way.join_next() => {
                    let Some(done) = done else { break };
                    let (first, whole) = done??;
                    samples.note(first, whole);
                }
                _ = pulse.tick() => watch(open.load(Ordering::Relaxed)),
            }
        }
        samples.finish(start.elapsed());
        Ok(samples)
    }
}
