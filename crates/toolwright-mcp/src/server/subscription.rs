//! Notifications of changes: those that a session gets, and those that a client without a session subscribes to.

use futures_util::future::join_all;
use tokio::sync::watch;
use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::{Features, Outbox};
use crate::client::ResourceUpdates;
use crate::message::Request;
use crate::protocol::{
    ACKNOWLEDGED, PROMPTS_CHANGED, RESOURCE_UPDATED, RESOURCES_CHANGED, TOOLS_CHANGED,
};

/// Maximum number of resources that one client subscribes to.
pub(super) const MAX_RESOURCES: usize = 1000;

/// Announces changes of what the clients of a server see.
#[derive(Debug, Clone, Default)]
pub struct Announcer {
    /// Changes with the tools
    pub tools: watch::Sender<()>,
    /// Changes with the prompts
    pub prompts: watch::Sender<()>,
    /// Changes with the list of resources
    pub resources: watch::Sender<()>,
}

/// Changes of what the clients of a server see.
#[derive(Debug, Clone)]
pub struct Changes {
    tools: watch::Receiver<()>,
    prompts: watch::Receiver<()>,
    resources: watch::Receiver<()>,
}

impl Announcer {
    /// Observes the changes from now on.
    pub fn subscribe(&self) -> Changes {
        Changes {
            tools: self.tools.subscribe(),
            prompts: self.prompts.subscribe(),
            resources: self.resources.subscribe(),
        }
    }

    /// Announces that everything may have changed.
    pub fn announce_all(&self) {
        for list in [&self.tools, &self.prompts, &self.resources] {
            list.send_replace(());
        }
    }
}

impl Changes {
    /// Each list with its capability, the name of its subscription and its notification.
    fn lists(self) -> [(&'static str, &'static str, &'static str, watch::Receiver<()>); 3] {
        [
            ("tools", "toolsListChanged", TOOLS_CHANGED, self.tools),
            ("prompts", "promptsListChanged", PROMPTS_CHANGED, self.prompts),
            ("resources", "resourcesListChanged", RESOURCES_CHANGED, self.resources),
        ]
    }
}

/// Sends the notifications of a session: changes of the lists whose capabilities it has. Never returns.
pub(super) async fn follow(capabilities: Object, outbox: Outbox, changes: Changes) {
    let lists = changes.lists().into_iter();
    let lists = lists.filter(|(capability, ..)| capabilities.contains_key(capability));
    join_all(lists.map(|(_, _, notification, changes)| {
        follow_list(&outbox, notification, Object::new(), changes)
    }))
    .await;
}

/// Sends a notification for each change of a list. Never returns.
async fn follow_list(
    outbox: &Outbox,
    notification: &str,
    params: Object,
    mut changes: watch::Receiver<()>,
) {
    while changes.changed().await.is_ok() {
        outbox.notify(notification, params.clone());
    }
    std::future::pending::<()>().await;
}

/// Sends a notification for each update of a resource, until there are no more.
pub(super) async fn follow_resource(
    outbox: &Outbox,
    mut params: Object,
    uri: &str,
    mut updates: ResourceUpdates,
) {
    params.insert("uri", uri);
    while updates.next().await.is_some() {
        outbox.notify(RESOURCE_UPDATED, params.clone());
    }
}

/// Answers `subscriptions/listen`: sends notifications until the client leaves.
pub(super) async fn listen(
    request: &Request,
    outbox: &Outbox,
    changes: Changes,
    features: std::sync::Arc<dyn Features>,
) -> Object {
    let own =
        object! {"_meta": object! {"io.modelcontextprotocol/subscriptionId": request.id.clone()}};
    let wanted = request.params.get("notifications");
    let capabilities = features.capabilities(toolwright_dialects::dialect::mcp::Era::Stateless);
    let mut accepted = Object::new();
    let mut lists = Vec::new();
    for (capability, name, notification, changes) in changes.lists() {
        let is_wanted = wanted.and_then(|own| own.get(name)).and_then(Json::as_bool) == Some(true);
        if is_wanted && (capability == "tools" || capabilities.contains_key(capability)) {
            accepted.insert(name, true);
            lists.push(follow_list(outbox, notification, own.clone(), changes));
        }
    }
    let uris = wanted.and_then(|own| own.get("resourceSubscriptions")).and_then(Json::as_array);
    let mut uris: Vec<&str> = uris.unwrap_or_default().iter().filter_map(Json::as_str).collect();
    uris.truncate(MAX_RESOURCES);
    let observed = join_all(uris.iter().map(|uri| features.observe(uri))).await;
    // The subscription must not keep servers that a reload has removed.
    drop(features);
    let observed: Vec<(&str, ResourceUpdates)> = uris
        .iter()
        .zip(observed)
        .filter_map(|(uri, updates)| Some((*uri, updates.ok()?)))
        .collect();
    if !observed.is_empty() {
        let uris: Vec<Json> = observed.iter().map(|(uri, _)| Json::from(*uri)).collect();
        accepted.insert("resourceSubscriptions", uris);
    }
    let mut params = own.clone();
    params.insert("notifications", accepted);
    outbox.notify(ACKNOWLEDGED, params);
    let resources = observed
        .into_iter()
        .map(|(uri, updates)| follow_resource(outbox, own.clone(), uri, updates));
    let follow = async {
        tokio::join!(join_all(lists), join_all(resources));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = outbox.closed() => {}
        () = follow => {}
    }
    own
}
