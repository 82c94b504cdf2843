//! Prometheus metrics, updated at the end of each exchange and served at `/metrics`.
//!
//! | metric | labels |
//! |---|---|
//! | `toolwright_requests_total` | `dialect`, `upstream`, `model`, `status` (`2xx`, …) |
//! | `toolwright_requests_in_flight` | |
//! | `toolwright_client_disconnects_total` | `dialect` |
//! | `toolwright_request_duration_seconds` | `dialect`, `upstream`, `stream` |
//! | `toolwright_time_to_first_byte_seconds` | `dialect`, `upstream`, `stream` |
//! | `toolwright_overhead_seconds` | `dialect`, `upstream_dialect`, `mode` (`passthrough`, `translated`) |
//! | `toolwright_upstream_attempts_total` | `upstream`, `outcome` (`ok` or a class of fault) |
//! | `toolwright_tokens_total` | `upstream`, `model`, `direction`, `kind` |
//! | `toolwright_losses_total` | `dialect`, `upstream_dialect`, `severity` |
//! | `toolwright_tool_calls_total` | `by` (`model`, `gateway`), `outcome` |
//! | `toolwright_function_calls_total` | `function`, `outcome` |
//! | `toolwright_function_duration_seconds` | `function` |
//! | `toolwright_mcp_changed_tools` | `server` |
//! | `toolwright_body_bytes_total` | `direction` |
//! | `toolwright_ledger_entries_waiting` | |
//! | `toolwright_ledger_write_failures_total` | |
//! | `toolwright_ledger_entries_dropped_total` | |
//! | `toolwright_log_lines_dropped_total` | |
//! | `toolwright_spans_dropped_total` | |
//!
//! Label values come from the configuration: a model that is not configured counts as `other`. Functions of
//! prefabs come from the catalog; after the first thousand, they count as `other`.

mod count;
mod label;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry, Unit};

use super::ledger::Numbers;
use label::{
    Attempts, Bytes, Calls, FunctionCalls, FunctionTimes, Left, Losses, Overhead, Requests, Server,
    Times, Tokens,
};

/// All metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    models: RwLock<HashSet<Arc<str>>>,
    other: Arc<str>,
    none: Arc<str>,
    open: Gauge,
    requests: Family<Requests, Counter>,
    left: Family<Left, Counter>,
    total: Seconds<Times>,
    first_byte: Seconds<Times>,
    added: Seconds<Overhead>,
    attempts: Family<Attempts, Counter>,
    tokens: Family<Tokens, Counter>,
    losses: Family<Losses, Counter>,
    /// Calls of the gateway's tools, by outcome
    calls: Family<Calls, Counter>,
    /// Calls of prefabs' functions
    function_calls: Family<FunctionCalls, Counter>,
    function_times: Seconds<FunctionTimes>,
    /// Functions that have their own label value
    functions: RwLock<HashSet<Arc<str>>>,
    /// Calls that models requested
    asked: Counter,
    bytes_in: Counter,
    bytes_out: Counter,
    /// Tools of MCP servers whose definitions have changed since they were approved
    changed_tools: Family<Server, Gauge>,
    waiting: Gauge,
    failures: Counter,
    missing: Counter,
    dropped: Counter,
    #[cfg(feature = "otel")]
    dropped_spans: Counter,
}

/// Maximum number of functions with their own label value.
const MAX_FUNCTIONS: usize = 1_000;

type Seconds<L> = Family<L, Histogram, fn() -> Histogram>;

