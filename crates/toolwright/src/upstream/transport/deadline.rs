//! How long an upstream may take, and the one timer that a request watches it with.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// How long an upstream may take for each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// From the wish for a connection until it can be used, TLS included
    pub connect: Duration,
    /// From sending the request until the head of the reply is there
    pub first_byte: Duration,
    /// From one piece of the reply to the next
    pub idle: Duration,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(10),
            idle: Duration::from_mins(2),
        }
    }
}

impl Deadlines {
    /// The usual ones.
    pub fn new() -> Deadlines {
        Deadlines::default()
    }

    /// Limits the time until a connection can be used.
    #[must_use]
    pub fn with_connect(self, connect: Duration) -> Deadlines {
        Deadlines { connect, ..self }
    }

    /// Limits the time from sending a request until the head of its reply is there.
    #[must_use]
    pub fn with_first_byte(self, first_byte: Duration) -> Deadlines {
        Deadlines { first_byte, ..self }
    }

    /// Limits the time from one piece of a reply to the next.
    #[must_use]
    pub fn with_idle(self, idle: Duration) -> Deadlines {
        Deadlines { idle, ..self }
    }
}

/// A timer that is set again and again: a request has one, for its head and for each frame.
#[derive(Debug)]
pub(crate) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    pub(crate) fn after(wait: Duration) -> Alarm {
        Alarm(Box::pin(tokio::time::sleep(wait)))
    }

    pub(crate) fn set_after(&mut self, wait: Duration) {
        self.set(Instant::now(), wait);
    }

    /// Sets it to a time after another. One that no clock can say is as good as never.
    pub(crate) fn set(&mut self, from: Instant, wait: Duration) {
        const NEVER: Duration = Duration::from_hours(24 * 365);
        let at = from.checked_add(wait).unwrap_or_else(|| from + NEVER);
        self.0.as_mut().reset(at);
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}
