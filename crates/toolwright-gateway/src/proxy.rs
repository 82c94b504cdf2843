//! The exchange: a request in the client's dialect, an answer from any vendor.
//!
//! ```text
//! endpoint → ask → route → fallback (prepare → send) → pass | whole | relay → close
//! ```
//!
//! | file | step |
//! |---|---|
//! | [`endpoint`] | which dialect a path belongs to |
//! | [`ask`] | the request as it came, and what routing needs of it |
//! | [`route`] | whom to ask for a model, in order |
//! | [`fallback`] | who of them is asked next, and when nobody is |
//! | [`prepare`] | its bytes untouched, or fitted and written in the upstream's words |
//! | [`send`] | to the upstream, as often as it takes |
//! | [`collect`] | an answer that is read to its end |
//! | [`bundle`] | what has arrived of an answer |
//! | [`pass`] | an answer that passes as it is |
//! | [`whole`] | an answer that is translated when it is whole |
//! | [`relay`] | an answer that is translated as it arrives |
//! | [`tokens`] | how many tokens a request has, estimated |
//! | [`work`] | a run, where the gateway runs tools itself: its model is [`consult`], its answer is as [`show`] says |
//! | [`saved_runs`] | runs as far as they went, for another attempt at the request |
//! | [`identity`] | which requests are attempts at the same one |
//! | [`effects`] | effects of a run's tools, for a reply that fails after them |
//! | [`hold`] | turns of a run that the client did not see |
//! | [`notes`] | what a run did, for the ledger |
//! | [`responses`] | stored answers that clients of the Responses API refer to |
//! | [`keep`] | opaque reasoning that the client cannot carry |
//! | [`weight`] | how much memory a body takes |
//! | [`close`] | what is left to do at the end |
//! | [`fault`] | a failure in the client's own dialect |

pub mod coalescing;
pub mod collect;
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
pub mod keep;
mod named;
pub mod passthrough;
pub mod pending_turns;
pub mod prepare;
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
