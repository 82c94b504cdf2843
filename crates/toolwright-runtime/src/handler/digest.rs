//! The digest of a tool, by which a changed tool is recognized.

use std::fmt;

use toolwright_core::{Json, Tool, ToolKind, object};
use toolwright_json::{Object, canonical};

use crate::settings::{Fill, Settings};

/// The BLAKE3 digest of a tool: its name, its descriptions, all parameters including hidden ones, the
/// schema of its result, its version and its effect. Display writes it as 64 hexadecimal digits.
///
/// It is the same in every process and for every order of the keys of a schema. Settings that do not
/// change what a call does (deadline, retries, cache, limits, budget, envelope) are not part of it, and
/// neither are the values of secrets.
///
/// ```
/// # extern crate toolwright_runtime as toolwright;
/// use toolwright::{Handler, Json, Output, Tool};
///
/// let pay = |schema: Json| {
///     Handler::new(Tool::function("pay", schema), |_, _| async { Ok(Output::text("paid")) })
/// };
/// let one = pay(Json::parse(r#"{"type": "object", "title": "Payment"}"#)?);
/// let other = pay(Json::parse(r#"{"title": "Payment", "type": "object"}"#)?);
/// assert_eq!(one.digest(), other.digest());
/// assert_ne!(one.digest(), other.with_version("2").digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolDigest([u8; 32]);

impl ToolDigest {
    pub(super) fn new(tool: &Tool, settings: &Settings) -> ToolDigest {
        let (kind, input) = match &tool.kind {
            ToolKind::Function(schema) => ("function", schema.clone()),
            ToolKind::Custom(format) => ("custom", format.clone()),
            ToolKind::Hosted(definition) => ("hosted", Some(definition.clone())),
        };
        let definition = object! {
            "name": tool.name.as_str(),
            "title": tool.title.as_deref(),
            "description": tool.description.as_deref(),
            "kind": kind,
            "input": input,
            "output": tool.output.clone(),
            "examples": tool.examples.clone(),
            "annotations": tool.annotations.clone(),
            "version": settings.version.as_deref(),
            "effect": settings.effect.name(),
            "hidden": hidden(settings),
        };
        ToolDigest(*blake3::hash(canonical(&definition).as_bytes()).as_bytes())
    }

    /// Returns the bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The hidden parameters and the source of their values. A constant decides what a call does; a secret
/// may be rotated without a change of the tool.
fn hidden(settings: &Settings) -> Object {
    let mut hidden: Object =
        settings.hidden.iter().map(|name| (name.clone().into(), Json::Null)).collect();
    for (name, fill) in &settings.fills {
        let source = match fill {
            Fill::Constant(value) => object! {"constant": value.clone()},
            Fill::Secret(_) => object! {"from": "secret"},
            Fill::Caller => object! {"from": "caller"},
            Fill::Tenant => object! {"from": "tenant"},
            Fill::Slot(fill) => object! {"slot": fill.slot.as_str()},
        };
        hidden.insert(name.clone(), source);
    }
    hidden
}

impl fmt::Display for ToolDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ToolDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ToolDigest({self})")
    }
}
