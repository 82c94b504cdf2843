//! The prompts, resources, templates and completions of the MCP servers, for the clients of the gateway.
//!
//! | | for a client |
//! |---|---|
//! | prompt | the prefix of its server, then its name, as for tools |
//! | resource at `/mcp/NAME` of one server | its URI |
//! | resource at a place with several servers | `mcp:NAME/URI`, because two servers may have the same URI |
//!
//! A URI without the name of a server is found among the lists and templates of all servers, if it is that of one.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use toolwright_core::json::Object;
use toolwright_core::{Json, object, percent};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_mcp::protocol::{
    COMPLETE, GET_PROMPT, LIST_PROMPTS, LIST_RESOURCES, LIST_TEMPLATES, READ_RESOURCE,
};
use toolwright_mcp::server::{Exchange, Features, FeaturesFuture, ObserveFuture, Peer, page};
use toolwright_mcp::{
    ClientError, ClientSelector, Interaction, Request, RpcError, ServerInfo, map_resource_uris,
};
use toolwright_runtime::call::Glob;

use super::Connected;
use super::lists::Listing;
use crate::config::MCP;

/// Whether a caller may use a prompt or a resource of a server, by the server and the name with its prefix.
pub type MayUse = Box<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// What a caller sees of the servers.
pub struct McpFeatures {
    servers: Vec<Arc<Connected>>,
    /// Whether URIs have the names of their servers
    has_names: bool,
    may_use: MayUse,
}

impl Connected {
    async fn entries(&self, listing: Listing) -> Arc<Vec<Json>> {
        if listing == Listing::Resources && self.callers.is_some() {
            // The gateway's own access does not show what a caller may see.
            return Arc::default();
        }
        self.lists.entries(&self.client, listing).await
    }

    /// What the names of its tools and prompts begin with.
    fn prefix(&self) -> String {
        self.settings.prefix(self.client.name())
    }

    /// Sends a request that a client of the gateway sent, and returns the result for it.
    async fn forward(
        &self,
        method: &str,
        params: Object,
        peer: &Peer,
        exchange: &Exchange,
    ) -> Result<Object, RpcError> {
        let interaction = Interaction::of(&exchange.session).await;
        let client = match &self.callers {
            Some(callers) => callers.select(&exchange.session).await.map_err(|error| {
                RpcError::internal(format!("Internal error: {}", error.message))
            })?,
            None => self.client.clone(),
        };
        let deadline = self.settings.deadline;
        let sent = client.request_with(method, params, deadline, interaction).await;
        let mut result = sent.map_err(|error| refusal(error, peer.era()))?;
        result.remove("resultType");
        result.remove("_meta");
        result.remove("cacheScope");
        let ttl = result.remove("ttlMs");
        if method == READ_RESOURCE && peer.era() == Era::Stateless {
            // Who reads a resource of a server that says nothing gets the present one.
            result.insert("ttlMs", ttl.unwrap_or_else(|| 0_u64.into()));
        }
        Ok(result)
    }
}

/// The error for a client of the gateway.
fn refusal(error: ClientError, era: Era) -> RpcError {
    match error {
        ClientError::Refused { error, .. } => error.in_era(era),
        error => RpcError::internal(format!("Internal error: {error}")),
    }
}

impl McpFeatures {
    /// Creates the features of servers. `has_names` says whether URIs have the names of their servers.
    pub(super) fn new(
        servers: Vec<Arc<Connected>>,
        has_names: bool,
        may_use: MayUse,
    ) -> McpFeatures {
        McpFeatures { servers, has_names, may_use }
    }

