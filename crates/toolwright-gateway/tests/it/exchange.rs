//! Exchanges through the running gateway, with upstreams that replay what was recorded.

mod key;
mod leave;
mod loss;
mod own;
mod pass;
mod route;
