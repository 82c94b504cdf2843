//! Reads tables of `toolwright.toml`.
//!
//! ```text
//! file (text, positions) → table (keys) → value (types) → the settings of a feature, in its `config`
//! ```
//!
//! An unknown key is an error with a suggestion, and every error has its position in the file. Secrets are read here,
//! so that a missing one fails at startup. Relative paths start at the folder of the file.

mod error;
mod file;
pub mod fill;
pub mod name;
mod refer;
pub mod secret;
mod size;
mod table;
mod value;

pub use error::{ConfigError, FilePosition, Result};
pub use file::{Env, File};
pub(crate) use refer::check_tool;
pub use refer::{CATALOG, MCP, Names, OFFLINE};
pub use table::Table;
pub use value::Value;
