//! A tool in its box, with all that can be worked out before the first call.

use std::sync::Arc;

use toolwright_core::schema::{Check, SchemaError};
use toolwright_core::{Json, Tool, ToolKind};

use crate::call::cache::Cache;
use crate::call::limit::Limit;
use crate::handle;
use crate::handler::Handler;
use crate::settings::Effect;

/// A tool in its box.
pub(crate) struct Item {
    pub(crate) name: Arc<str>,
    pub(crate) handler: Handler,
    /// What a model is shown
    pub(crate) shown: Tool,
    /// The same where handles can be passed
    pub(crate) admitting: Tool,
    pub(crate) check: Option<Check>,
    /// Where results are kept, for a tool without effects that asks for it
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) limit: Limit,
}

impl Item {
    pub(crate) fn new(handler: Handler) -> Result<Item, SchemaError> {
        let settings = handler.settings();
        let check = handler.tool().parameters().map(Check::compile).transpose()?;
        let cache = match (settings.cache, settings.effect) {
            (Some(lifetime), Effect::None) => Some(Cache::new(lifetime)),
            _ => None,
        };
        let limit = settings.concurrency.map_or_else(Limit::default, Limit::of);
        let name = handler.tool().name.as_str().into();
        let shown = without(handler.tool().clone(), &settings.hidden);
        let mut admitting = shown.clone();
        if let ToolKind::Function(Some(schema)) = &mut admitting.kind {
            *schema = handle::admit(schema);
        }
        Ok(Item { name, handler, shown, admitting, check, cache, limit })
    }
}

/// A tool without its hidden parameters.
fn without(mut tool: Tool, hidden: &[String]) -> Tool {
    if hidden.is_empty() {
        return tool;
    }
    if let ToolKind::Function(Some(Json::Object(schema))) = &mut tool.kind {
        if let Some(Json::Object(properties)) = schema.get_mut("properties") {
            for name in hidden {
                properties.remove(name);
            }
        }
        if let Some(Json::Array(required)) = schema.get_mut("required") {
            required.retain(|name| !hidden.iter().any(|hidden| name.as_str() == Some(hidden)));
        }
    }
    tool
}
