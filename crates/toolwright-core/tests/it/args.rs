//! Arguments on their way from a model's words to a call.

mod coerce;
mod laws;
mod resolve;
