//! One client of the soak test: makes visits, and reports those with an unexpected result.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use serde_json::Value;

use super::visit::{Kind, Visit};
use crate::dice::Dice;
use crate::failure::{Failure, Outcome};
use crate::load::{Connection, Expect, next_nonce};
use crate::question::{Question, ReplyKind};

/// How long a client waits that disconnects before the reply.
const IMPATIENCE: Duration = Duration::from_millis(300);

/// The results.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    visits: BTreeMap<Visit, (u64, u64)>,
    /// Requests that the gateway has certainly received
    pub(crate) reached: u64,
    /// Requests that the gateway may not have read when the client disconnected
    pub(crate) unknown: u64,
    /// The first few errors
    pub(crate) wrong: Vec<String>,
}

impl Tally {
    /// Adds the results of another client.
    pub(crate) fn add(&mut self, other: Tally) {
        for (visit, (count, wrong)) in other.visits {
            let own = self.visits.entry(visit).or_default();
            own.0 += count;
            own.1 += wrong;
        }
        self.reached += other.reached;
        self.unknown += other.unknown;
        self.wrong.extend(other.wrong);
        self.wrong.truncate(10);
    }

    /// Visits with their counts, and the number of errors.
    pub(crate) fn visits(&self) -> impl Iterator<Item = (Visit, (u64, u64))> {
        self.visits.iter().map(|(visit, counts)| (*visit, *counts))
    }

    fn note(&mut self, visit: Visit, kind: Kind, outcome: Outcome) {
        let own = self.visits.entry(visit).or_default();
        own.0 += 1;
        if let Err(failure) = outcome {
            own.1 += 1;
            let words = [visit.name(), kind.upstream, kind.reply.name()].join(", ");
            self.wrong.push(failure.within(&words).0);
            self.wrong.truncate(3);
        }
    }
}

/// State that all clients share. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    gateway: SocketAddr,
    expect: Arc<BTreeMap<Kind, Expect>>,
    questions: Arc<BTreeMap<(Kind, Visit), Question>>,
}

impl Post {
    /// Prepares all requests.
    pub(crate) fn new(gateway: SocketAddr, expect: BTreeMap<Kind, Expect>) -> Post {
        let all = Kind::ALL.into_iter().flat_map(|kind| Visit::ALL.map(|visit| (kind, visit)));
        let ask = |(kind, visit): (Kind, Visit)| ((kind, visit), kind.question(visit.model()));
        Post { gateway, expect: Arc::new(expect), questions: Arc::new(all.map(ask).collect()) }
    }

    /// Makes visits until the time is over.
    pub(crate) async fn work(self, number: u64, until: Instant) -> Tally {
        let mut tally = Tally::default();
        let mut dice = Dice::new(1, number);
        let mut kept = None;
        while Instant::now() < until {
            let visit = Visit::pick(dice.roll());
            let kind = Kind::ALL[(dice.roll() % 4) as usize];
            let outcome = self.visit(visit, kind, &mut kept, &mut tally).await;
            tally.note(visit, kind, outcome);
        }
        tally
    }

    async fn visit(
        &self,
        visit: Visit,
        kind: Kind,
        kept: &mut Option<Connection>,
        tally: &mut Tally,
    ) -> Outcome {
        let Some(question) = self.questions.get(&(kind, visit)) else { return Ok(()) };
        // The gateway may close a connection between two visits.
        let usable = match kept {
            Some(connection) => connection.is_ready().await,
            None => false,
        };
        let mut connection = match kept.take() {
            Some(connection) if usable => connection,
            _ => Connection::open(self.gateway).await?,
        };
        let nonce = next_nonce();
        match visit {
            Visit::LeaveEarly => {
                let head = connection.head(question, nonce);
                match tokio::time::timeout(IMPATIENCE, head).await {
                    Err(_) => tally.unknown += 1,
                    Ok(_) => {
                        return Err(Failure("was answered, though the upstream stalls".into()));
                    }
                }
                Ok(())
            }
            Visit::LeaveMiddle => {
                let (_, mut body) = connection.head(question, nonce).await?;
                tally.reached += 1;
                for _ in 0..3 {
                    let _ = body.frame().await;
                }
                Ok(())
            }
            Visit::Cut | Visit::Hang => {
                let (status, body) = connection.head(question, nonce).await?;
                tally.reached += 1;
                let body = tokio::time::timeout(Duration::from_secs(30), body.collect()).await;
                let body = body.map_err(|_| Failure("is never given up".into()))?;
                // To a client, a truncated body is as clear as an error.
                body.map_or(Ok(()), |body| broken(status, &body.to_bytes(), kind.reply))
            }
            _ => {
                let answer = connection.read(question, nonce).await?;
                tally.reached += 1;
                *kept = Some(connection);
                match (visit, self.expect.get(&kind)) {
                    (Visit::Fine, Some(expect)) => expect.check(answer.status, &answer.body, nonce),
                    (Visit::Busy, _) => fault(answer.status, &answer.body, 429..430),
                    _ => fault(answer.status, &answer.body, 500..600),
                }
            }
        }
    }
}

/// Asserts that a fault is in the client's dialect.
fn fault(status: u16, body: &[u8], statuses: std::ops::Range<u16>) -> Outcome {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    if statuses.contains(&status) && value["error"]["message"].is_string() {
        return Ok(());
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
    Err(Failure(format!("{status} is not the right fault: {start}")))
}

/// Asserts that a truncated reply does not look complete.
fn broken(status: u16, body: &[u8], reply: ReplyKind) -> Outcome {
    if status != 200 {
        return fault(status, body, 500..600);
    }
    let says_so = memchr::memmem::find(body, b"\"error\"").is_some();
    if reply == ReplyKind::Stream && says_so {
        return Ok(());
    }
    let end = String::from_utf8_lossy(&body[body.len().saturating_sub(300)..]).into_owned();
    Err(Failure(format!("looks whole, though the upstream broke off: …{end}")))
}
