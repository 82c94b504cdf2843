//! The members of a Responses request that refer to stored state.

pub mod fault;

use bytes::Bytes;
use toolwright_core::json::{Member, skim};
use toolwright_core::{Dialect, Fault};
use toolwright_runtime::upstream::Remote;

/// The references of a request to stored state, and after [`resolve`](crate::responses::resolve) those that
/// only an upstream can resolve. Empty for other dialects.
#[derive(Debug, Default)]
pub struct StateReferences {
    /// Whether the response is to be stored
    pub store: bool,
    /// The `input` of this request, as JSON, with references replaced
    pub input: Bytes,
    /// The id of the previous response
    pub previous: Option<String>,
    /// Whether the input may contain references
    pub may_refer: bool,
    /// Whether resolving references changed the body
    pub edited: bool,
    /// A member that only an upstream of the same dialect supports
    upstream_only: Option<&'static str>,
    /// Whether unknown ids may be the vendor's: the gateway has no keys, and so one client
    open: bool,
    /// Upstreams that have referenced state, with the fault for any other
    elsewhere: Vec<(String, Fault)>,
    /// The fault of an unknown reference
    missing: Option<Fault>,
}

/// The members of a body that refer to state.
pub struct Members<'b> {
    /// `input`
    pub input: Option<Member<'b>>,
    /// `previous_response_id`
    pub previous: Option<Member<'b>>,
    /// `store`
    pub store: Option<Member<'b>>,
    /// `background`
    pub background: Option<Member<'b>>,
    /// `conversation`
    pub conversation: Option<Member<'b>>,
    /// `prompt`
    pub prompt: Option<Member<'b>>,
}

impl StateReferences {
    /// Reads the members of a body of the Responses API.
    pub fn read(body: &Bytes, members: &Members<'_>, open: bool) -> Result<StateReferences, Fault> {
        let previous = match present(members.previous.as_ref()) {
            None => None,
            Some(member) => Some(member.as_str().map(Into::into).ok_or_else(|| {
                fault::invalid("previous_response_id", "`previous_response_id` must be a string.")
            })?),
        };
        let flag = |member: Option<&Member<'_>>, name, default| match present(member) {
            None => Ok(default),
            Some(member) => member
                .as_bool()
                .ok_or_else(|| fault::invalid(name, format!("`{name}` must be true or false."))),
        };
        let store = flag(members.store.as_ref(), "store", true)?;
        let background = flag(members.background.as_ref(), "background", false)?;
        if previous.is_some() && present(members.conversation.as_ref()).is_some() {
            let message = "Mutually exclusive parameters: use either `previous_response_id` or \
                           `conversation`.";
            return Err(fault::invalid("previous_response_id", message));
        }
        let upstream_only = [
            ("background", background),
            ("conversation", present(members.conversation.as_ref()).is_some()),
            ("prompt", present(members.prompt.as_ref()).is_some()),
        ];
        let upstream_only = upstream_only.into_iter().find_map(|(name, is)| is.then_some(name));
        let (input, may_refer) = match &members.input {
            Some(input) => (body.slice(input.span()), has_references(body, input.text())),
            None => (Bytes::from_static(b"[]"), false),
        };
        Ok(StateReferences {
            store,
            input,
            previous,
            may_refer,
            upstream_only,
            open,
            ..StateReferences::default()
        })
    }

    /// Records a reference that only the named upstream can resolve.
    pub(crate) fn needs(&mut self, upstream: String, otherwise: Fault) {
        self.elsewhere.push((upstream, otherwise));
    }

    /// Records a reference that cannot be resolved.
    pub(crate) fn misses(&mut self, fault: Fault) {
        self.missing.get_or_insert(fault);
    }

    /// Checks that the answering side can resolve every reference of the request. `remote` is the
    /// upstream, or `None` if the gateway answers itself; `untouched` says whether the upstream gets
    /// the bytes as they came.
    pub fn check(&self, remote: Option<&Remote>, untouched: bool) -> Result<(), Fault> {
        let remote = remote.filter(|own| own.codec().dialect() == Dialect::OpenaiResponses);
        if let Some(field) = self.upstream_only.filter(|_| !untouched) {
            return Err(fault::unsupported(field));
        }
        // With the gateway's credential, an upstream would return state of other clients.
        let asks_for_itself = |own: &Remote| self.open || own.wants_client_credential();
        if let Some(missing) = &self.missing
            && !remote.is_some_and(asks_for_itself)
        {
            return Err(missing.clone());
        }
        let id = remote.map(Remote::id);
        match self.elsewhere.iter().find(|(upstream, _)| id != Some(upstream)) {
            Some((_, otherwise)) => Err(otherwise.clone()),
            None => Ok(()),
        }
    }
}

/// Returns a member that is present and not null.
fn present<'m, 'b>(member: Option<&'m Member<'b>>) -> Option<&'m Member<'b>> {
    member.filter(|member| member.text() != "null")
}

/// Whether the input of a request may contain references.
fn has_references(body: &[u8], input: &str) -> bool {
    input.contains("item_reference") || (input.contains("\"id\"") && has_bare_id(body))
}

/// Whether an item has only an id, which makes it a reference without a type.
fn has_bare_id(body: &[u8]) -> bool {
    let mut found = false;
    let walked = skim(body, |key, value| match key {
        "input" => value.items(|item| {
            let (mut has_id, mut has_more) = (false, false);
            item.members(|key, value| {
                has_id |= key == "id" && value.is_text();
                has_more |= key != "id" && !(key == "type" && value.is_null());
                Ok(())
            })?;
            found |= has_id && !has_more;
            Ok(())
        }),
        _ => Ok(()),
    });
    walked.is_ok() && found
}
