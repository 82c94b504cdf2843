//! The catalog, in real folders.

mod files;
