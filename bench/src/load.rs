//! The load generator: a [`ClientPool`] of raw hyper connections, with one request after another on each.
//! It runs a closed loop ([`closed`]), a schedule ([`open`]), or many slow streams at once
//! ([`streams`]).

mod client;
mod closed;
mod expect;
mod open;
mod sample;
mod streams;

use std::net::SocketAddr;

use crate::failure::Outcome;
use crate::question::Question;

pub(crate) use self::client::{Connection, next_nonce};
pub(crate) use self::expect::Expect;
pub(crate) use self::sample::{Figures, Rounds, Samples, median};

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
pub(crate) struct ClientPool {
    target: Target,
    connections: Vec<Connection>,
}

impl ClientPool {
    /// Opens this many connections.
    pub(crate) async fn connect(target: Target, count: usize) -> Outcome<ClientPool> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open(target.address).await?);
        }
        Ok(ClientPool { target, connections })
    }

    /// Opens this many connections, and runs one exchange over each.
    pub(crate) async fn warm(target: Target, count: usize) -> Outcome<ClientPool> {
        let mut pool = ClientPool::connect(target, count).await?;
        for connection in &mut pool.connections {
            connection.exchange(&pool.target).await.map_err(|wrong| wrong.within("warm-up"))?;
        }
        Ok(pool)
    }
}
