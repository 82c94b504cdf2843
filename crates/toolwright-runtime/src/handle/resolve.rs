//! Replaces handles in arguments by their values, before the arguments are coerced and checked.
//!
//! A string that consists of a handle is replaced, at any depth; a handle within other text stays.
//! Values are not searched for further handles, so data cannot refer to other data.
//!
//! | schema of the argument | value |
//! |---|---|
//! | has `"format": "handle"` | the handle itself |
//! | has `"contentEncoding": "base64"`, and the value is bytes | the bytes in base64 |
//! | anything else | the JSON value, strings included |
//!
//! A host may set another form for a parameter ([`ValueForm`]).

use std::collections::HashMap;
use std::fmt::Write;

use toolwright_core::Json;
use toolwright_core::args::{Change, Op};
use toolwright_core::schema::{Violation, schemas_at};
use toolwright_json::Path;
use toolwright_json::pointer::segments;

use super::form::convert;
use super::preview::{cut, pieces, size};
use super::{Handle, HandleError, HandleId, HandleStore, Owner};
use crate::output::Content;
use crate::settings::ValueForm;

/// Maximum number of bytes in memory that the handles of one call may resolve to.
pub const RESOLVED_MAX: usize = 64 << 20;

/// A handle that could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
#[non_exhaustive]
pub struct HandleFailure {
    /// JSON Pointer to the handle in the arguments
    pub path: String,
    /// Why
    pub error: HandleError,
    /// The message for the model: what happened, and the remedy
    pub text: String,
}

/// Replaces handles by their values. `schema` is that of the tool.
///
/// After an error the arguments must not be used, because some handles may have been replaced.
pub async fn resolve(
    value: &mut Json,
    schema: &Json,
    owner: &Owner,
    store: &dyn HandleStore,
) -> Result<Vec<Change>, HandleFailure> {
    resolve_as(value, schema, &[], owner, store).await
}

/// Does what [`resolve`] does, with the forms of parameters.
pub async fn resolve_as(
    value: &mut Json,
    schema: &Json,
    forms: &[(String, ValueForm)],
    owner: &Owner,
    store: &dyn HandleStore,
) -> Result<Vec<Change>, HandleFailure> {
    let mut sites = Vec::new();
    collect(value, &Path::ROOT, &mut sites);
    let mut resolver = Resolver { schema, forms, owner, store, last: None, room: RESOLVED_MAX };
    let mut changes = Vec::with_capacity(sites.len());
    for (index, Site { value, handle, path }) in grouped(sites) {
        let found = resolver.find(&handle, &path).await.map_err(|(error, kept)| {
            let text = explain(&handle, &path, error, kept.as_ref());
            HandleFailure { path: path.clone(), error, text }
        })?;
        if let Some(found) = found {
            let handle = std::mem::replace(value, found);
            changes.push((index, Change { from: Some(handle), ..Change::new(path, Op::Handle) }));
        }
    }
    changes.sort_by_key(|(index, _)| *index);
    Ok(changes.into_iter().map(|(_, change)| change).collect())
}

/// The sites with their indices, those of the same value after each other: a model may refer to a large
/// value many times, and the store reads it once.
fn grouped(sites: Vec<Site<'_>>) -> Vec<(usize, Site<'_>)> {
    let mut first = HashMap::new();
    for (index, site) in sites.iter().enumerate() {
        first.entry(site.handle.id).or_insert(index);
    }
    let mut sites: Vec<_> = sites.into_iter().enumerate().collect();
    sites.sort_by_key(|(_, site)| first.get(&site.handle.id).copied());
    sites
}

/// Returns the handles in arguments, each with its JSON Pointer.
pub fn find(arguments: &Json) -> Vec<(String, Handle)> {
    let (mut arguments, mut sites) = (arguments.clone(), Vec::new());
    collect(&mut arguments, &Path::ROOT, &mut sites);
    sites.into_iter().map(|site| (site.path, site.handle)).collect()
}

/// A handle in the arguments.
struct Site<'v> {
    value: &'v mut Json,
    handle: Handle,
    path: String,
}

/// Finds the handles in a value, in their order.
fn collect<'v>(value: &'v mut Json, path: &Path<'_>, sites: &mut Vec<Site<'v>>) {
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                collect(item, &path.index(index), sites);
            }
        }
        Json::Object(object) => {
            for (key, member) in object.iter_mut() {
                collect(member, &path.key(key), sites);
            }
        }
        Json::String(text) => {
            if let Ok(handle) = text.parse::<Handle>() {
                sites.push(Site { value, handle, path: path.pointer() });
            }
        }
        _ => {}
    }
}

/// Whether coercion may have moved values that came from handles.
pub fn has_moved(changes: &[Change]) -> bool {
    changes.iter().any(|change| matches!(change.op, Op::Unwrap | Op::Rename))
}

/// Removes values that came from a handle from violations, which the model reads.
pub fn conceal(violations: &mut [Violation], changes: &[Change]) {
    let has_moved = has_moved(changes);
    for violation in violations {
        let concerns = |handle: &Change| has_moved || is_within(&violation.path, &handle.path);
        if handles(changes).any(concerns) {
            violation.got = None;
        }
    }
}

