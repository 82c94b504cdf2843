//! Values with runtime expressions and selectors.

use toolwright_core::wire_json::key;
use toolwright_json::Json;
use toolwright_json::pointer::Path;

use super::Importer;
use crate::plan::arazzo::expression::{
    Expression, input_reference, is_dynamic, is_pointer, is_selector,
};
use crate::plan::template::{Reference, Source, Template};

impl<'d> Importer<'d> {
    /// Reads a value.
    pub(super) fn value(&mut self, value: &'d Json, path: &Path<'_>) -> Template {
        match value {
            Json::String(text) if is_dynamic(text) => match self.expression(text, path) {
                Some(reference) => Template::Reference(Box::new(reference)),
                None => Template::Literal(Json::Null),
            },
            value if is_selector(value) => self.selector(value, path),
            Json::Array(items) => {
                let items = items.iter().enumerate();
                Template::array(items.map(|(at, item)| self.value(item, &path.index(at))).collect())
            }
            Json::Object(members) => {
                let part = |(name, value)| (key(name), self.value(value, &path.key(name)));
                let template = Template::object(members.iter().map(part).collect());
                let reserved = ["$from", "$literal"].into_iter();
                for name in
                    reserved.filter(|name| !template.is_literal() && members.contains_key(name))
                {
                    let message = format!("a plan cannot have '{name}' beside an expression");
                    self.refuse(&path.key(name), message);
                }
                template
            }
            other => Template::Literal(other.clone()),
        }
    }

    fn expression(&mut self, text: &str, path: &Path<'_>) -> Option<Reference> {
        match Expression::parse(text) {
            Some(Expression::Input { name, pointer }) => {
                Some(input_reference(name, pointer, self.inputs.as_ref()))
            }
            Some(Expression::Output { step, output, pointer }) => {
                let Some(&id) = self.ids.get(step) else {
                    self.fail(path, format!("there is no step '{step}'"));
                    return None;
                };
                let Some(base) = self.outputs.get(&(step, output)) else {
                    self.fail(path, format!("the step '{step}' has no output '{output}'"));
                    return None;
                };
                Some(Reference::new(Source::Step(id.to_owned()), format!("{base}{pointer}")))
            }
            _ => {
                let message = if text.contains("{$") {
                    "a plan cannot put values into a text: pass them as they are"
                } else {
                    "a plan refers to inputs and to outputs of steps only"
                };
                self.refuse(path, message);
                None
            }
        }
    }

    /// Reads a selector: only a JSON Pointer is a reference.
    fn selector(&mut self, value: &'d Json, path: &Path<'_>) -> Template {
        let text = |name: &str| value.get(name).and_then(Json::as_str);
        let kind = text("type").or_else(|| value.pointer("/type/type").and_then(Json::as_str));
        if kind != Some("jsonpointer") {
            self.refuse(&path.key("type"), "a plan selects parts of values by JSON Pointers only");
            return Template::Literal(Json::Null);
        }
        let (Some(context), Some(selector)) = (text("context"), text("selector")) else {
            self.fail(path, "'context' and 'selector' are texts");
            return Template::Literal(Json::Null);
        };
        if !is_pointer(selector) {
            self.fail(&path.key("selector"), "a JSON Pointer is empty or begins with '/'");
            return Template::Literal(Json::Null);
        }
        match self.expression(context, &path.key("context")) {
            Some(mut reference) => {
                reference.pointer.push_str(selector);
                Template::Reference(Box::new(reference))
            }
            None => Template::Literal(Json::Null),
        }
    }
}