    /// What the servers that were connected say about themselves.
    fn infos(&self) -> impl Iterator<Item = ServerInfo> + '_ {
        self.servers.iter().filter_map(|server| server.client.last_info())
    }

    fn may_use(&self, server: &Connected, name: &str) -> bool {
        (self.may_use)(server.client.name(), &format!("{}{name}", server.prefix()))
    }

    /// The URI of a resource of a server, for the caller.
    fn uri(&self, server: &Connected, uri: &str) -> String {
        if self.has_names { format!("{MCP}{}/{uri}", server.client.name()) } else { uri.to_owned() }
    }

    /// Lists the entries of all servers that the caller may use, those of each server in its order.
    async fn list(&self, listing: Listing, params: &Object) -> Result<Object, RpcError> {
        let lists = join_all(self.servers.iter().map(|server| server.entries(listing))).await;
        let ((entries_key, label), mut seen) = (listing.members(), HashSet::new());
        let mut entries = Vec::new();
        for (server, list) in self.servers.iter().zip(lists) {
            for entry in list.iter() {
                let Some(own) = entry.get(label).and_then(Json::as_str) else { continue };
                if !self.may_use(server, own) {
                    continue;
                }
                let public = match listing {
                    Listing::Prompts => format!("{}{own}", server.prefix()),
                    Listing::Resources | Listing::Templates => self.uri(server, own),
                };
                if seen.insert(public.clone())
                    && let Json::Object(mut entry) = entry.clone()
                {
                    entry.insert(label, public);
                    entries.push(Json::Object(entry));
                }
            }
        }
        page(entries_key, params, entries.into_iter(), |entry| entry)
    }

    /// Finds a prompt by its name with the prefix.
    async fn find_prompt(&self, name: &str) -> Result<(&Arc<Connected>, String), RpcError> {
        for server in &self.servers {
            let prefix = server.prefix();
            let Some(own) = name.strip_prefix(&prefix) else { continue };
            let prompts = server.entries(Listing::Prompts).await;
            let is_listed =
                prompts.iter().any(|entry| entry.get("name").and_then(Json::as_str) == Some(own));
            if is_listed && self.may_use(server, own) {
                return Ok((server, own.to_owned()));
            }
        }
        Err(RpcError::invalid_params(format!("Unknown prompt: {name}")))
    }

    /// Finds the server of a resource or template, and the URI there.
    async fn find_resource(
        &self,
        uri: &str,
        era: Era,
    ) -> Result<(&Arc<Connected>, String), RpcError> {
        let named = if self.has_names {
            uri.strip_prefix(MCP).and_then(|rest| rest.split_once('/'))
        } else {
            None
        };
        // Servers resolve such segments, so that the allow-list of a key would not hold.
        if has_dot_segment(uri) {
            return Err(RpcError::invalid_params(format!(
                "The URI {uri} has a segment '.' or '..': write it without them"
            )));
        }
        let mut found = Vec::new();
        if let Some((name, own)) = named {
            let named = self.servers.iter().filter(|server| server.client.name() == name);
            found.extend(named.map(|server| (server, own.to_owned())));
        } else if let ([server], false) = (&*self.servers, self.has_names) {
            found.push((server, uri.to_owned()));
        } else {
            for server in &self.servers {
                if server.has_resource(uri).await {
                    found.push((server, uri.to_owned()));
                }
            }
        }
        found.retain(|(server, own)| self.may_use(server, own));
        if let ([_, _, ..], None) = (&*found, named) {
            let forms: Vec<String> =
                found.iter().map(|(server, own)| self.uri(server, own)).collect();
            let message =
                format!("Several servers have the resource {uri}: read {}", forms.join(" or "));
            return Err(RpcError::invalid_params(message));
        }
        found.pop().ok_or_else(|| RpcError::resource_not_found(uri, era))
    }

    async fn get_prompt(
        &self,
        params: &Object,
        peer: &Peer,
        exchange: &Exchange,
    ) -> Result<Object, RpcError> {
        let (server, name) = self.find_prompt(text(params, "name")?).await?;
        let mut params = forwarded(params);
        params.insert("name", name);
        let mut result = server.forward(GET_PROMPT, params, peer, exchange).await?;
        if let Some(Json::Array(messages)) = result.get_mut("messages") {
            for message in messages {
                if let Json::Object(message) = message
                    && let Some(content) = message.get_mut("content")
                {
                    map_resource_uris(content, |uri| Some(self.uri(server, uri)));
                }
            }
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        params: &Object,
        peer: &Peer,
        exchange: &Exchange,
    ) -> Result<Object, RpcError> {
        let (server, uri) = self.find_resource(text(params, "uri")?, peer.era()).await?;
        let mut params = forwarded(params);
        params.insert("uri", uri);
        let mut result = server.forward(READ_RESOURCE, params, peer, exchange).await?;
        if let Some(Json::Array(contents)) = result.get_mut("contents") {
            for content in contents {
                if let Json::Object(content) = content
                    && let Some(uri) = content.get("uri").and_then(Json::as_str)
                {
                    let uri = self.uri(server, uri);
                    content.insert("uri", uri);
                }
            }
        }
        Ok(result)
    }

    async fn complete(
        &self,
        params: &Object,
        peer: &Peer,
        exchange: &Exchange,
    ) -> Result<Object, RpcError> {
        let invalid = || {
            let message = "Invalid params: 'ref' is neither a ref/prompt nor a ref/resource";
            RpcError::invalid_params(message)
        };
        let mut reference =
            params.get("ref").and_then(Json::as_object).cloned().ok_or_else(invalid)?;
        let (server, label, own) = match reference.get("type").and_then(Json::as_str) {
            Some("ref/prompt") => {
                let (server, own) = self.find_prompt(text(&reference, "name")?).await?;
                (server, "name", own)
            }
            Some("ref/resource") => {
                let (server, own) =
                    self.find_resource(text(&reference, "uri")?, peer.era()).await?;
                (server, "uri", own)
            }
            _ => return Err(invalid()),
        };
        reference.insert(label, own);
        let mut params = forwarded(params);
        params.insert("ref", reference);
        if !server.client.last_info().is_some_and(|info| info.has("completions")) {
            // Versions before this capability had completion without it.
            let completion = object! {"values": Vec::<Json>::new(), "hasMore": false};
            let sent = server.forward(COMPLETE, params, peer, exchange).await;
            return Ok(sent.unwrap_or_else(|_| object! {"completion": completion}));
        }
        server.forward(COMPLETE, params, peer, exchange).await
    }
}

