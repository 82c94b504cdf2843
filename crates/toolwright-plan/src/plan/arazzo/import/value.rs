//! Values with runtime expressions and selectors.

use toolwright_core::wire_json::key;
use toolwright_json::Json;

use super::{Importer, refuse};
use crate::plan::arazzo::expression::{
    Expression, input_reference, is_dynamic, is_pointer, is_selector,
};
use crate::plan::error::Node;
use crate::plan::template::{Reference, Source, Template};

impl<'d> Importer<'d> {
    /// Reads a value.
    pub(super) fn value(&self, node: &Node<'d>) -> Template {
        let reference = match node.value {
            Json::String(text) if is_dynamic(text) => self.expression(text, node),
            value if is_selector(value) => self.selector(node),
            Json::Array(_) => {
                let items = node.items().unwrap_or_default();
                return Template::array(items.iter().map(|item| self.value(item)).collect());
            }
            Json::Object(_) => {
                let members = node.members().unwrap_or_default();
                let part = |(name, value): &(&str, Node<'d>)| (key(name), self.value(value));
                let template = Template::object(members.iter().map(part).collect());
                let is_reserved = |name: &str| ["$from", "$literal"].contains(&name);
                let reserved = members.iter().filter(|(name, _)| is_reserved(name));
                for (name, node) in reserved.filter(|_| !template.is_literal()) {
                    refuse(node, format!("a plan cannot have '{name}' beside an expression"));
                }
                return template;
            }
            other => return Template::Literal(other.clone()),
        };
        let null = Template::Literal(Json::Null);
        reference.map_or(null, |reference| Template::Reference(Box::new(reference)))
    }

    fn expression(&self, text: &str, node: &Node<'d>) -> Option<Reference> {
        match Expression::parse(text) {
            Some(Expression::Input { name, pointer }) => {
                Some(input_reference(name, pointer, self.inputs.as_ref()))
            }
            Some(Expression::Output { step, output, pointer }) => {
                let problem = format!("there is no step '{step}'");
                let id = *node.some_or(self.ids.get(step), &problem)?;
                let problem = format!("the step '{step}' has no output '{output}'");
                let base = node.some_or(self.outputs.get(&(step, output)), &problem)?;
                Some(Reference::new(Source::Step(id.to_owned()), format!("{base}{pointer}")))
            }
            _ => {
                let message = if text.contains("{$") {
                    "a plan cannot put values into a text: pass them as they are"
                } else {
                    "a plan refers to inputs and to outputs of steps only"
                };
                refuse(node, message);
                None
            }
        }
    }

    /// Reads a selector: only a JSON Pointer is a reference.
    fn selector(&self, node: &Node<'d>) -> Option<Reference> {
        let text = |name: &str| node.value.get(name).and_then(Json::as_str);
        // Faults need only the place of a member.
        let member = |name: &str| node.below(name, node.value);
        let kind = text("type").or_else(|| node.value.pointer("/type/type")?.as_str());
        if kind != Some("jsonpointer") {
            let message = "a plan selects parts of values by JSON Pointers only";
            refuse(&member("type"), message);
            return None;
        }
        let texts = text("context").zip(text("selector"));
        let (context, selector) = node.some_or(texts, "'context' and 'selector' are texts")?;
        let pointer = is_pointer(selector).then_some(selector);
        let problem = "a JSON Pointer is empty or begins with '/'";
        let pointer = member("selector").some_or(pointer, problem)?;
        let mut reference = self.expression(context, &member("context"))?;
        reference.pointer.push_str(pointer);
        Some(reference)
    }
}
