//! Settings of connections: limits and certificate.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioTimer;
use parking_lot::RwLock;

use super::config::Limits;
use super::tls::Tls;
use super::write_stall::Streams;

/// The current settings. Clones share them. A change applies to new connections only.
#[derive(Debug, Clone)]
pub(super) struct Current(Arc<RwLock<Arc<Settings>>>);

impl Current {
    pub(super) fn new(settings: Settings) -> Current {
        Current(Arc::new(RwLock::new(Arc::new(settings))))
    }

    pub(super) fn get(&self) -> Arc<Settings> {
        Arc::clone(&self.0.read())
    }

    pub(super) fn set(&self, settings: Settings) {
        *self.0.write() = Arc::new(settings);
    }
}

/// The settings of a connection.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) limits: Limits,
    pub(super) tls: Option<Tls>,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<Streams>,
}

impl Settings {
    pub(super) fn new(limits: Limits, tls: Option<Tls>) -> Settings {
        let mut http1 = http1::Builder::new();
        // The watchdog enforces the timeout of heads, without a timer for each.
        http1.header_read_timeout(None).max_header_size(limits.header_bytes);
        // Setting hyper's default explicitly would cost an allocation for each request.
        if limits.headers != Limits::default().headers {
            http1.max_headers(limits.headers);
        }
        let mut http2 = http2::Builder::new(Streams::new(limits.write_timeout));
        http2
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .max_concurrent_streams(256)
            .initial_stream_window_size(256 << 10)
            .initial_connection_window_size(1 << 20)
            .max_send_buf_size(64 << 10)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        Settings { limits, tls, http1, http2 }
    }
}