impl Connected {
    /// Whether the server lists a resource or a template of it.
    async fn has_resource(&self, uri: &str) -> bool {
        let resources = self.entries(Listing::Resources).await;
        let is = |entry: &Json, key| entry.get(key).and_then(Json::as_str) == Some(uri);
        if resources.iter().any(|entry| is(entry, "uri")) {
            return true;
        }
        let templates = self.entries(Listing::Templates).await;
        templates.iter().any(|entry| {
            let template = entry.get("uriTemplate").and_then(Json::as_str).unwrap_or_default();
            template == uri || expands_to(template, uri)
        })
    }
}

/// Whether a URI may be an expansion of a template.
fn expands_to(template: &str, uri: &str) -> bool {
    let mut pattern = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, next)) = after.split_once('}') else { return false };
        pattern.push_str(before);
        pattern.push('*');
        rest = next;
    }
    pattern.push_str(rest);
    Glob::new(&pattern).matches(uri)
}

fn text<'p>(params: &'p Object, key: &str) -> Result<&'p str, RpcError> {
    let missing = || RpcError::invalid_params(format!("Invalid params: '{key}' is missing"));
    params.get(key).and_then(Json::as_str).ok_or_else(missing)
}

/// The parameters of a request without what concerns this connection only.
fn forwarded(params: &Object) -> Object {
    let mut params = params.clone();
    params.remove("_meta");
    params
}

impl Features for McpFeatures {
    fn capabilities(&self, _: Era) -> Object {
        let has = |capability: &str| self.infos().any(|info| info.has(capability));
        let mut capabilities = Object::new();
        if has("prompts") {
            capabilities.insert("prompts", object! {"listChanged": true});
        }
        if has("resources") {
            let mut resources = object! {"listChanged": true};
            if self.infos().any(|info| info.announces_updates()) {
                resources.insert("subscribe", true);
            }
            capabilities.insert("resources", resources);
        }
        if has("completions") {
            capabilities.insert("completions", Object::new());
        }
        capabilities
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request,
        peer: &'a Arc<Peer>,
        exchange: &'a Exchange,
    ) -> FeaturesFuture<'a> {
        Box::pin(async move {
            let params = &request.params;
            Some(match request.method.as_str() {
                LIST_PROMPTS => self.list(Listing::Prompts, params).await,
                GET_PROMPT => self.get_prompt(params, peer, exchange).await,
                LIST_RESOURCES => self.list(Listing::Resources, params).await,
                LIST_TEMPLATES => self.list(Listing::Templates, params).await,
                READ_RESOURCE => self.read_resource(params, peer, exchange).await,
                COMPLETE => self.complete(params, peer, exchange).await,
                _ => return None,
            })
        })
    }

    fn observe<'a>(&'a self, uri: &'a str) -> ObserveFuture<'a> {
        Box::pin(async move {
            let (server, uri) = self.find_resource(uri, Era::Handshake).await?;
            if server.callers.is_some() {
                let message =
                    "Resources of a server that wants tokens of callers cannot be observed";
                return Err(RpcError::invalid_params(message));
            }
            let observed = server.client.observe_resource(&uri).await;
            observed.map_err(|error| refusal(error, Era::Handshake))
        })
    }

    fn public_uri(&self, server: &str, uri: &str) -> Option<String> {
        let own = self.servers.iter().find(|own| own.client.name() == server)?;
        self.has_names.then(|| self.uri(own, uri))
    }
}

/// Whether the path of a URI has a segment that means another folder.
fn has_dot_segment(uri: &str) -> bool {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    percent::decode(path).split(['/', '\\']).any(|segment| matches!(segment, "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_dots_are_found() {
        for uri in ["file:///a/../b", "file:///a/%2e%2E/b", "file:///a/..%5Cb", "file:///a/."] {
            assert!(has_dot_segment(uri), "{uri}");
        }
        for uri in ["file:///a/b.c", "file:///a/..b", "search://all?path=../x", "demo://text/7"] {
            assert!(!has_dot_segment(uri), "{uri}");
        }
    }

    #[test]
    fn templates_match_their_expansions() {
        assert!(expands_to("demo://text/{id}", "demo://text/7"));
        assert!(expands_to("file:///{+path}{?q}", "file:///a/b?q=1"));
        assert!(!expands_to("demo://text/{id}", "demo://blob/7"));
        assert!(!expands_to("demo://text/{id", "demo://text/7"));
    }
}
