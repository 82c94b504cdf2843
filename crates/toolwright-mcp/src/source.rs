//! The tools of a server, for a toolbox.
//!
//! A tool is offered under `{prefix}{name}`, in characters that every vendor accepts. The prefix is the name of the
//! server, so a name does not depend on which other servers there are.

mod pinned;
mod remote;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;
use toolwright_core::args::Parameters;
use toolwright_core::profile::{Charset, NameRule};
use toolwright_core::{Json, Tool, ToolKind, object, suggest};
use toolwright_dialects::dialect::ToolCodec;
use toolwright_dialects::dialect::mcp::{Era, Mcp};
use toolwright_dialects::fit::alias::{is_legal_name, legal_name};
use toolwright_json::Object;
use toolwright_runtime::toolbox::{SourceError, SourceFuture, SourceProblem, ToolPage, ToolSource};
use toolwright_runtime::{
    Effect, Fill, Handler, Session, SlotOutput, ToolError, ValueForm, handle,
};

use super::client::{Client, ListKind};
use super::header::{self, ParameterHeader};
use super::pins::DefinitionPins;
use pinned::PinnedTools;
use remote::{RemoteTool, Visibility};

/// Names that every vendor accepts.
const NAMES: NameRule = NameRule { charset: Charset::Word, letter_first: true, max: 64 };

/// Maximum size of a definition in bytes.
const MAX_DEFINITION: usize = 256 << 10;

/// The wait before tools that could not be listed are listed again; it doubles each time.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Maximum wait before tools are listed again.
const MAX_RETRY: Duration = Duration::from_mins(1);

/// The wait before an empty list is confirmed.
const CONFIRM_AFTER: Duration = Duration::from_millis(200);

/// Returns a name that every vendor accepts: this one, or another form of it.
pub fn legal_tool_name(name: &str) -> String {
    legal_name(&NAMES, name, |_| false)
}

/// The client of a call, when it is chosen.
pub type SelectFuture<'s> = Pin<Box<dyn Future<Output = Result<Client, ToolError>> + Send + 's>>;

/// Chooses the client of each call: for servers that want a token of the caller.
pub trait ClientSelector: Send + Sync + 'static {
    /// Returns the client for the calls of a session.
    fn select<'s>(&'s self, session: &'s Session) -> SelectFuture<'s>;
}

/// The tools of a server, as a source of a toolbox.
#[must_use]
pub struct McpSource {
    client: Client,
    selector: Option<Arc<dyn ClientSelector>>,
    prefix: String,
    names: HashMap<String, String>,
    fills: HashMap<String, Vec<(String, Fill)>>,
    forms: HashMap<String, Vec<(String, ValueForm)>>,
    /// The slots of tools, and which part of a result they store
    slots: HashMap<String, (SlotOutput, String)>,
    hidden_results: HashSet<String>,
    deadline: Duration,
    trusts_annotations: bool,
    pins: Option<Arc<PinnedTools>>,
    changes: Mutex<watch::Receiver<u64>>,
    listed: Mutex<Listed>,
}

#[derive(Default)]
struct Listed {
    /// By the names in the toolbox
    tools: HashMap<String, Entry>,
    /// Number of listings that failed in a row
    failures: u32,
    /// Whether the tools were listed
    is_complete: bool,
}

#[derive(Clone)]
struct Entry {
    /// The definition as the server sent it
    wire: Json,
    /// The definition for models
    shown: Arc<Tool>,
    handler: Handler,
}

impl McpSource {
    /// Creates a source. Tools are offered under the name of the server, `_` and their own name.
    pub fn new(client: Client) -> McpSource {
        McpSource {
            prefix: format!("{}_", client.name()),
            names: HashMap::new(),
            fills: HashMap::new(),
            forms: HashMap::new(),
            slots: HashMap::new(),
            hidden_results: HashSet::new(),
            deadline: Duration::from_mins(1),
            trusts_annotations: false,
            pins: None,
            changes: Mutex::new(client.changes(ListKind::Tools)),
            listed: Mutex::default(),
            selector: None,
            client,
        }
    }

