//! What happened: logs, metrics, the ledger, losses.
