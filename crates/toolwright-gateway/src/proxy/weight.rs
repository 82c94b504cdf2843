//! How much memory a body takes once it is read. A document of many small values takes a hundred
//! times its bytes.

use toolwright_core::json::{weigh, weigh_at_most};

/// A body of no more bytes is not weighed where it is read, written anew and let go of at one go: there
/// are no more of these at once than threads.
pub const SMALL: usize = 64 << 10;

/// What is grown at once, by the weight of the tree: the tree itself, the canonical words made of it,
/// the tree in another dialect, its text, and what was lost between them. Measured with bodies of each
/// kind; the most was 6.
const GROWN: usize = 6;

/// How many bytes it takes to read a body and to write it anew. What is no JSON is not read.
pub fn weight(body: &[u8]) -> usize {
    weigh(body).unwrap_or(0).saturating_mul(GROWN)
}

/// An upper bound of [`weight`] that is known without parsing.
pub fn weight_at_most(body: &[u8]) -> usize {
    weigh_at_most(body).saturating_mul(GROWN)
}