    /// Calls the tools through clients that are chosen for each call. The tools are listed through the client of the
    /// source.
    pub fn with_selector(mut self, selector: Arc<dyn ClientSelector>) -> McpSource {
        self.selector = Some(selector);
        self
    }

    /// Sets the prefix of the names.
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> McpSource {
        self.prefix = prefix.into();
        self
    }

    /// Offers a tool under a name without the prefix.
    pub fn with_name(mut self, tool: impl Into<String>, name: impl Into<String>) -> McpSource {
        self.names.insert(tool.into(), name.into());
        self
    }

    /// Hides a parameter of a tool from models and fills it with a value of the host.
    pub fn with_fill(
        mut self,
        tool: impl Into<String>,
        parameter: impl Into<String>,
        fill: Fill,
    ) -> McpSource {
        self.fills.entry(tool.into()).or_default().push((parameter.into(), fill));
        self
    }

    /// Stores a part of the results of a tool in a slot of the conversation. The part is a JSON Pointer into the
    /// structured content, or into the content of a result without it: that of its only block (text is parsed if it is
    /// JSON), or an array of its blocks. The empty pointer means all.
    pub fn with_slot(
        mut self,
        tool: impl Into<String>,
        slot: SlotOutput,
        part: impl Into<String>,
    ) -> McpSource {
        self.slots.insert(tool.into(), (slot, part.into()));
        self
    }

    /// Sets the form in which a parameter of a tool receives values behind handles.
    pub fn with_form(
        mut self,
        tool: impl Into<String>,
        parameter: impl Into<String>,
        form: ValueForm,
    ) -> McpSource {
        self.forms.entry(tool.into()).or_default().push((parameter.into(), form));
        self
    }

    /// Hides the results of a tool from models, whatever their size. A model receives a handle with the type, the size
    /// and the keys of the result, without values.
    pub fn with_hidden_results(mut self, tool: impl Into<String>) -> McpSource {
        self.hidden_results.insert(tool.into());
        self
    }

    /// Sets the deadline of calls.
    pub fn with_deadline(mut self, deadline: Duration) -> McpSource {
        self.deadline = deadline;
        self
    }

    /// Believes what the server says about the effects of its tools. Otherwise every call counts as one with an
    /// effect.
    pub fn with_trusted_annotations(mut self) -> McpSource {
        self.trusts_annotations = true;
        self
    }

    /// Returns the name that a listed tool has at the server.
    pub fn own_name(&self, tool: &str) -> Option<String> {
        let listed = self.listed.lock();
        listed.tools.get(tool)?.wire.get("name").and_then(Json::as_str).map(str::to_owned)
    }

    /// Compares the definitions of tools with those that were approved, when they are listed and before calls.
    pub fn with_pins(mut self, pins: Arc<dyn DefinitionPins>) -> McpSource {
        self.pins = Some(Arc::new(PinnedTools::new(self.client.clone(), pins)));
        self
    }

    /// Lists the tools. An empty list replaces another one only if the server confirms it.
    async fn refresh(&self) -> Result<ToolPage, SourceError> {
        let failed = |error: super::client::ClientError| SourceError(error.operator_text());
        let era = self.client.info().await.map_err(failed)?.era();
        let revision = self.pins.as_ref().map(|pins| pins.revision()).unwrap_or_default();
        let mut wires = self.client.list_tools().await.map_err(failed)?;
        if wires.is_empty() && !self.listed.lock().tools.is_empty() {
            sleep(CONFIRM_AFTER).await;
            wires = self.client.list_tools().await.map_err(failed)?;
        }
        let changed = match &self.pins {
            Some(pins) => pins.compare(&wires, revision).await,
            None => HashSet::new(),
        };
        let mut known = self.listed.lock().tools.clone();
        let mut tools: HashMap<String, Entry> = HashMap::new();
        let mut page = ToolPage::default();
        let mut labels = BTreeSet::new();
        for wire in wires {
            let label = wire.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
            labels.insert(label.clone());
            if changed.contains(&label) {
                let is_blocked = self.pins.as_ref().is_some_and(|pins| pins.blocks());
                let tool = label.as_str().into();
                page.problems.push(SourceProblem::DefinitionChanged { tool, is_blocked });
                if is_blocked {
                    continue;
                }
            }
            let (name, renamed) = self.name(&label, |name| tools.contains_key(name));
            let unchanged = known.remove(&name).filter(|entry| entry.wire == wire);
            let entry = match unchanged {
                Some(entry) => Ok(entry),
                None => self.entry(&name, wire, era),
            };
            match entry {
                Ok(entry) => {
                    page.tools.push(entry.shown.clone());
                    let tool = || label.as_str().into();
                    page.problems.extend(renamed.map(|reason| SourceProblem::Renamed {
                        tool: tool(),
                        name: name.as_str().into(),
                        reason,
                    }));
                    tools.insert(name, entry);
                }
                Err(reason) => {
                    let tool = label.chars().take(128).collect::<String>().into();
                    page.problems.push(SourceProblem::Quarantined { tool, reason });
                }
            }
        }
        page.problems.extend(self.unlisted(&labels));
        let mut listed = self.listed.lock();
        listed.tools = tools;
        listed.is_complete = true;
        Ok(page)
    }

