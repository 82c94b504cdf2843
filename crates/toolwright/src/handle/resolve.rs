//! Handles in arguments become the values they stand for, before the arguments are coerced and
//! checked, so that the check sees the values.
//!
//! A string that is a handle from its first character to its last is replaced, at any depth; a
//! handle that is mentioned within other text is text. What is put in is not searched for further
//! handles, so data cannot name other data.
//!
//! | the slot's schema | what goes in |
//! |---|---|
//! | has `"format": "handle"` | the handle itself: the tool asked for it |
//! | has `"contentEncoding": "base64"`, and bytes are kept | the bytes in base64 |
//! | anything else | the JSON value, strings included |

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::Json;
use toolwright_core::args::{Change, Op};
use toolwright_core::json::Path;
use toolwright_core::schema::Violation;

use super::preview::{cut, pieces, size};
use super::{Handle, HandleError, HandleStore, Kept, Owner, slot, weight};

/// The most bytes of memory that the handles of one call may bring in.
pub const RESOLVED_MAX: usize = 64 << 20;

/// A handle that could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct HandleFailure {
    /// JSON Pointer to it in the arguments
    pub path: String,
    /// Why
    pub error: HandleError,
    /// What the model reads: what happened and what to do
    pub text: String,
}

/// Puts the values in the place of handles. `schema` is the tool's own.
///
/// On failure nothing of the value is to be used: some handles may have been replaced.
pub fn resolve(
    value: &mut Json,
    schema: &Json,
    owner: &Owner,
    store: &dyn HandleStore,
) -> Result<Vec<Change>, HandleFailure> {
    let mut resolver = Resolver { schema, owner, store, room: RESOLVED_MAX, changes: Vec::new() };
    resolver.visit(value, &Path::ROOT)?;
    Ok(resolver.changes)
}

/// Whether values may stand elsewhere than where their handles stood.
pub(crate) fn has_moved(changes: &[Change]) -> bool {
    changes.iter().any(|change| matches!(change.op, Op::Unwrap | Op::Rename))
}

/// Takes out of violations what a model must not learn from them: values that came from a handle.
pub fn conceal(violations: &mut [Violation], changes: &[Change]) {
    let has_moved = has_moved(changes);
    for violation in violations {
        let concerns = |handle: &Change| has_moved || is_within(&violation.path, &handle.path);
        if handles(changes).any(concerns) {
            violation.got = None;
        }
    }
}

/// Whether a change has values that came from a handle.
pub(crate) fn shows(change: &Change, changes: &[Change]) -> bool {
    let has_moved = has_moved(changes);
    change.op != Op::Handle
        && handles(changes).any(|handle| {
            has_moved
                || is_within(&change.path, &handle.path)
                || is_within(&handle.path, &change.path)
        })
}

/// The changes that put a value in the place of a handle.
pub(crate) fn handles(changes: &[Change]) -> impl Iterator<Item = &Change> {
    changes.iter().filter(|change| change.op == Op::Handle)
}

fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

struct Resolver<'r> {
    schema: &'r Json,
    owner: &'r Owner,
    store: &'r dyn HandleStore,
    room: usize,
    changes: Vec<Change>,
}

impl Resolver<'_> {
    fn visit(&mut self, value: &mut Json, path: &Path<'_>) -> Result<(), HandleFailure> {
        match value {
            Json::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.visit(item, &path.index(index))?;
                }
            }
            Json::Object(object) => {
                for (key, member) in object.iter_mut() {
                    self.visit(member, &path.key(key))?;
                }
            }
            Json::String(text) => {
                let Ok(handle) = text.parse::<Handle>() else { return Ok(()) };
                let path = path.pointer();
                let found = self.find(&handle, &path);
                if let Some(found) = found.map_err(|(error, kept)| {
                    let text = explain(&handle, &path, error, kept.as_ref());
                    HandleFailure { path: path.clone(), error, text }
                })? {
                    let handle = std::mem::replace(value, found);
                    let change = Change { from: Some(handle), ..Change::new(path, Op::Handle) };
                    self.changes.push(change);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What goes into a slot; `None` if the handle stays.
    fn find(
        &mut self,
        handle: &Handle,
        path: &str,
    ) -> Result<Option<Json>, (HandleError, Option<Kept>)> {
        let slots = slot::at(self.schema, path);
        let asks = |keyword: &str, word: &str| {
            slots.iter().any(|slot| slot.get(keyword).and_then(Json::as_str) == Some(word))
        };
        if asks("format", "handle") {
            return Ok(None);
        }
        let kept = self.store.find(self.owner, handle.id).map_err(|error| (error, None))?;
        let found = match &kept {
            Kept::Json(value) => match value.pointer(&handle.pointer) {
                Some(piece) if self.has_room(weight(piece)) => Ok(piece.clone()),
                Some(_) => Err(HandleError::TooLarge),
                None => Err(HandleError::NoSuchPiece),
            },
            Kept::Bytes(blob) => {
                let is_whole = handle.pointer.is_empty();
                if !is_whole || !asks("contentEncoding", "base64") {
                    Err(HandleError::NotJson)
                } else if self.has_room(blob.bytes.len() / 3 * 4) {
                    Ok(Json::String(STANDARD.encode(&blob.bytes)))
                } else {
                    Err(HandleError::TooLarge)
                }
            }
        };
        found.map(Some).map_err(|error| (error, Some(kept)))
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let rest = self.room.checked_sub(bytes);
        self.room = rest.unwrap_or(0);
        rest.is_some()
    }
}

/// The words for the model.
fn explain(handle: &Handle, path: &str, error: HandleError, kept: Option<&Kept>) -> String {
    let mut text = String::new();
    if !path.is_empty() {
        let _ = write!(text, "At {}: ", cut(path, 200));
    }
    let id = handle.id;
    let _ = match (error, kept) {
        (HandleError::NoSuchPiece, Some(Kept::Json(value))) => {
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
        (HandleError::NotJson, Some(Kept::Bytes(blob))) => write!(
            text,
            "{id} stands for {} of {}, which has no pieces and can only be passed whole to a \
             parameter that takes base64 or a handle. Call a tool that reads such data.",
            size(blob.bytes.len()),
            blob.mime,
        ),
        (HandleError::TooLarge, _) => write!(
            text,
            "{id} brings more data than one call may have ({}). Pass a piece of it, by adding \
             a JSON Pointer such as \"{id}#/0\", or fewer handles in one call.",
            size(RESOLVED_MAX),
        ),
        (HandleError::Expired, _) => write!(
            text,
            "the data behind {id} is no longer kept. Call the tool that made it again, and pass \
             the handle that it returns.",
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

/// The deepest place on the way to a pointer, and what is there.
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
