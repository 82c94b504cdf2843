//! Follows what a server announces: changes of its lists, and updates of resources.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;

use super::{Core, Outgoing};
use crate::client::changes::Subscription;
use crate::client::{ClientError, ServerInfo};
use crate::interaction::Interaction;
use crate::message::Request;
use crate::protocol::{LISTEN, SUBSCRIBE, UNSUBSCRIBE};

/// A subscription that ends after this time did not fail.
const LASTING: Duration = Duration::from_secs(30);

/// Follows the announcements that a server offers. One with a handshake sends changes of its lists anyway.
pub(super) fn start(core: &Arc<Core>, info: &ServerInfo, followers: &mut JoinSet<()>) {
    let wanted: Vec<&'static str> = lists(info).collect();
    if core.era == Era::Stateless && !wanted.is_empty() {
        followers.spawn(core.clone().follow_lists(wanted));
    }
    if info.announces_updates() {
        followers.spawn(core.clone().follow_resources());
    }
}

impl Core {
    /// Subscribes to changes of the lists, for as long as the server lets it.
    async fn follow_lists(self: Arc<Core>, wanted: Vec<&'static str>) {
        let mut failures = 0;
        while !self.inbox.has_ended() {
            let mut notifications = Object::new();
            for list in &wanted {
                notifications.insert(*list, true);
            }
            if !self.listen(notifications, &mut failures).await {
                return;
            }
            // Changes between two subscriptions are not announced.
            self.inbox.changes.all_changed();
        }
    }

    /// Keeps a subscription, and pauses after it has ended. Returns whether to subscribe again.
    async fn listen(&self, notifications: Object, failures: &mut u32) -> bool {
        let start = Instant::now();
        let params = object! {"notifications": notifications};
        let mut request = Request { id: Json::Null, method: LISTEN.to_owned(), params };
        let ended = self.round(&mut request, &Interaction::default(), &[]).await;
        match ended {
            Err(ClientError::Refused { .. }) => return false,
            Ok(_) | Err(_) if start.elapsed() > LASTING => *failures = 0,
            Ok(_) => {}
            Err(_) => *failures = failures.saturating_add(1),
        }
        tokio::time::sleep(Duration::from_secs(1 << (*failures).min(6))).await;
        true
    }

    /// Keeps the server informed of the resources that are observed.
    async fn follow_resources(self: Arc<Core>) {
        let changes = &self.inbox.changes;
        let mut observing = changes.observing();
        let (mut known, mut failures) = (Vec::new(), 0);
        loop {
            observing.mark_unchanged();
            let wanted = changes.observed();
            let other_resources = async {
                while observing.changed().await.is_ok() && changes.observed() == wanted {}
            };
            match self.era {
                Era::Handshake => {
                    self.subscribe(&known, &wanted).await;
                    other_resources.await;
                }
                Era::Stateless if wanted.is_empty() => other_resources.await,
                Era::Stateless => {
                    let uris: Vec<Json> = wanted.iter().map(|uri| uri.as_str().into()).collect();
                    let notifications = object! {"resourceSubscriptions": uris};
                    tokio::select! {
                        biased;
                        () = other_resources => failures = 0,
                        is_again = self.listen(notifications, &mut failures) => {
                            if !is_again {
                                for uri in &wanted {
                                    let reason = "it refuses subscriptions".to_owned();
                                    changes.set_state(uri, Subscription::Refused(reason));
                                }
                                return;
                            }
                        }
                    }
                    // Updates between two subscriptions are not announced.
                    for uri in &wanted {
                        changes.updated(uri);
                    }
                }
            }
            known = wanted;
        }
    }

    /// Subscribes to resources of a server with a handshake, and ends the subscriptions to others.
    async fn subscribe(&self, known: &[String], wanted: &[String]) {
        let changes = &self.inbox.changes;
        let send = async |method: &str, uri: &str| {
            self.request(Outgoing::reading(method, object! {"uri": uri})).await
        };
        for uri in known.iter().filter(|uri| !wanted.contains(uri)) {
            let _ = send(UNSUBSCRIBE, uri).await;
        }
        for uri in wanted.iter().filter(|uri| !known.contains(uri)) {
            match send(SUBSCRIBE, uri).await {
                Ok(_) => changes.set_state(uri, Subscription::Active),
                Err(error) => changes.set_state(uri, Subscription::Refused(error.to_string())),
            }
        }
    }
}

/// The notifications of changed lists that a server offers.
fn lists(info: &ServerInfo) -> impl Iterator<Item = &'static str> + '_ {
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    lists.into_iter().filter(|(own, _)| info.announces_changes(own)).map(|(_, wanted)| wanted)
}