    /// The tools that have settings and are not listed.
    fn unlisted(&self, labels: &BTreeSet<String>) -> Vec<SourceProblem> {
        let tools = self.names.keys().chain(self.fills.keys()).chain(self.forms.keys());
        let tools = tools.chain(self.slots.keys()).chain(&self.hidden_results);
        let unlisted: BTreeSet<&String> = tools.filter(|tool| !labels.contains(*tool)).collect();
        let problem = |tool: &String| {
            let similar = suggest(tool, labels.iter().map(String::as_str));
            let hint = similar.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default();
            SourceProblem::Unlisted { tool: tool.as_str().into(), hint }
        };
        unlisted.into_iter().map(problem).collect()
    }

    /// The name of a tool in the toolbox, and why it is another one than expected.
    fn name(&self, label: &str, is_taken: impl Fn(&str) -> bool) -> (String, Option<&'static str>) {
        let wanted = match self.names.get(label) {
            Some(name) => name.clone(),
            None => format!("{}{label}", self.prefix),
        };
        let name = legal_name(&NAMES, &wanted, &is_taken);
        let renamed = (name != wanted).then(|| {
            if is_taken(&wanted) {
                "another tool has this name"
            } else {
                "not every vendor accepts the name"
            }
        });
        (name, renamed)
    }

    /// Whether the name of a tool can be one of this source.
    fn may_offer(&self, name: &str) -> bool {
        let has_prefix = name.starts_with(&self.prefix) || !is_legal_name(&NAMES, &self.prefix);
        has_prefix || self.names.values().any(|own| own == name)
    }

    /// Reads a definition; the error says why the tool is not offered.
    fn entry(&self, name: &str, wire: Json, era: Era) -> Result<Entry, String> {
        let size = wire.compact().len();
        if size > MAX_DEFINITION {
            return Err(format!("its definition has {size} bytes, more than {MAX_DEFINITION}"));
        }
        // A result need not be an object if the definition does not say so.
        let decoded = Mcp { era: Era::Stateless }.decode_tool(wire.clone());
        let tool = decoded.map_err(|error| format!("its definition is invalid: {error}"))?;
        if tool.name.is_empty() {
            return Err("it has no name".to_owned());
        }
        let schema =
            tool.parameters().cloned().unwrap_or_else(|| object! {"type": "object"}.into());
        let headers = header::parameters(&schema)?;
        let fills = self.fills.get(&tool.name).into_iter().flatten();
        let hidden: Vec<String> = fills.map(|(name, _)| name.clone()).collect();
        let parameters = Parameters::compile(&tool, &hidden);
        let parameters = parameters.map_err(|error| format!("its schema is invalid: {error}"))?;
        let effect = self.effect(tool.annotations.as_ref());
        let label = tool.name.clone();
        let (remote, slot) = self.remote(&label, headers, era);
        let remote = Arc::new(remote);
        let tool = Tool { name: name.to_owned(), ..tool };
        let mut shown = tool.clone();
        shown.output.take_if(|_| slot.is_some());
        let mut schema = parameters.check().schema().clone();
        for (parameter, _) in self.forms.get(&label).into_iter().flatten() {
            handle::add_hint(&mut schema, parameter);
        }
        shown.kind = ToolKind::Function(Some(schema));
        let handler = Handler::new(tool, move |scope, arguments| {
            let remote = remote.clone();
            async move { remote.call(scope, arguments).await }
        });
        let handler = self.with_settings(handler, &label, slot).with_effect(effect);
        Ok(Entry { wire, shown: Arc::new(shown), handler })
    }

