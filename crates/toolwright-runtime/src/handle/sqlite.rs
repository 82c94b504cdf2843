//! Stores handles in a SQLite file, so that they survive a restart. Several processes may share it.
//!
//! A value is an entry of an [`ExpiringStore`], in the name of its tenant and under its id and
//! conversation. A second entry that lives longer tells an expired value from an unknown one, and has the size of the
//! value in memory.
//! Large values are encoded and decoded on a blocking thread.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::{Json, object};
use toolwright_json::MAX_DEPTH;

use super::{HandleError, HandleFuture, HandleId, HandleStore, HandleStoreError, Limits, Owner};
use crate::output::{Blob, Content};
use crate::store::expiring::{self, Entry, Outcome, Scope};
use crate::store::{ExpiringStore, StoreError};

/// The kind of the entries that hold values.
const VALUE: &str = "handle";
/// The kind of the entries that remember issued ids.
const ISSUED: &str = "handle-issued";
/// How long the id of a value is remembered, if its lifetime is shorter.
const REMEMBERED: Duration = Duration::from_hours(24);
/// Size in bytes from which a value is encoded and decoded on a blocking thread.
const BLOCKING_BYTES: usize = 64 << 10;
/// Copies of the stored form while a value is read: in the cache of SQLite, as an entry and as text.
const READ_COPIES: usize = 4;
/// Memory of a value as a multiple of its stored form, if the size in memory was not stored.
const UNKNOWN_GROWTH: usize = 20;
/// The version of the encoding.
const VERSION: u64 = 1;

/// A handle store in a SQLite file. The limits hold for each tenant.
pub struct SqliteHandles {
    store: Arc<ExpiringStore>,
    limits: Limits,
    report: Option<Report>,
}

type Report = Box<dyn Fn(&StoreError) + Send + Sync>;

impl SqliteHandles {
    /// Opens a store, or creates one that only its owner may read. The folder must exist.
    pub fn open(path: impl AsRef<Path>, limits: Limits) -> Result<SqliteHandles, StoreError> {
        let store = Arc::new(ExpiringStore::open(path)?);
        Ok(SqliteHandles { store, limits, report: None })
    }

    /// Sets a function that is called with every error of the file. The model reads only that the
    /// store failed.
    #[must_use]
    pub fn with_report(mut self, report: impl Fn(&StoreError) + Send + Sync + 'static) -> Self {
        self.report = Some(Box::new(report));
        self
    }

    async fn insert(
        &self,
        owner: &Owner,
        id: HandleId,
        value: Content,
    ) -> Result<(), HandleStoreError> {
        let name = name(owner, id);
        let limits = expiring::Limits {
            lifetime: self.limits.lifetime,
            bytes: self.limits.bytes,
            entries: self.limits.entries,
        };
        let encode = move |value: Content| {
            Ok::<_, HandleStoreError>((value.weight(), encode(&value, limits.bytes)?))
        };
        let (weight, value) = if is_large(&value) {
            let task = tokio::task::spawn_blocking(move || encode(value));
            task.await.map_err(|error| HandleStoreError::Failed(error.to_string()))??
        } else {
            encode(value)?
        };
        let issued = expiring::Limits {
            lifetime: limits.lifetime.saturating_mul(2).max(REMEMBERED),
            bytes: usize::MAX,
            entries: limits.entries.saturating_mul(2),
        };
        let weight = weight.to_string().into_bytes();
        let entry = Entry { name: name.clone(), aliases: Vec::new(), value: weight };
        // Without this entry an expired value is reported as unknown.
        self.store.put(&scope(owner, ISSUED), entry, issued, drop);
        let entry = Entry { name, aliases: Vec::new(), value };
        match self.store.commit(&scope(owner, VALUE), entry, limits).await {
            Ok(Outcome::Stored) => Ok(()),
            Ok(Outcome::TooLarge) => Err(HandleStoreError::Full),
            Err(error) => {
                self.report(&error);
                Err(HandleStoreError::Failed(error.to_string()))
            }
        }
    }

    async fn get(&self, owner: &Owner, id: HandleId) -> Result<Content, HandleError> {
        let name = name(owner, id);
        let unavailable = |error: StoreError| {
            self.report(&error);
            HandleError::Unavailable
        };
        match self.store.get(&scope(owner, VALUE), &name).await.map_err(unavailable)? {
            Some(value) => decode(value).await,
            None => match self.store.peek(&scope(owner, ISSUED), &name).await {
                Ok(Some(_)) => Err(HandleError::Expired),
                Ok(None) => Err(HandleError::Unknown),
                Err(error) => Err(unavailable(error)),
            },
        }
    }