impl Metrics {
    /// Creates metrics with zero values.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("toolwright");
        let all = &mut registry;
        let calls: Family<Calls, Counter> = register(all, "tool_calls", "Tool calls");
        let asked = calls.get_or_create(&Calls { by: "model", outcome: "asked" }).clone();
        let bytes: Family<Bytes, Counter> =
            register(all, "body_bytes", "Bytes of the bodies of clients and of replies");
        let bytes = |direction| Counter::clone(&bytes.get_or_create(&Bytes { direction }));
        Metrics {
            open: register(all, "requests_in_flight", "Exchanges in flight"),
            waiting: register(
                all,
                "ledger_entries_waiting",
                "Entries that are not in the ledger's file yet",
            ),
            failures: register(
                all,
                "ledger_write_failures",
                "Writes to the ledger's file that failed",
            ),
            missing: register(
                all,
                "ledger_entries_dropped",
                "Entries that were not recorded because the ledger's file could not be written",
            ),
            dropped: register(
                all,
                "log_lines_dropped",
                "Lines that were not written because the log could not keep up",
            ),
            #[cfg(feature = "otel")]
            dropped_spans: register(all, "spans_dropped", "Spans that were not exported"),
            changed_tools: register(
                all,
                "mcp_changed_tools",
                "Tools of MCP servers whose definitions have changed since they were approved",
            ),
            requests: register(all, "requests", "Exchanges that have finished"),
            left: register(all, "client_disconnects", "Exchanges whose client disconnected"),
            attempts: register(all, "upstream_attempts", "Attempts at upstreams"),
            tokens: register(all, "tokens", "Tokens, as upstreams count them"),
            losses: register(all, "losses", "Losses of translation"),
            calls,
            function_calls: register(all, "function_calls", "Calls of prefabs' functions"),
            functions: RwLock::default(),
            asked,
            bytes_in: bytes("in"),
            bytes_out: bytes("out"),
            total: seconds(all, "request_duration", "Duration of exchanges", slow),
            first_byte: seconds(
                all,
                "time_to_first_byte",
                "Time to the first byte of a reply",
                slow,
            ),
            function_times: seconds(
                all,
                "function_duration",
                "Duration of prefabs' functions",
                slow,
            ),
            added: seconds(all, "overhead", "Time spent in the gateway", fast),
            registry,
            models: RwLock::default(),
            other: "other".into(),
            none: "none".into(),
        }
    }

    /// Sets the model names that have their own label value.
    pub fn know<N: Into<Arc<str>>>(&self, models: impl IntoIterator<Item = N>) {
        let models = models.into_iter().map(Into::into).collect();
        *self.models.write() = models;
    }

    /// Sets the number of tools with changed definitions of each MCP server.
    pub fn set_changed_tools<'s>(&self, servers: impl Iterator<Item = (&'s str, usize)>) {
        self.changed_tools.clear();
        for (server, count) in servers {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.changed_tools.get_or_create(&Server { server: server.into() }).set(count);
        }
    }

    /// Returns the number of exchanges in flight.
    pub fn in_flight(&self) -> i64 {
        self.open.get()
    }

    /// Returns the counter of dropped log lines.
    pub fn dropped_lines(&self) -> Counter {
        self.dropped.clone()
    }

    /// Returns the counter of dropped spans.
    #[cfg(feature = "otel")]
    pub fn dropped_spans(&self) -> Counter {
        self.dropped_spans.clone()
    }

    /// Returns the `OpenMetrics` text, with the counters of the ledger and the series of those functions that
    /// the filter accepts.
    pub(super) fn text(&self, ledger: Numbers, shows: impl Fn(&str) -> bool) -> String {
        self.waiting.set(i64::try_from(ledger.waiting).unwrap_or(i64::MAX));
        let counted = [(&self.failures, ledger.failures), (&self.missing, ledger.dropped)];
        for (counter, total) in counted {
            counter.inc_by(total.saturating_sub(counter.get()));
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _written: fmt::Result = encode(&mut text, &self.registry);
        let mut known: HashMap<&str, bool> = HashMap::from([(&*self.other, true)]);
        let lines = text.split_inclusive('\n').filter(|line| {
            let name = line.split_once("function=\"").and_then(|(_, more)| more.split_once('"'));
            name.is_none_or(|(name, _)| *known.entry(name).or_insert_with(|| shows(name)))
        });
        lines.collect()
    }

    /// Returns the label value of a function.
    fn function(&self, name: &Arc<str>) -> Arc<str> {
        let known = self.functions.read();
        if let Some(known) = known.get(name) {
            return Arc::clone(known);
        }
        drop(known);
        let mut known = self.functions.write();
        if known.len() >= MAX_FUNCTIONS && !known.contains(name) {
            return Arc::clone(&self.other);
        }
        known.insert(Arc::clone(name));
        Arc::clone(name)
    }

    /// Returns the label value of a model.
    fn model(&self, asked: Option<&Arc<str>>) -> Arc<str> {
        let models = self.models.read();
        asked.and_then(|asked| models.get(asked)).unwrap_or(&self.other).clone()
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

fn register<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn seconds<L>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    buckets: fn() -> Histogram,
) -> Seconds<L>
where
    L: Clone + std::hash::Hash + Eq,
    Seconds<L>: Metric,
{
    let family = Seconds::new_with_constructor(buckets);
    registry.register_with_unit(name, help, Unit::Seconds, Clone::clone(&family));
    family
}

/// From 25 µs to 0.1 s.
fn fast() -> Histogram {
    let buckets = [
        25e-6, 50e-6, 75e-6, 100e-6, 150e-6, 200e-6, 300e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3,
        25e-3, 100e-3,
    ];
    Histogram::new(buckets)
}

/// From 1 ms to more than half an hour.
fn slow() -> Histogram {
    Histogram::new(exponential_buckets(1e-3, 2.0, 22))
}

#[cfg(test)]
mod tests;
