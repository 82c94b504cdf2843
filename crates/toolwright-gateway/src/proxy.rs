//! The exchange: a request in the client's dialect, a reply from any vendor.
//!
//! ```text
//! endpoint → inbound → route → fallback (prepare → send)
//!          → passthrough | whole | translating → finalizer
//! ```
//!
//! | file | content |
//! |---|---|
//! | [`endpoint`] | the dialect and the purpose of a path |
//! | [`inbound`] | the request of a client, with the members that routing needs |
//! | [`route`] | the candidates for a model, in order |
//! | [`fallback`] | the next candidate after a failure |
//! | [`prepare`] | the request for an upstream: its bytes unchanged, or translated |
//! | [`send`] | sending with retries |
//! | [`collect`] | a reply that is read to its end |
//! | [`coalescing`] | the body of an upstream's reply |
//! | [`passthrough`] | a reply that passes through unchanged |
//! | [`whole`] | a reply that is translated as a whole |
//! | [`translating`] | a reply that is translated as it arrives |
//! | [`models`] | lists and descriptions of models, in the form of each vendor |
//! | [`tokens`] | estimated token counts |
//! | [`tool_run`] | runs of tools, with [`fallback_model`] as model and [`run_view`] for the client |
//! | [`saved_runs`] | saved runs, for retries of a request and for plans |
//! | [`identity`] | which requests are retries of the same one |
//! | [`effects`] | effects of tools, for a reply that fails after them |
//! | [`approvals`] | calls that wait for the approval of a person |
//! | [`conversation`] | the identity of a conversation, for state that outlives a request |
//! | [`pending_turns`] | turns of a run that the client did not see |
//! | [`responses`] | stored responses of the Responses API |
//! | [`reasoning_cache`] | opaque reasoning that the client cannot carry |
//! | [`weight`] | the memory that a document takes |
//! | [`finalizer`] | the end of an exchange |
//! | [`fault`] | a failure in the client's dialect |

pub mod approvals;
pub mod coalescing;
pub mod collect;
pub mod conversation;
pub mod effects;
pub mod endpoint;
pub mod exchange;
pub mod fallback;
pub mod fallback_model;
pub mod fault;
pub mod finalizer;
pub mod headers;
pub mod identity;
pub mod inbound;
pub mod inputs;
pub mod models;
mod named;
pub mod named_servers;
pub mod passthrough;
pub mod pending_turns;
pub mod prepare;
pub mod reasoning_cache;
pub mod responses;
pub mod route;
pub mod run_view;
pub mod saved_runs;
pub mod send;
pub mod tokens;
pub mod tool_run;
pub mod translating;
pub mod weight;
pub mod whole;
