//! How much one client may take. Each limit bounds what a hostile or broken client can cost.

use std::time::Duration;

/// The limits of the port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a request's body
    pub body: usize,
    /// The most bytes of a request's head
    pub header_bytes: usize,
    /// The most headers of a request
    pub headers: usize,
    /// The most connections at once; more wait to be accepted
    pub connections: usize,
    /// The most memory that the process is to take, in bytes
    pub memory: usize,
    /// How long a request's head may take, and a TLS handshake
    pub header_timeout: Duration,
    /// How long a body may come to a halt
    pub body_timeout: Duration,
    /// How long a connection may wait for its next request
    pub idle_timeout: Duration,
    /// How long a client may take nothing of an answer that waits for it
    pub write_timeout: Duration,
    /// How long what is under way may go on after the order to stop
    pub drain: Duration,
}

impl Limits {
    /// The bytes that requests and answers may take at once, as they came and as they are read; more
    /// wait a moment and are then refused. The rest of the memory is for the process itself.
    pub fn budget(&self) -> usize {
        self.memory / 4 * 3
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 32 << 20,
            header_bytes: 64 << 10,
            headers: 100,
            connections: 10_000,
            memory: 512 << 20,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(90),
            write_timeout: Duration::from_mins(5),
            drain: Duration::from_secs(30),
        }
    }
}
