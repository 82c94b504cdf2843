//! The line in the log of a request that is not an exchange, whose recorder writes its own.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use http::{Method, Uri};

use crate::http::{HttpRequest, Reply};
use crate::telemetry::config::LogFormat;
use crate::telemetry::line::{TARGET, micros, write_request};

/// Logs a request when it is dropped: after the head of its reply, or when the client disconnects before.
pub(super) struct AccessLine {
    head: (Method, Uri),
    client: Arc<OnceLock<Box<str>>>,
    start: Instant,
    format: LogFormat,
    /// The status of the reply; 0 before it
    status: u16,
}

impl AccessLine {
    /// Begins with the head of a request.
    pub(super) fn new(request: &HttpRequest, format: LogFormat) -> AccessLine {
        let head = (request.method.clone(), request.uri.clone());
        let (client, start) = (Arc::clone(&request.client), request.started);
        AccessLine { head, client, start, format, status: 0 }
    }

    /// Ends with a reply.
    pub(super) fn end(mut self, reply: Reply) -> Reply {
        self.status = reply.status().as_u16();
        reply
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        // The client of a request that panics is still there and gets the fault.
        self.status = if std::thread::panicking() { 500 } else { self.status };
        if self.format == LogFormat::Text {
            return tracing::info!(target: TARGET, message = %self);
        }
        tracing::event!(
            target: TARGET,
            tracing::Level::INFO,
            http.request.method = self.head.0.as_str(),
            url.path = self.head.1.path(),
            http.response.status_code = self.status,
            "error.type" = (self.status == 0).then_some("client_left"),
            toolwright.client = self.client.get().map(|client| &**client),
            toolwright.total_us = micros(self.start.elapsed()),
            "request"
        );
    }
}

impl fmt::Display for AccessLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.client.get().map_or("-", |client| client);
        let columns = [self.head.0.as_str(), self.head.1.path(), client];
        write_request(out, columns, self.status, self.start.elapsed())
    }
}
