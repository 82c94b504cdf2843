//! `[upstreams.NAME]` and `[models]`: vendors over HTTP, and aliases of models.

mod alias;
mod remote;
mod upstream;

pub use alias::Alias;
pub(crate) use alias::read as read_aliases;
pub(crate) use remote::remotes;
pub(crate) use upstream::read as read_upstream;
pub use upstream::{Access, ProxySetting, UpstreamSettings};