    /// Adds the settings of a tool of the server to its handler.
    fn with_settings(&self, mut handler: Handler, tool: &str, slot: Option<SlotOutput>) -> Handler {
        for (parameter, fill) in self.fills.get(tool).into_iter().flatten() {
            handler = handler.with_fill(parameter.clone(), fill.clone());
        }
        for (parameter, form) in self.forms.get(tool).into_iter().flatten() {
            handler = handler.with_form(parameter.clone(), *form);
        }
        if let Some(slot) = slot {
            handler = handler.with_slot(slot);
        }
        handler.with_deadline(self.deadline)
    }

    /// Returns a handler that calls a tool of the server with another definition: that of a prefab's function. The
    /// error says why it cannot.
    pub fn function(&self, tool: &str, definition: Tool) -> Result<Handler, String> {
        let headers = definition.parameters().map(header::parameters).transpose()?;
        let (remote, slot) = self.remote(tool, headers.unwrap_or_default(), Era::Stateless);
        let handler = Handler::new(definition, move |scope, arguments| {
            let mut remote = remote.clone();
            async move {
                // If there is no connection, the call says so.
                if let Ok(info) = remote.client.info().await {
                    remote.era = info.era();
                }
                remote.call(scope, arguments).await
            }
        });
        let handler = self.with_settings(handler, tool, slot);
        // Requests of one caller may have different tokens.
        Ok(if self.selector.is_some() { handler.without_cache() } else { handler })
    }

    /// A tool of the server, and the slot that stores its results.
    fn remote(
        &self,
        tool: &str,
        headers: Vec<ParameterHeader>,
        era: Era,
    ) -> (RemoteTool, Option<SlotOutput>) {
        let (slot, part) = self.slots.get(tool).cloned().unzip();
        let remote = RemoteTool {
            client: self.client.clone(),
            selector: self.selector.clone(),
            pins: self.pins.clone(),
            name: tool.to_owned(),
            headers,
            era,
            visibility: match part {
                Some(part) => Visibility::Part(part),
                None if self.hidden_results.contains(tool) => Visibility::Hidden,
                None => Visibility::Shown,
            },
        };
        (remote, slot)
    }

    /// The effect of a tool. Annotations are hints, which only count if the server is trusted.
    fn effect(&self, annotations: Option<&Object>) -> Effect {
        let says = |key| {
            let hint = annotations.and_then(|own| own.get(key)).and_then(Json::as_bool);
            self.trusts_annotations && hint == Some(true)
        };
        if says("readOnlyHint") {
            Effect::None
        } else if says("idempotentHint") {
            Effect::Keyed
        } else {
            Effect::Once
        }
    }
}

impl ToolSource for McpSource {
    fn name(&self) -> &str {
        self.client.name()
    }

    fn list<'a>(&'a self, _: Option<&'a str>) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
        Box::pin(async {
            self.changes.lock().mark_unchanged();
            {
                // A listing that is dropped at its deadline counts as failed.
                let mut listed = self.listed.lock();
                listed.failures = listed.failures.saturating_add(1);
            }
            let page = self.refresh().await?;
            self.listed.lock().failures = 0;
            Ok(page)
        })
    }

    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
        Box::pin(async move {
            if !self.may_offer(name) {
                return Ok(None);
            }
            if !self.listed.lock().is_complete {
                self.refresh().await?;
            }
            Ok(self.listed.lock().tools.get(name).map(|entry| entry.handler.clone()))
        })
    }

    fn changed(&self) -> SourceFuture<'_, ()> {
        Box::pin(async {
            let failures = self.listed.lock().failures;
            if failures > 0 {
                return sleep((FIRST_RETRY * (1 << failures.min(6))).min(MAX_RETRY)).await;
            }
            let mut changes = self.changes.lock().clone();
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
