//! Arazzo: plans as workflows of the OpenAPI Initiative, and back.
//!
//! | of a plan | in Arazzo 1.1 |
//! |---|---|
//! | a step | a step with `operationId`, the name of the tool |
//! | its arguments | `requestBody.payload`, with runtime expressions for references |
//! | what others take from its output | its `outputs` |
//! | `after`, and references that Arazzo does not see | `dependsOn` |
//! | `retry`, `timeout_ms` | an action `retry` of `onFailure`, `timeout` |
//! | the tools | an OpenAPI document with a POST operation for each |
//!
//! What Arazzo cannot express is in fields `x-toolwright-…`, in the syntax of plans: `each`, `when`,
//! `on-error`, `idempotent`, `digest` and `id` of a step, `limits` of a plan, and `args`, `after`, `outputs`
//! and `inputs` where Arazzo's own fields do not say everything. Importing an exported plan gives the same
//! plan; if such a field and Arazzo's own field disagree, because one of them was edited, that is an error.
//!
//! Other documents are imported as far as a plan can express them. Everything else is an error with its
//! path.

mod export;
mod expression;
mod import;
mod openapi;
mod schema;

use toolwright_json::Object;

pub use import::import;

use super::document::Plan;
use super::tools::PlanTools;

/// The prefix of our fields.
const PREFIX: &str = "x-toolwright-";
/// The file of the OpenAPI document, beside the Arazzo document.
pub const OPENAPI_FILE: &str = "openapi.json";

/// An exported plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArazzoExport {
    /// The Arazzo document
    pub arazzo: Object,
    /// The OpenAPI document of the plan's tools, which the Arazzo document expects beside it as
    /// [`OPENAPI_FILE`]
    pub openapi: Object,
}

/// Exports a plan to Arazzo 1.1, with an OpenAPI document of the tools that it uses.
pub fn export(plan: &Plan, tools: &PlanTools) -> ArazzoExport {
    ArazzoExport { arazzo: export::document(plan), openapi: openapi::document(plan, tools) }
}
