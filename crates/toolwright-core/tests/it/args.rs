//! Argument resolution, from a model's text to a call.

mod coerce;
mod laws;
mod resolve;