/// Whether a change contains a value that came from a handle.
pub fn shows(change: &Change, changes: &[Change]) -> bool {
    let has_moved = has_moved(changes);
    change.op != Op::Handle
        && handles(changes).any(|handle| {
            has_moved
                || is_within(&change.path, &handle.path)
                || is_within(&handle.path, &change.path)
        })
}

/// Returns the changes that replaced a handle by a value.
pub fn handles(changes: &[Change]) -> impl Iterator<Item = &Change> {
    changes.iter().filter(|change| change.op == Op::Handle)
}

fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

struct Resolver<'r> {
    schema: &'r Json,
    forms: &'r [(String, ValueForm)],
    owner: &'r Owner,
    store: &'r dyn HandleStore,
    /// The value that was read last
    last: Option<(HandleId, Content)>,
    room: usize,
}

impl Resolver<'_> {
    /// Returns the value for an argument; `None` if the handle stays.
    async fn find(
        &mut self,
        handle: &Handle,
        path: &str,
    ) -> Result<Option<Json>, (HandleError, Option<Content>)> {
        let schemas = schemas_at(self.schema, path);
        let asks = |keyword: &str, word: &str| {
            schemas.iter().any(|schema| schema.get(keyword).and_then(Json::as_str) == Some(word))
        };
        if asks("format", "handle") {
            return Ok(None);
        }
        let kept = self.read(handle.id).await.map_err(|error| (error, None))?;
        let parameter = segments(path).next().unwrap_or_default();
        let form = self.forms.iter().find(|(name, _)| *name == parameter).map(|(_, form)| *form);
        let is_encoded = matches!(kept, Content::Bytes(_)) && asks("contentEncoding", "base64");
        let usual = if is_encoded { ValueForm::Base64 } else { ValueForm::Json };
        let has_room = |bytes| self.has_room(bytes);
        let found = convert(&kept, &handle.pointer, form.unwrap_or(usual), has_room);
        found.map(Some).map_err(|error| (error, Some(kept)))
    }

    async fn read(&mut self, id: HandleId) -> Result<Content, HandleError> {
        if let Some((last, value)) = &self.last
            && *last == id
        {
            return Ok(value.clone());
        }
        let value = self.store.find(self.owner, id).await?;
        self.last = Some((id, value.clone()));
        Ok(value)
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let rest = self.room.checked_sub(bytes);
        self.room = rest.unwrap_or(0);
        rest.is_some()
    }
}

/// Writes the message for the model.
fn explain(handle: &Handle, path: &str, error: HandleError, kept: Option<&Content>) -> String {
    let mut text = String::new();
    if !path.is_empty() {
        let _ = write!(text, "At {}: ", cut(path, 200));
    }
    let id = handle.id;
    let _ = match (error, kept) {
        (HandleError::NoSuchPiece, Some(Content::Json(value))) => {
            let (found, piece) = nearest(value, &handle.pointer);
            let place = if found.is_empty() {
                "its top".to_owned()
            } else {
                format!("#{}", cut(found, 120))
            };
            write!(
                text,
                "{id} has nothing at #{}: at {place} there is {}. Pass a pointer that exists, or \
                 the handle without one for the whole.",
                cut(&handle.pointer, 120),
                pieces(piece),
            )
        }
        (HandleError::NotJson, Some(Content::Bytes(blob))) => write!(
            text,
            "{id} stands for {} of {}, which has no pieces and can only be passed whole to a \
             parameter that takes base64 or a handle. Call a tool that reads such data.",
            size(blob.bytes.len()),
            blob.mime,
        ),
        (HandleError::NotText, Some(Content::Bytes(blob))) => write!(
            text,
            "{id} stands for {} of {}, which is not text. Call a tool that reads such data.",
            size(blob.bytes.len()),
            blob.mime,
        ),
        (HandleError::TooLarge, _) => write!(
            text,
            "{id} refers to more data than one call may have ({}). Pass a piece of it, by adding \
             a JSON Pointer such as \"{id}#/0\", or fewer handles in one call.",
            size(RESOLVED_MAX),
        ),
        (HandleError::Expired, _) => write!(
            text,
            "the data behind {id} is no longer kept. Call the tool that made it again, and pass \
             the handle that it returns.",
        ),
        (HandleError::Unavailable, _) => write!(
            text,
            "the data behind {id} cannot be read now. Call the tool that made it again, or continue \
             without it.",
        ),
        _ => write!(
            text,
            "there is no data under {id} here. A handle works only in the conversation in which \
             a tool returned it, and must be copied exactly. Pass a handle from an earlier result \
             of this conversation, or call the tool that makes the data and pass the handle that \
             it returns.",
        ),
    };
    text
}

/// Returns the longest prefix of a pointer that leads to a value, and that value.
fn nearest<'j>(value: &'j Json, pointer: &'j str) -> (&'j str, &'j Json) {
    let mut end = pointer.len();
    while let Some(start) = pointer[..end].rfind('/') {
        if let Some(piece) = value.pointer(&pointer[..start]) {
            return (&pointer[..start], piece);
        }
        end = start;
    }
    ("", value)
}
