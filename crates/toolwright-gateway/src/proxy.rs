//! What every exchange of a request and its reply uses, whether the gateway runs tools for it or not.
//!
//! ```text
//! endpoint → inbound → fallback (prepare → send)
//!          → passthrough | whole | translating → finalizer
//! ```
//!
//! | file | content |
//! |---|---|
//! | [`endpoint`] | the dialect and the purpose of a path |
//! | [`inbound`] | the request of a client, with the members that routing needs |
//! | [`references`] | its references to stored responses |
//! | [`fallback`] | the next candidate after a failure |
//! | [`prepare`] | the request for an upstream: its bytes unchanged, or translated |
//! | [`send`] | sending with retries |
//! | [`collect`] | a reply that is read to its end |
//! | [`coalescing`] | the body of an upstream's reply |
//! | [`passthrough`] | a reply that passes through unchanged |
//! | [`whole`] | a reply that is translated as a whole |
//! | [`translating`] | a reply that is translated as it arrives |
//! | [`tokens`] | estimated token counts |
//! | [`reasoning_cache`] | opaque reasoning that the client cannot carry |
//! | [`weight`] | the memory that a document takes |
//! | [`capture`] | who stores the response, if the client may refer to it |
//! | [`finalizer`] | the end of an exchange |

pub mod capture;
pub mod coalescing;
pub mod collect;
pub mod endpoint;
pub mod fallback;
pub mod finalizer;
pub mod headers;
pub mod inbound;
mod named;
pub mod passthrough;
pub mod prepare;
pub mod reasoning_cache;
pub mod references;
pub mod send;
pub mod tokens;
pub mod translating;
pub mod weight;
pub mod whole;
