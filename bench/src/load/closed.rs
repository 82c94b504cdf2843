//! Closed loop: each client sends the next request as soon as it has the reply.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::Connection;
use super::{ClientPool, Samples, Target};
use crate::failure::Outcome;

impl ClientPool {
    /// Keeps every connection busy for some time; exchanges in flight are finished.
    pub(crate) async fn work(self, time: Duration) -> Outcome<Samples> {
        let target = Arc::new(self.target);
        let start = Instant::now();
        let clients: Vec<_> = self
            .connections
            .into_iter()
            .map(|connection| tokio::spawn(client(connection, target.clone(), start + time)))
            .collect();
        let mut samples = Samples::default();
        for client in clients {
            samples.append(client.await??);
        }
        samples.finish(start.elapsed());
        Ok(samples)
    }
}

async fn client(
    mut connection: Connection,
    target: Arc<Target>,
    until: Instant,
) -> Outcome<Samples> {
    let mut samples = Samples::default();
    loop {
        let begun = Instant::now();
        if begun >= until {
            return Ok(samples);
        }
        let times = connection.exchange(&target).await?;
        samples.note(times.first - begun, times.last - begun);
    }
}
