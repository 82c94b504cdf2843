//! Legalization: a request is changed until its target's [`Profile`] can say it, and every change
//! that takes something away is a [`Loss`]. After this, encoding cannot fail.

mod loss;
pub mod profile;

pub use loss::{Loss, Severity, Site, report};
pub use profile::Profile;
