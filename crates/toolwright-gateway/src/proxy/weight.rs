//! The memory that a body takes once it is parsed. A document of many small values takes a hundred times
//! its bytes.

use toolwright_core::json::{weigh, weigh_at_most};

/// Maximum size in bytes of a body for which no memory is reserved where it is decoded, encoded and freed
/// without an await: there are no more of these at once than threads.
pub const UNWEIGHED_BYTES: usize = 64 << 10;

/// Memory of a translation as a multiple of the parsed tree: the tree itself, the canonical request, the
/// tree in another dialect, its text, and the losses. Measured with bodies of each kind; the maximum was 6.
const GROWTH: usize = 6;

/// Bytes of memory that it takes to decode and encode a body; 0 if it is not JSON.
pub fn weight(body: &[u8]) -> usize {
    weigh(body).unwrap_or(0).saturating_mul(GROWTH)
}

/// An upper bound of [`weight`] that is known without parsing.
pub fn weight_at_most(body: &[u8]) -> usize {
    weigh_at_most(body).saturating_mul(GROWTH)
}
