//! The labels of each metric. All values are constants or names from the configuration, or
//! names of functions up to a limit, so their number is bounded.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;

/// Labels of exchanges.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Requests {
    pub(super) dialect: &'static str,
    pub(super) upstream: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) status: &'static str,
}

/// Labels of exchanges whose client disconnected.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Left {
    pub(super) dialect: &'static str,
}

/// Labels of MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Server {
    pub(super) server: Arc<str>,
}

/// Labels of durations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Times {
    pub(super) dialect: &'static str,
    pub(super) upstream: Arc<str>,
    pub(super) stream: bool,
}

/// Labels of the time spent in the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Overhead {
    pub(super) dialect: &'static str,
    pub(super) upstream_dialect: &'static str,
    pub(super) mode: &'static str,
}

/// Labels of attempts at upstreams.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Attempts {
    pub(super) upstream: Arc<str>,
    pub(super) outcome: &'static str,
}

/// Labels of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Tokens {
    pub(super) upstream: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) direction: &'static str,
    pub(super) kind: &'static str,
}

/// Labels of losses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Losses {
    pub(super) dialect: &'static str,
    pub(super) upstream_dialect: &'static str,
    pub(super) severity: &'static str,
}

/// Labels of calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Calls {
    pub(super) by: &'static str,
    pub(super) outcome: &'static str,
}

/// Labels of calls of functions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct FunctionCalls {
    pub(super) function: Arc<str>,
    pub(super) outcome: &'static str,
}

/// Labels of the durations of functions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct FunctionTimes {
    pub(super) function: Arc<str>,
}

/// Labels of body sizes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Bytes {
    pub(super) direction: &'static str,
}
