//! The load generator: a [`Crew`] of raw hyper connections, one request after another on each. It
//! works in a closed loop ([`closed`]), by a schedule ([`open`]), or as a crowd of slow streams
//! ([`crowd`]).

mod client;
mod closed;
mod crowd;
mod expect;
mod open;
mod sample;

use std::net::SocketAddr;

use crate::failure::Outcome;
use crate::question::Question;

pub(crate) use self::client::{Connection, next_nonce};
pub(crate) use self::expect::Expect;
pub(crate) use self::sample::{Samples, median};

/// Whom to ask what, and what to expect.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Where
    pub(crate) address: SocketAddr,
    /// What is asked
    pub(crate) question: Question,
    /// What is right
    pub(crate) expect: Expect,
}

/// Connections to a target, which are there before any clock starts.
pub(crate) struct Crew {
    target: Target,
    connections: Vec<Connection>,
}

impl Crew {
    /// Connects so many times.
    pub(crate) async fn connect(target: Target, count: usize) -> Outcome<Crew> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open(target.address).await?);
        }
        Ok(Crew { target, connections })
    }

    /// Connects so many times, and has one exchange over each.
    pub(crate) async fn warm(target: Target, count: usize) -> Outcome<Crew> {
        let mut crew = Crew::connect(target, count).await?;
        for connection in &mut crew.connections {
            connection.exchange(&crew.target).await.map_err(|wrong| wrong.within("warm-up"))?;
        }
        Ok(crew)
    }
}
