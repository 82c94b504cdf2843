//! Schemas of parameters, lowered to what the target accepts.

use super::{Severity, Site, Work};
use crate::schema;
use crate::tool::ToolKind;

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.schema;
    for index in 0..work.request.tools.len() {
        let tool = &mut work.request.tools[index];
        let ToolKind::Function(Some(parameters)) = &mut tool.kind else { continue };
        let lowered = schema::lower(parameters, &rule, tool.strict == Some(true));
        let original = std::mem::replace(parameters, lowered.schema);
        if !lowered.nulls.is_empty() {
            work.aliases.nulled.push((tool.name.clone(), lowered.nulls));
        }
        let site = match tool.schema_origin.pointer() {
            Some(_) => Site::of(&tool.schema_origin),
            None => Site::field(&tool.origin, "parameters"),
        };
        for change in lowered.changes {
            // A keyword that was not there is no loss.
            if original.pointer(&change.pointer).is_none() {
                work.add(
                    "parameters",
                    "a keyword of a schema, which the target requires or which says what it lacks",
                );
                continue;
            }
            let site = site.clone().below(change.pointer);
            let severity = change.severity.max(Severity::Note);
            work.lose(severity, site, change.what, change.why);
        }
    }
}
