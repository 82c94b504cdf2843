//! Deadlines of an upstream, and the timer that enforces them.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Deadlines for the steps of a request.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// Until a connection is established, TLS included
    pub connect: Duration,
    /// From sending the request until the response head arrives
    pub first_byte: Duration,
    /// Between two frames of the response body
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
    /// Creates the default deadlines.
    pub fn new() -> Deadlines {
        Deadlines::default()
    }

    /// Sets the deadline for the connection.
    pub fn with_connect(self, connect: Duration) -> Deadlines {
        Deadlines { connect, ..self }
    }

    /// Sets the deadline for the response head.
    pub fn with_first_byte(self, first_byte: Duration) -> Deadlines {
        Deadlines { first_byte, ..self }
    }

    /// Sets the deadline between two frames of the body.
    pub fn with_idle(self, idle: Duration) -> Deadlines {
        Deadlines { idle, ..self }
    }
}

/// A timer that is reset for the head and for each frame of a response.
#[derive(Debug)]
pub(crate) struct Timer(Pin<Box<Sleep>>);

impl Timer {
    pub(crate) fn after(wait: Duration) -> Timer {
        Timer(Box::pin(tokio::time::sleep(wait)))
    }

    pub(crate) fn set_after(&mut self, wait: Duration) {
        self.set(Instant::now(), wait);
    }

    /// Sets the timer to a duration after an instant, at most a year.
    pub(crate) fn set(&mut self, from: Instant, wait: Duration) {
        const YEAR: Duration = Duration::from_hours(24 * 365);
        let at = from.checked_add(wait).unwrap_or_else(|| from + YEAR);
        self.0.as_mut().reset(at);
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}
