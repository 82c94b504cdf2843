//! Schemas of parameters, lowered to what the target accepts.

use toolwright_core::ToolKind;
use toolwright_core::loss::{Severity, Site};
use toolwright_core::schema::{self, SchemaChange};

use super::Work;

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.schema;
    for index in 0..work.request.tools.len() {
        let tool = &mut work.request.tools[index];
        let ToolKind::Function(Some(parameters)) = &mut tool.kind else { continue };
        let lowered = schema::rewrite(parameters, rule, tool.strict == Some(true));
        // A keyword that was absent is not a loss.
        let is_loss = |change: &SchemaChange| parameters.pointer(&change.pointer).is_some();
        let (losses, additions): (Vec<_>, Vec<_>) = lowered.changes.into_iter().partition(is_loss);
        if let Some(schema) = lowered.schema {
            *parameters = schema;
        }
        if !lowered.nulls.is_empty() {
            work.aliases.nulled.push((tool.name.clone(), lowered.nulls));
        }
        let site = match tool.schema_origin.pointer() {
            Some(_) => Site::of(&tool.schema_origin),
            None => Site::field(&tool.origin, "parameters"),
        };
        for change in losses {
            let site = site.clone().below(change.pointer);
            let severity = change.severity.max(Severity::Note);
            work.lose(severity, site, change.what, change.why);
        }
        if !additions.is_empty() {
            work.add(
                "parameters",
                "a keyword of a schema, which the target requires or which says what it lacks",
            );
        }
    }
}
