//! Arguments: unknown, hidden and missing parameters, and literal values as they are written.

use std::borrow::Cow;
use std::convert::Infallible;

use toolwright_core::args::Parameters;
use toolwright_core::schema::MEMBER_KEYWORDS;
use toolwright_core::schema::Violation;
use toolwright_core::wire_json::key;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

use super::{Checker, argument_path, step_path};
use crate::plan::document::Step;
use crate::plan::error::{PlanError, PlanErrorKind};
use crate::plan::stored::below;
use crate::plan::tools::PlanTool;

impl Checker<'_> {
    /// Checks the arguments of every step whose tool is known.
    pub(super) fn arguments(&mut self) {
        for step in &self.plan.steps {
            let (Some(tool), Some(parameters)) =
                (self.tool(step), self.parameters.get(step.tool.as_str()))
            else {
                continue;
            };
            let mut errors = Vec::new();
            parameter_names(step, tool, parameters, &mut errors);
            missing(step, parameters, &mut errors);
            literals(step, parameters, &mut errors);
            self.report.errors.append(&mut errors);
        }
    }
}

/// Reports arguments that the tool does not have, or that only the host may fill.
fn parameter_names(
    step: &Step,
    tool: &PlanTool,
    parameters: &Parameters,
    errors: &mut Vec<PlanError>,
) {
    let is_open = tool.accepts_any_name();
    for (name, _) in &step.args {
        let mut fail = |message: String| {
            let path = argument_path(step, name);
            let error = PlanError::new(PlanErrorKind::UnknownParameter, path, message);
            errors.push(error.suggesting(name, parameters.iter().map(|own| &*own.name)));
        };
        if parameters.hidden().contains(name) {
            fail(format!("the parameter '{name}' of '{}' is hidden: the host fills it", step.tool));
        } else if !is_open && parameters.iter().all(|own| *own.name != **name) {
            fail(format!("the tool '{}' has no parameter '{name}'", step.tool));
        }
    }
}

fn missing(step: &Step, parameters: &Parameters, errors: &mut Vec<PlanError>) {
    for parameter in parameters.iter() {
        if parameter.required && parameter.default.is_none() && step.arg(&parameter.name).is_none()
        {
            let message = format!("the tool '{}' requires '{}'", step.tool, parameter.name);
            let path = step_path(step) + "/args";
            errors.push(PlanError::new(PlanErrorKind::MissingParameter, path, message));
        }
    }
}

/// Checks literal values. References are unknown values, so violations that depend on them do not count.
fn literals(step: &Step, parameters: &Parameters, errors: &mut Vec<PlanError>) {
    let is_known = |name: &str| parameters.iter().any(|own| *own.name == *name);
    let known = step.args.iter().filter(|(name, _)| is_known(name));
    let mut arguments = Object::with_capacity(step.args.len());
    let mut references = Vec::new();
    for (name, template) in known {
        let prefix = Path::ROOT.key(name).pointer();
        references
            .extend(template.references().into_iter().map(|(path, _)| format!("{prefix}{path}")));
        let mut null = |_: &_| Ok::<_, Infallible>(Cow::Owned(Json::Null));
        let Ok(value) = template.fill(&mut null);
        arguments.push(key(name), value.into_owned());
    }
    for violation in parameters.check().violations(&arguments.into()) {
        // Missing parameters have an error of their own.
        let is_missing = violation.path.is_empty() && violation.keyword == "required";
        if is_missing || references.iter().any(|path| depends_on(&violation, path)) {
            continue;
        }
        let path = format!("{}/args{}", step_path(step), violation.path);
        let mut message = violation.message;
        if let Some(accepted) = violation.accepted {
            message = format!("{message}; accepted: {}", accepted.compact());
        }
        errors.push(PlanError::new(PlanErrorKind::Argument, path, message));
    }
}

/// Whether a violation may vanish when the reference at a path has its value.
fn depends_on(violation: &Violation, reference: &str) -> bool {
    // These say something about an enclosing value without looking at the values in it.
    let is_outer = |keyword: &str| {
        MEMBER_KEYWORDS.contains(&keyword) || matches!(keyword, "minItems" | "maxItems")
    };
    below(&violation.path, reference).is_some()
        || below(reference, &violation.path).is_some() && !is_outer(&violation.keyword)
}
