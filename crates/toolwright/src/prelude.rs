//! What a program that defines tools needs: `use toolwright::prelude::*`.

pub use crate::{Context, Handler, Json, Output, Scope, Session, ToolError, Toolbox, data, tool};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
