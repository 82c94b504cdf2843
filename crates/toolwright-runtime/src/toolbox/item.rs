//! A tool of a toolbox, with all that is computed before its first call.

use std::fmt;
use std::sync::Arc;

use toolwright_core::args::{Parameters, ResolvedArguments, parse_exact};
use toolwright_core::schema::SchemaError;
use toolwright_core::{Arguments, Tool, ToolKind};

use super::cache::Cache;
use super::concurrency::Limit;
use crate::handle;
use crate::handler::{Handler, ToolDigest};
use crate::settings::{Effect, Fill, Settings};

/// A tool of a toolbox.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) name: Arc<str>,
    pub(crate) handler: Handler,
    pub(crate) digest: ToolDigest,
    /// The definition for the model
    pub(crate) definition: Arc<Tool>,
    /// The definition for the model if arguments may be handles
    pub(crate) definition_with_handles: Arc<Tool>,
    pub(crate) parameters: Arc<Parameters>,
    /// The cache, for a tool without effects that has one
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) limit: Limit,
}

/// A tool that is compiled and in no toolbox, such as a function of a catalog. A toolbox runs it with
/// [`Toolbox::call_tool`](crate::Toolbox::call_tool), a running tool with
/// [`Scope::call_tool`](crate::Scope::call_tool). Clones share its cache and its concurrency limit.
#[derive(Clone)]
pub struct CompiledTool(pub(crate) Arc<Item>);

impl CompiledTool {
    /// Compiles the schema of a tool.
    pub fn new(handler: Handler) -> Result<CompiledTool, SchemaError> {
        Item::new(handler).map(|item| CompiledTool(Arc::new(item)))
    }

    /// Checks arguments as they are written, without a call, as
    /// [`Toolbox::check_arguments`](crate::Toolbox::check_arguments) does.
    pub fn check_arguments(&self, arguments: &Arguments) -> ResolvedArguments {
        self.0.parameters.resolve_exact(parse_exact(arguments))
    }

    /// The tool and the function that runs it.
    pub fn handler(&self) -> &Handler {
        &self.0.handler
    }
}

impl fmt::Debug for CompiledTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CompiledTool").field(&self.0.name).finish()
    }
}

impl Item {
    pub(crate) fn new(handler: Handler) -> Result<Item, SchemaError> {
        let settings = handler.settings();
        let parameters = Arc::new(Parameters::compile(handler.tool(), &settings.hidden)?);
        let cache = match (settings.cache, settings.effect) {
            // A result for the value of a slot is not one for another value.
            (Some(lifetime), Effect::None)
                if !settings.is_never_cached && !reads_slots(settings) =>
            {
                Some(Cache::new(lifetime))
            }
            _ => None,
        };
        let limit = settings.concurrency.map_or_else(Limit::default, Limit::new);
        let name = handler.tool().name.as_str().into();
        let mut definition = handler.tool().clone();
        if let ToolKind::Function(Some(schema)) = &mut definition.kind {
            *schema = parameters.check().schema().clone();
        }
        if settings.slot.is_some() {
            // The model reads a reply, which the schema does not describe.
            definition.output = None;
        }
        let definition_with_handles = Arc::new(handle::admit_in(&definition));
        let digest = handler.digest();
        Ok(Item {
            name,
            handler,
            digest,
            definition: Arc::new(definition),
            definition_with_handles,
            parameters,
            cache,
            limit,
        })
    }

    /// Whether calls read or write slots of the conversation.
    pub(crate) fn uses_slots(&self) -> bool {
        let settings = self.handler.settings();
        settings.slot.is_some() || reads_slots(settings)
    }

    /// The same tool with another function, such as one with a new connection; none if the tool has changed.
    /// It shares the limit and the cache of this one.
    pub(crate) fn renewed(&self, handler: &Handler) -> Option<Item> {
        let (own, new) = (self.handler.settings(), handler.settings());
        let kept = |of: &Settings| (of.cache, of.is_never_cached, of.concurrency);
        let is_same = self.digest == handler.digest() && kept(own) == kept(new);
        is_same.then(|| Item { handler: handler.clone(), ..self.clone() })
    }
}

fn reads_slots(settings: &Settings) -> bool {
    settings.fills.iter().any(|(_, fill)| matches!(fill, Fill::Slot(_)))
}
