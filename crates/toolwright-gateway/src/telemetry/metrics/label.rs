//! The labels of each metric. All are words of ours or names from the configuration, so that there
//! are never more of them than it has.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;

/// Of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Requests {
    pub(super) dialect: &'static str,
    pub(super) upstream: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) status: &'static str,
}

/// Of an exchange that the client left.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Left {
    pub(super) dialect: &'static str,
}

/// Of how long it took.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Times {
    pub(super) dialect: &'static str,
    pub(super) upstream: Arc<str>,
    pub(super) stream: bool,
}

/// Of what the gateway added.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Ways {
    pub(super) dialect: &'static str,
    pub(super) upstream_dialect: &'static str,
    pub(super) way: &'static str,
}

/// Of an attempt at an upstream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Attempts {
    pub(super) upstream: Arc<str>,
    pub(super) outcome: &'static str,
}

/// Of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Tokens {
    pub(super) upstream: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) direction: &'static str,
    pub(super) kind: &'static str,
}

/// Of losses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Losses {
    pub(super) dialect: &'static str,
    pub(super) upstream_dialect: &'static str,
    pub(super) severity: &'static str,
}

/// Of calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Calls {
    pub(super) by: &'static str,
    pub(super) outcome: &'static str,
}

/// Of bodies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Bytes {
    pub(super) direction: &'static str,
}
