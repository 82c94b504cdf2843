//! Open loop: requests start by a schedule, however long the replies take, and their times count
//! from their scheduled start. A slow reply thus cannot hide the requests that had to wait for it
//! (coordinated omission).

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use super::client::{Connection, Times};
use super::{ClientPool, Samples, Target};
use crate::failure::Outcome;

impl ClientPool {
    /// Starts `rate` requests per second for some time, over additional connections if the pool's
    /// are busy.
    pub(crate) async fn follow(self, rate: u32, time: Duration) -> Outcome<Samples> {
        let idle = Arc::new(Mutex::new(self.connections));
        let target = Arc::new(self.target);
        let start = Instant::now();
        let mut arrivals = schedule(start, rate, time);
        let mut under_way = JoinSet::new();
        let mut samples = Samples::default();
        loop {
            tokio::select! {
                biased;
                Some(done) = under_way.join_next() => note(&mut samples, done)?,
                arrival = arrivals.recv() => {
                    let Some(due) = arrival else { break };
                    under_way.spawn(one(idle.clone(), target.clone(), due));
                }
            }
        }
        while let Some(done) = under_way.join_next().await {
            note(&mut samples, done)?;
        }
        samples.finish(start.elapsed());
        Ok(samples)
    }
}

/// Signals each arrival at its time. It runs on its own thread, because a runtime's timers have a
/// resolution of milliseconds.
fn schedule(
    start: Instant,
    rate: u32,
    time: Duration,
) -> tokio::sync::mpsc::UnboundedReceiver<Instant> {
    let (sender, receiver) = unbounded_channel();
    let count = (f64::from(rate) * time.as_secs_f64()).max(1.0) as u32;
    std::thread::spawn(move || {
        for number in 0..count {
            let due = start + Duration::from_secs_f64(f64::from(number) / f64::from(rate));
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if sender.send(due).is_err() {
                break;
            }
        }
    });
    receiver
}

type Done = Result<Outcome<(Instant, Times)>, tokio::task::JoinError>;

fn note(samples: &mut Samples, done: Done) -> Outcome {
    let (due, times) = done??;
    samples.note(times.first - due, times.last - due);
    Ok(())
}

async fn one(
    idle: Arc<Mutex<Vec<Connection>>>,
    target: Arc<Target>,
    due: Instant,
) -> Outcome<(Instant, Times)> {
    let kept = idle.lock().pop();
    let mut connection = match kept {
        Some(connection) => connection,
        None => Connection::open(target.address).await?,
    };
    let times = connection.exchange(&target).await?;
    idle.lock().push(connection);
    Ok((due, times))
}
