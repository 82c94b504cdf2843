//! Everything that can be wrong before a plan runs, in one pass: limits, references, cycles, tools,
//! parameters, literal arguments, and the types along edges.

mod arguments;
mod edges;
mod references;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use toolwright_core::args::Parameters;
use toolwright_json::Object;
use toolwright_json::object;
use toolwright_json::pointer::Path;

use super::document::{Plan, Step};
use super::error::{PlanError, PlanErrorKind};
use super::tools::{PlanTool, PlanTools};

/// Maximum number of steps, unless the host says otherwise. Items of `each` do not count.
pub const MAX_STEPS: usize = 1000;

/// Maximum number of references and of outputs, which bounds the cost of a check.
const MAX_REFERENCES: usize = 20_000;

/// Number of errors that have suggestions, which are expensive to find.
const MAX_SUGGESTING: usize = 100;

/// Maximum number of bytes of a literal argument, as JSON text.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// Maximum memory, in bytes, of the schemas by which edges are compared. The edges after that are `unknown`.
const MAX_SCHEMA_BYTES: usize = 64 << 20;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PlanReport {
    /// All errors, in the order of the checks
    pub errors: Vec<PlanError>,
    /// The edges that carry data, in the order of the document
    pub edges: Vec<CheckedEdge>,
}

/// An edge that carries data, with what its schemas say.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedEdge {
    /// JSON Pointer into the plan, to the reference
    pub path: String,
    /// The text of the reference
    pub from: String,
    /// Whether the value fits
    pub fit: EdgeFit,
}

toolwright_json::words! {
    /// Whether the value of an edge fits the parameter that it feeds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum EdgeFit: as_str {
        /// Every possible value fits.
        Fits = "ok",
        /// No value fits as it is, but it can be converted, such as a number in a text.
        Coerces = "coerces",
        /// The schemas do not say; the call checks the value.
        Unknown = "unknown",
        /// No value can fit.
        Wrong = "wrong",
    }
}

impl PlanReport {
    /// Whether the plan can run.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Adds what is wrong with the shape of the document, before the errors of the check. An error of the check at the
    /// place of one of them follows from it, and is left out.
    #[must_use]
    pub fn with_shape_errors(mut self, shape: Vec<PlanError>) -> PlanReport {
        let places: HashSet<&str> = shape.iter().map(|error| error.path.as_str()).collect();
        self.errors.retain(|error| {
            let path = error.path.as_str();
            let mut ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            !ends.any(|end| places.contains(&path[..end]))
        });
        drop(places);
        self.errors.splice(..0, shape);
        self
    }

    /// Returns the JSON form: `{valid, errors, edges}`.
    pub fn to_json(&self) -> Object {
        let edge = |edge: &CheckedEdge| {
            object! {"path": edge.path.as_str(), "from": edge.from.as_str(), "fit": edge.fit.as_str()}
        };
        object! {
            "valid": self.is_valid(),
            "errors": self.errors.iter().map(PlanError::to_json).collect::<Vec<Object>>(),
            "edges": self.edges.iter().map(edge).collect::<Vec<Object>>(),
        }
    }
}

/// Checks a plan against the tools that it may use, with at most `max_steps` steps (usually
/// [`MAX_STEPS`]).
pub fn check(plan: &Plan, tools: &PlanTools, max_steps: usize) -> PlanReport {
    let positions =
        plan.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
    let (parameters, report) = (HashMap::new(), PlanReport::default());
    let schema_bytes = Cell::new(0);
    let mut checker = Checker { plan, tools, positions, parameters, schema_bytes, report };
    if checker.limits(max_steps) {
        checker.references();
        checker.tools();
        checker.arguments();
        checker.edges();
    }
    checker.report
}

/// A check in progress.
struct Checker<'p> {
    plan: &'p Plan,
    tools: &'p PlanTools,
    /// The positions of the steps, by id
    positions: HashMap<&'p str, usize>,
    /// The compiled parameters of the tools, without those whose schema is invalid
    parameters: HashMap<&'p str, Parameters>,
    /// Memory of the schemas by which edges were compared so far
    schema_bytes: Cell<usize>,
    report: PlanReport,
}

impl<'p> Checker<'p> {
    fn fail(&mut self, error: PlanError) {
        self.report.errors.push(error);
    }

    /// Checks the size. If it is exceeded, nothing else is checked.
    fn limits(&mut self, max_steps: usize) -> bool {
        let count = self.plan.steps.len();
        if count > max_steps {
            let message = format!(
                "the plan has {count} steps, and at most {max_steps} are allowed; use 'each' to call a tool \
                 for many items"
            );
            self.fail(PlanError::new(PlanErrorKind::Limit, Path::ROOT.key("steps"), message));
            return false;
        }
        let waits = |step: &Step| step.references().len() + step.after.len();
        let outputs = self.plan.outputs.iter().map(|(_, output)| output.references().len().max(1));
        let references = self.plan.steps.iter().map(waits).sum::<usize>() + outputs.sum::<usize>();
        if references > MAX_REFERENCES {
            let message = format!(
                "the plan has {references} references and outputs, and at most {MAX_REFERENCES} are allowed"
            );
            self.fail(PlanError::new(PlanErrorKind::Limit, Path::ROOT, message));
            return false;
        }
        for step in &self.plan.steps {
            for (name, template) in &step.args {
                let bytes = template.to_json().compact().len();
                if bytes > MAX_ARGUMENT_BYTES {
                    let message = format!(
                        "the argument has {bytes} bytes, and at most {MAX_ARGUMENT_BYTES} are allowed in a \
                         plan; pass large data as an input or as the output of a step"
                    );
                    let path = argument_path(step, name);
                    self.fail(PlanError::new(PlanErrorKind::Limit, path, message));
                }
            }
        }
        self.report.errors.is_empty()
    }

    /// Checks that the tools exist and are the pinned ones, and compiles their parameters.
    fn tools(&mut self) {
        for step in &self.plan.steps {
            let path = step_path(step);
            let tool_path = path.clone() + "/tool";
            let tool = match self.tools.find(&step.tool, &tool_path) {
                Ok(tool) => tool,
                Err(error) => {
                    self.fail(error);
                    continue;
                }
            };
            if let (Some(pinned), Some(digest)) = (&step.digest, &tool.digest)
                && pinned != digest
            {
                let message = format!(
                    "the tool '{}' has changed since the plan was made: its digest is {digest}; compare \
                     it with the arguments, then update the digest",
                    step.tool
                );
                self.fail(PlanError::new(PlanErrorKind::ToolChanged, path + "/digest", message));
            }
            if self.parameters.contains_key(step.tool.as_str()) {
                continue;
            }
            match tool.parameters(&tool_path) {
                Ok(parameters) => {
                    self.parameters.insert(&step.tool, parameters);
                }
                Err(error) => self.fail(error),
            }
        }
    }

    fn tool(&self, step: &Step) -> Option<&'p PlanTool> {
        self.tools.get(&step.tool)
    }
}

/// Returns the JSON Pointer of a step.
fn step_path(step: &Step) -> String {
    Path::ROOT.key("steps").key(&step.id).pointer()
}

/// Returns the JSON Pointer of an argument.
fn argument_path(step: &Step, name: &str) -> String {
    Path::ROOT.key("steps").key(&step.id).key("args").key(name).pointer()
}
