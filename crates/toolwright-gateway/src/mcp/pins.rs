//! Approved definitions of tools of MCP servers, in the data folder: one file for each server, with the digest of each
//! tool. A tool is approved when it is seen for the first time; later changes are approved with `toolwright mcp
//! approve`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_mcp::DefinitionPins;
use toolwright_transport::private_file;

use super::config::PinMode;

/// The folder in the data folder.
const FOLDER: &str = "mcp-pins";

/// The file that is locked while approvals are written.
const LOCK: &str = ".lock";

/// The approved definitions of the tools of one server.
pub struct Pins {
    folder: PathBuf,
    server: String,
    mode: PinMode,
    /// Whether definitions that are seen for the first time are approved
    approves_new: bool,
    /// Tools of the last listing whose definitions have changed, and those that were blocked and are no longer listed
    changed: Mutex<BTreeSet<String>>,
}

impl Pins {
    /// Creates the pins of a server. The data folder need not exist.
    pub fn new(data: &Path, server: &str, mode: PinMode) -> Pins {
        Pins {
            folder: data.join(FOLDER),
            server: server.to_owned(),
            mode,
            approves_new: true,
            changed: Mutex::default(),
        }
    }

    /// Leaves the files as they are.
    #[must_use]
    pub fn read_only(mut self) -> Pins {
        self.approves_new = false;
        self
    }

    /// Approves definitions, given by name and digest. Returns the names of those that were not approved before.
    pub fn approve(&self, definitions: &[(String, String)]) -> io::Result<Vec<String>> {
        self.update(|approved| {
            let mut new = Vec::new();
            for (name, digest) in definitions {
                if approved.insert(name.clone(), digest.clone()).as_ref() != Some(digest) {
                    new.push(name.clone());
                }
            }
            new
        })
    }

    /// Returns the tools of the last listing whose definitions have changed, and those that were blocked and are no
    /// longer listed.
    pub fn changed_tools(&self) -> BTreeSet<String> {
        self.changed.lock().clone()
    }

    /// When the approvals were last written.
    pub fn modified(&self) -> Option<SystemTime> {
        fs::metadata(self.file()).and_then(|file| file.modified()).ok()
    }

    fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.server))
    }

    /// Reads the approved digests by the names of tools.
    fn read(&self) -> io::Result<BTreeMap<String, String>> {
        let text = match fs::read(self.file()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        let parsed = Json::parse_bytes(&text).ok();
        let tools = parsed.as_ref().and_then(|own| own.get("tools")).and_then(Json::as_object);
        let tools =
            tools.ok_or_else(|| io::Error::other("it does not have the form of approvals"))?;
        let digest =
            |(name, digest): (&str, &Json)| Some((name.to_owned(), digest.as_str()?.to_owned()));
        Ok(tools.iter().filter_map(digest).collect())
    }

    /// Changes the approvals; other processes wait meanwhile.
    fn update<T>(&self, change: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> io::Result<T> {
        private_file::create_folder(&self.folder)?;
        let guard = private_file::open(&self.folder.join(LOCK))?;
        guard.lock()?;
        let before = self.read()?;
        let mut approved = before.clone();
        let result = change(&mut approved);
        if approved != before {
            let mut tools = Object::new();
            for (name, digest) in approved {
                tools.insert(name, digest);
            }
            let text = Json::from(object! {"tools": tools}).pretty();
            let temporary = self.file().with_extension("new");
            private_file::replace(&self.file(), &temporary, text.as_bytes())?;
        }
        Ok(result)
    }

    /// Compares definitions with the approved ones, and approves those that are new.
    fn compare(&self, definitions: &[(String, String)]) -> io::Result<BTreeSet<String>> {
        let approved = self.read()?;
        let is_new = |(name, _): &&(String, String)| !approved.contains_key(name);
        if self.approves_new && definitions.iter().any(|own| is_new(&own)) {
            self.update(|approved| {
                for (name, digest) in definitions {
                    approved.entry(name.clone()).or_insert_with(|| digest.clone());
                }
            })?;
        }
        let is_changed = |(name, digest): &&(String, String)| {
            approved.get(name).is_some_and(|approved| approved != digest)
        };
        Ok(definitions.iter().filter(is_changed).map(|(name, _)| name.clone()).collect())
    }
}

impl DefinitionPins for Pins {
    fn changed(&self, definitions: &[(String, String)]) -> HashSet<String> {
        let changed = self.compare(definitions).unwrap_or_else(|error| {
            let (server, file) = (&self.server, self.file());
            tracing::warn!(
                "the approved tools of the MCP server `{server}` cannot be used: {}: {error}",
                file.display()
            );
            // What cannot be compared is not approved.
            let all = definitions.iter().map(|(name, _)| name.clone());
            if self.blocks() { all.collect() } else { BTreeSet::new() }
        });
        let mut known = self.changed.lock();
        for tool in changed.difference(&known) {
            let server = &self.server;
            let what = if self.blocks() { "It is blocked until" } else { "Check it, then" };
            tracing::warn!(
                "the MCP server `{server}` has changed the definition of {tool} since it was approved. {what}: \
                 toolwright mcp approve {server} {tool}"
            );
        }
        // A server does not lift a block by leaving the tool out for a while.
        let is_listed = |tool: &String| definitions.iter().any(|(name, _)| name == tool);
        known.retain(|tool| self.blocks() && !is_listed(tool));
        known.extend(changed.iter().cloned());
        changed.into_iter().collect()
    }

    fn blocks(&self) -> bool {
        self.mode == PinMode::Block
    }

    fn is_blocked(&self, tool: &str) -> bool {
        self.blocks() && self.changed.lock().contains(tool)
    }
}
