//! The parser of an edited view. A member that is absent is one that was not edited.

use std::collections::HashSet;

use super::ViewEdge;
use crate::plan::document::id_problem;
use crate::plan::error::{PlanError, PlanErrorKind};
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

/// A view that a person or an editor wrote. Members that this does not name are ignored.
#[derive(Default)]
pub(super) struct EditedView<'v> {
    pub(super) nodes: Vec<EditedNode<'v>>,
    /// The edges, each with its JSON Pointer
    pub(super) edges: Option<Vec<(String, ViewEdge)>>,
}

/// A node. What is derived and not edited (`step_index`, `description`, `type`) is not read.
pub(super) struct EditedNode<'v> {
    /// JSON Pointer of the node
    pub(super) path: String,
    pub(super) id: &'v str,
    pub(super) tool_name: Option<&'v str>,
    /// The parameters by name
    pub(super) parameters: Option<Vec<(&'v str, &'v Json)>>,
    pub(super) args: Option<&'v Object>,
    pub(super) missing: Option<Vec<&'v str>>,
    pub(super) after: Option<Vec<&'v str>>,
}

impl<'v> EditedView<'v> {
    /// Parses a view. Errors are added to the list; what is wrong is left out.
    pub(super) fn parse(view: &'v Json, errors: &mut Vec<PlanError>) -> EditedView<'v> {
        let mut reader = Reader { errors };
        let root = Path::ROOT;
        let Json::Object(fields) = view else {
            let message =
                format!("a view is an object with 'nodes' and 'edges', not {}", view.kind());
            reader.fail(&root, message);
            return EditedView::default();
        };
        let mut seen = HashSet::new();
        let mut nodes = Vec::new();
        let path = root.key("nodes");
        match fields.get("nodes") {
            Some(Json::Array(items)) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    nodes.extend(reader.node(item, &path.index(index), &mut seen));
                }
            }
            _ => reader.fail(&path, "'nodes' is a list with at least one node"),
        }
        let edges = reader.list(fields, "edges", &root).map(|items| {
            let path = root.key("edges");
            let edges = items.iter().enumerate();
            edges
                .filter_map(|(index, item)| {
                    let path = path.index(index);
                    Some((path.pointer(), reader.edge(item, &path)?))
                })
                .collect()
        });
        EditedView { nodes, edges }
    }
}

struct Reader<'e> {
    errors: &'e mut Vec<PlanError>,
}

impl Reader<'_> {
    fn fail(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.errors.push(PlanError::new(PlanErrorKind::Shape, path, message));
    }

    fn object<'v>(&mut self, value: &'v Json, path: &Path<'_>) -> Option<&'v Object> {
        let object = value.as_object();
        if object.is_none() {
            self.fail(path, format!("expected an object, not {}", value.kind()));
        }
        object
    }

    fn list<'v>(&mut self, fields: &'v Object, name: &str, path: &Path<'_>) -> Option<&'v [Json]> {
        let value = fields.get(name)?;
        let list = value.as_array();
        if list.is_none() {
            self.fail(&path.key(name), format!("'{name}' is a list, not {}", value.kind()));
        }
        list
    }

    fn text<'v>(&mut self, fields: &'v Object, name: &str, path: &Path<'_>) -> Option<&'v str> {
        let value = fields.get(name)?;
        let text = value.as_str();
        if text.is_none() {
            self.fail(&path.key(name), format!("'{name}' is a text, not {}", value.kind()));
        }
        text
    }

    /// Reads a text that must be there.
    fn required<'v>(&mut self, fields: &'v Object, name: &str, path: &Path<'_>) -> Option<&'v str> {
        if fields.get(name).is_none() {
            self.fail(&path.key(name), format!("'{name}' is missing"));
        }
        self.text(fields, name, path)
    }

    fn names<'v>(
        &mut self,
        fields: &'v Object,
        name: &str,
        path: &Path<'_>,
    ) -> Option<Vec<&'v str>> {
        let list = self.list(fields, name, path)?;
        let path = path.key(name);
        let mut names = Vec::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            if let Some(name) = item.as_str() {
                names.push(name);
                continue;
            }
            let message = format!("expected a name, not {}", item.kind());
            self.fail(&path.index(index), message);
        }
        Some(names)
    }

    fn node<'v>(
        &mut self,
        node: &'v Json,
        path: &Path<'_>,
        seen: &mut HashSet<&'v str>,
    ) -> Option<EditedNode<'v>> {
        let fields = self.object(node, path)?;
        let id = self.required(fields, "id", path)?;
        let is_repeated = !seen.insert(id);
        let problem = id_problem(id)
            .or_else(|| is_repeated.then(|| format!("there are two nodes with the id '{id}'")));
        if let Some(message) = problem {
            self.errors.push(PlanError::new(PlanErrorKind::Id, path.key("id"), message));
        }
        let parameters = self.list(fields, "input_parameters", path).map(|items| {
            let path = path.key("input_parameters");
            let mut parameters: Vec<(&str, &Json)> = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let path = path.index(index);
                let Some(fields) = self.object(item, &path) else { continue };
                let name = self.required(fields, "name", &path);
                match (name, fields.get("value")) {
                    (Some(name), Some(_)) if parameters.iter().any(|(own, _)| *own == name) => {
                        self.fail(&path.key("name"), format!("the parameter '{name}' is repeated"));
                    }
                    (Some(name), Some(value)) => parameters.push((name, value)),
                    (Some(_), None) => self.fail(&path.key("value"), "'value' is missing"),
                    (None, _) => {}
                }
            }
            parameters
        });
        Some(EditedNode {
            path: path.pointer(),
            id,
            tool_name: self.text(fields, "tool_name", path),
            parameters,
            args: fields
                .get("tool_args")
                .and_then(|args| self.object(args, &path.key("tool_args"))),
            missing: self.names(fields, "missing_tool_args", path),
            after: self.names(fields, "after", path),
        })
    }

    fn edge(&mut self, edge: &Json, path: &Path<'_>) -> Option<ViewEdge> {
        let fields = self.object(edge, path)?;
        let optional =
            |fields: &Object, name: &str| fields.get(name).is_some_and(|own| !own.is_null());
        let slot = optional(fields, "slot").then(|| self.text(fields, "slot", path)).flatten();
        let each = optional(fields, "each").then(|| self.text(fields, "each", path)).flatten();
        let source = self.required(fields, "source", path);
        let target = self.required(fields, "target", path);
        let parameter = match slot {
            Some(_) => None,
            None => self.required(fields, "target_parameter", path),
        };
        let output = self.text(fields, "source_output", path).unwrap_or_default();
        let target_path = self.text(fields, "target_path", path).unwrap_or_default();
        if !target_path.is_empty() && !target_path.starts_with('/') {
            let message = "'target_path' is a JSON Pointer: it is empty or begins with '/'";
            self.fail(&path.key("target_path"), message);
            return None;
        }
        Some(ViewEdge {
            source: source?.to_owned(),
            source_output: output.to_owned(),
            target: target?.to_owned(),
            target_parameter: if slot.is_none() { Some(parameter?.to_owned()) } else { None },
            target_path: target_path.to_owned(),
            each: each.map(str::to_owned),
            slot: slot.map(str::to_owned),
        })
    }
}
