//! Common imports: `use toolwright::prelude::*`.
//!
//! ```
//! # extern crate toolwright_runtime as toolwright;
//! use toolwright::prelude::*;
//!
//! #[data]
//! #[serde(rename_all = "lowercase")]
//! enum Unit {
//!     Celsius,
//!     Fahrenheit,
//! }
//!
//! /// Current temperature in a city.
//! #[tool(read_only, deadline = "5s")]
//! async fn temperature(
//!     /// The city, e.g. 北京
//!     city: String,
//!     #[default(Unit::Celsius)] unit: Unit,
//! ) -> Result<f64, ToolError> {
//!     match (city.as_str(), unit) {
//!         ("北京", Unit::Celsius) => Ok(21.5),
//!         ("北京", Unit::Fahrenheit) => Ok(70.7),
//!         _ => Err(ToolError::new("there is no thermometer in this city; ask for 北京")),
//!     }
//! }
//!
//! let handler: Handler = temperature::handler();
//! let schema = handler.tool().parameters().map(Json::compact);
//! assert_eq!(
//!     schema.as_deref(),
//!     Some(concat!(
//!         r#"{"type":"object","properties":{"#,
//!         r#""city":{"type":"string","description":"The city, e.g. 北京"},"#,
//!         r#""unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"}},"#,
//!         r#""required":["city"],"additionalProperties":false}"#,
//!     ))
//! );
//! ```
//!
//! # Any JSON
//!
//! A parameter or a field of type [`Json`] takes any value, one of type
//! [`Object`](toolwright_json::Object) any object, with every digit and the order of keys:
//!
//! ```
//! # extern crate toolwright_runtime as toolwright;
//! use toolwright::prelude::*;
//!
//! /// Keeps a value under a name.
//! #[tool]
//! fn keep(name: String, value: Json) -> String {
//!     format!("{name} = {}", value.compact())
//! }
//! # assert_eq!(keep::handler().tool().name, "keep");
//! ```
//!
//! # Without `#[data]`
//!
//! `#[data]` derives `Serialize`, `Deserialize` and `JsonSchema`. A crate that depends on `serde`
//! and `schemars` can derive them itself. Without these dependencies, name the crates that the
//! derives use:
//!
//! ```
//! # extern crate toolwright_runtime as toolwright;
//! use toolwright::prelude::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "toolwright::serde")]
//! #[schemars(crate = "toolwright::schemars")]
//! struct Place {
//!     latitude: f64,
//!     longitude: f64,
//! }
//!
//! #[tool]
//! fn is_north(place: Place) -> bool {
//!     place.latitude > 0.0 && place.longitude.is_finite()
//! }
//! # assert_eq!(is_north::handler().tool().name, "is_north");
//! ```
//!
//! # What is rejected
//!
//! Parameter types without a schema, results that cannot be serialized and errors that cannot be
//! displayed do not compile; the message says what to change:
//!
//! ```compile_fail,E0277
//! # extern crate toolwright_runtime as toolwright;
//! # use toolwright::prelude::*;
//! struct Table;
//!
//! #[tool]
//! fn drop_missing(table: Table) {}
//! ```
//!
//! ```compile_fail,E0277
//! # extern crate toolwright_runtime as toolwright;
//! # use toolwright::prelude::*;
//! struct Table;
//!
//! #[tool]
//! fn read_csv(path: String) -> Table {
//!     Table
//! }
//! ```
//!
//! ```compile_fail,E0277
//! # extern crate toolwright_runtime as toolwright;
//! # use toolwright::prelude::*;
//! struct Broken;
//!
//! #[tool]
//! fn read_csv(path: String) -> Result<String, Broken> {
//!     Err(Broken)
//! }
//! ```

pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use toolwright_core::{Arguments, Call, Json, Message, Tool};
pub use toolwright_macros::{data, tool};

pub use crate::context::Context;
pub use crate::error::ToolError;
pub use crate::handler::Handler;
pub use crate::model::{Model, ScriptedModel};
pub use crate::output::Output;
pub use crate::run::Agent;
pub use crate::session::{Scope, Session};
pub use crate::toolbox::Toolbox;
