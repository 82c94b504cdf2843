//! The load generator: a [`Crew`] of raw hyper connections, with one request after another on each.
//! It runs a closed loop ([`closed`]), a schedule ([`open`]), or a crowd of slow streams
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

/// An address, a request, and the expected reply.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The address
    pub(crate) address: SocketAddr,
    /// The request
    pub(crate) question: Question,
    /// The expected reply
    pub(crate) expect: Expect,
}

/// Connections to a target, opened before the clock starts.
pub(crate) struct Crew {
    target: Target,
    connections: Vec<Connection>,
}

impl Crew {
    /// Opens this many connections.
    pub(crate) async fn connect(target: Target, count: usize) -> Outcome<Crew> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open(target.address).await?);
        }
        Ok(Crew { target, connections })
    }

    /// Opens this many connections, and runs one exchange over each.
    pub(crate) async fn warm(target: Target, count: usize) -> Outcome<Crew> {
        let mut crew = Crew::connect(target, count).await?;
        for connection in &mut crew.connections {
            connection.exchange(&crew.target).await.map_err(|wrong| wrong.within("warm-up"))?;
        }
        Ok(crew)
    }
}
