//! `toolwright.toml`, read and checked.
