//! What the targets share: the format of inputs, and their mutation.
//!
//! An input of most targets is a line and a document. The line begins with selectors, a byte each
//! (`0`, `1`, … in the seeds), and ends with a path or a status if there is one.

pub mod dice;
pub mod input;
pub mod law;
pub mod vary;