    fn report(&self, error: &StoreError) {
        if let Some(report) = &self.report {
            report(error);
        }
    }
}

impl HandleStore for SqliteHandles {
    fn put_as<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
        value: Content,
    ) -> HandleFuture<'a, Result<(), HandleStoreError>> {
        Box::pin(self.insert(owner, id, value))
    }

    fn size<'a>(&'a self, owner: &'a Owner, id: HandleId) -> HandleFuture<'a, usize> {
        Box::pin(async move {
            let name = name(owner, id);
            let size = self.store.size(&scope(owner, VALUE), &name).await;
            let size = size.inspect_err(|error| self.report(error)).unwrap_or_default();
            if size == 0 {
                return 0;
            }
            let weight = self.store.peek(&scope(owner, ISSUED), &name).await.ok().flatten();
            let weight = weight.and_then(|text| String::from_utf8(text).ok()?.parse().ok());
            let weight = weight.unwrap_or(size.saturating_mul(UNKNOWN_GROWTH));
            size.saturating_mul(READ_COPIES).saturating_add(weight)
        })
    }

    fn find<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
    ) -> HandleFuture<'a, Result<Content, HandleError>> {
        Box::pin(self.get(owner, id))
    }
}

impl fmt::Debug for SqliteHandles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SqliteHandles")
            .field("store", &self.store)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

fn scope(owner: &Owner, kind: &'static str) -> Scope {
    Scope { owner: owner.tenant.clone(), kind }
}

/// The name of an entry. Ids have a fixed length, so no two owners share a name.
fn name(owner: &Owner, id: HandleId) -> String {
    format!("{id}/{}", owner.conversation)
}

/// Whether a value is large enough for a blocking thread. Looks at no more of it than that takes.
fn is_large(value: &Content) -> bool {
    fn takes(value: &Json, left: &mut usize) -> bool {
        let own = size_of::<Json>()
            + match value {
                Json::String(text) => text.len(),
                Json::Object(object) => object.keys().map(str::len).sum(),
                _ => 0,
            };
        *left = left.saturating_sub(own);
        *left == 0
            || match value {
                Json::Array(items) => items.iter().any(|item| takes(item, left)),
                Json::Object(object) => object.iter().any(|(_, item)| takes(item, left)),
                _ => false,
            }
    }
    match value {
        Content::Json(value) => takes(value, &mut { BLOCKING_BYTES }),
        Content::Bytes(_) | Content::Media(_) => value.weight() >= BLOCKING_BYTES,
    }
}

/// A value as bytes: a line of JSON that describes it, and the value.
fn encode(value: &Content, limit: usize) -> Result<Vec<u8>, HandleStoreError> {
    // JSON text is seldom less than half of the size in memory.
    if value.weight() > limit.saturating_mul(2) {
        return Err(HandleStoreError::Full);
    }
    let (mime, text, bytes) = match value {
        Content::Json(value) if value.is_deeper_than(MAX_DEPTH) => {
            // It could not be read again.
            return Err(HandleStoreError::Failed("the value is nested too deeply".to_owned()));
        }
        Content::Json(value) => (None, value.compact(), &[][..]),
        Content::Bytes(blob) => (Some(blob.mime.as_str()), String::new(), &*blob.bytes),
        media @ Content::Media(_) => return encode(&media.clone().without_media(), limit),
    };
    let mut out = object! {"version": VERSION, "mime": mime}.compact().into_bytes();
    out.push(b'\n');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(bytes);
    Ok(out)
}

async fn decode(bytes: Vec<u8>) -> Result<Content, HandleError> {
    if bytes.len() < BLOCKING_BYTES {
        return read(&bytes).ok_or(HandleError::Unavailable);
    }
    let task = tokio::task::spawn_blocking(move || read(&bytes));
    task.await.ok().flatten().ok_or(HandleError::Unavailable)
}

/// Reads what [`encode`] wrote; `None` if it is damaged or of a later version.
fn read(bytes: &[u8]) -> Option<Content> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, body) = (&bytes[..end], &bytes[end + 1..]);
    let head = Json::parse(std::str::from_utf8(head).ok()?).ok()?;
    if head.get("version") != Some(&Json::from(VERSION)) {
        return None;
    }
    Some(match head.get("mime").and_then(Json::as_str) {
        Some(mime) => Content::Bytes(Blob { mime: mime.to_owned(), bytes: body.into() }),
        None => Content::json(Json::parse(std::str::from_utf8(body).ok()?).ok()?),
    })
}
