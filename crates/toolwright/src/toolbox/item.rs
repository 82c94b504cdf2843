//! A tool in its box, with all that can be worked out before the first call.

use std::sync::Arc;

use toolwright_core::args::Parameters;
use toolwright_core::schema::SchemaError;
use toolwright_core::{Tool, ToolKind};

use super::cache::Cache;
use super::concurrency::Limit;
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
    pub(crate) parameters: Parameters,
    /// Where results are kept, for a tool without effects that asks for it
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) limit: Limit,
}

impl Item {
    pub(crate) fn new(handler: Handler) -> Result<Item, SchemaError> {
        let settings = handler.settings();
        let parameters = Parameters::compile(handler.tool(), &settings.hidden)?;
        let cache = match (settings.cache, settings.effect) {
            (Some(lifetime), Effect::None) => Some(Cache::new(lifetime)),
            _ => None,
        };
        let limit = settings.concurrency.map_or_else(Limit::default, Limit::of);
        let name = handler.tool().name.as_str().into();
        let mut shown = handler.tool().clone();
        if let ToolKind::Function(Some(schema)) = &mut shown.kind {
            *schema = parameters.check().schema().clone();
        }
        let mut admitting = shown.clone();
        if let ToolKind::Function(Some(schema)) = &mut admitting.kind {
            *schema = handle::admit(schema);
        }
        Ok(Item { name, handler, shown, admitting, parameters, cache, limit })
    }
}
