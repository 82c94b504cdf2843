//! Models and the upstreams that answer for them: their configuration, the candidates for a model, and `/v1/models`.

pub mod config;
pub mod route;
pub mod routes;
