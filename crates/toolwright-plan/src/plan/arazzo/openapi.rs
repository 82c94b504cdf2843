//! The OpenAPI document of the tools of a plan.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use toolwright_core::args::Parameters;
use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::{Json, Object};

use super::expression::is_name;
use super::schema::embed;
use crate::plan::document::Plan;
use crate::plan::tools::PlanTools;

/// Returns a document with a POST operation for each tool that the plan uses.
pub(super) fn document(plan: &Plan, tools: &PlanTools) -> Object {
    let mut names: Vec<&str> = Vec::new();
    for step in &plan.steps {
        if !names.contains(&step.tool.as_str()) {
            names.push(&step.tool);
        }
    }
    let mut paths = Object::new();
    let mut schemas = Object::new();
    for (at, name) in names.into_iter().enumerate() {
        let tool = tools.get(name);
        let component = if is_name(name) { name.to_owned() } else { format!("tool{at}") };
        let mut add = |kind: &str, schema: Option<&Json>| {
            let own = format!("{component}.{kind}");
            let place = format!("/components/schemas/{own}");
            let schema =
                schema.map_or_else(|| Object::new().into(), |schema| embed(schema, &place));
            schemas.insert(own, schema);
            object! {"application/json": object! {"schema": object! {"$ref": format!("#{place}")}}}
        };
        let parameters = tool.and_then(|tool| Parameters::compile(&tool.tool, &tool.hidden).ok());
        let arguments = add("arguments", parameters.as_ref().map(|own| own.check().schema()));
        let output = add("output", tool.and_then(|tool| tool.tool.output.as_ref()));
        let mut operation = object! {"operationId": name};
        let title = tool.and_then(|tool| tool.tool.title.as_deref());
        operation.insert("summary", title.unwrap_or(name));
        operation
            .insert_some("description", tool.and_then(|tool| tool.tool.description.as_deref()));
        operation.insert("requestBody", object! {"required": true, "content": arguments});
        let responses = object! {
            "200": object! {"description": "The output of the tool", "content": output},
            "4XX": object! {"description": "The arguments are invalid, or the call failed"},
        };
        operation.insert("responses", responses);
        let path = format!("/tools/{}", utf8_percent_encode(name, NON_ALPHANUMERIC));
        paths.insert(key(&path), object! {"post": operation});
    }
    object! {
        "openapi": "3.1.0",
        "info": object! {"title": "Tools", "version": "1.0.0"},
        "servers": vec![object! {"url": "/"}],
        "security": Vec::<Json>::new(),
        "paths": paths,
        "components": object! {"schemas": schemas},
    }
}
