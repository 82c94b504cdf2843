//! Assigns fragments to calls, however a vendor numbers them.
//!
//! OpenAI gives each call an index and interleaves fragments. Ollama repeats index 0 for every call
//! or omits it, vLLM repeats the id on every fragment, others send neither (case 5).

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::{Event, Extra};
use toolwright_json::{Json, Object, Path};

use crate::codec::{Fields, Result};
use crate::dialect::openai_chat::{Quirks, wire};

/// The calls that have begun.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Open>);

#[derive(Debug)]
struct Open {
    /// The vendor's index
    key: Option<u64>,
    id: Option<String>,
    name: String,
    /// The canonical index
    index: usize,
    closed: bool,
    /// Extra fields of later fragments
    extra: Extra,
}

/// One element of `delta.tool_calls`.
#[derive(Debug)]
pub(super) struct Fragment {
    key: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    text: String,
    free: bool,
    extra: Extra,
}

impl Calls {
    /// Returns the call that a fragment continues: the latest with its id, or else with its index,
    /// or else the last. Another id, or a name if the call is complete or has another, begins a new
    /// call.
    pub(super) fn place(&self, fragment: &Fragment, emit: &Emitter) -> Option<usize> {
        let is_index = |open: &Open| fragment.key.is_none() || open.key == fragment.key;
        let is_id = |open: &Open| fragment.id.is_some() && open.id == fragment.id;
        let same = self.0.iter().rposition(|open| is_id(open) && is_index(open));
        if same.is_some() {
            return same;
        }
        let at = self.0.iter().rposition(is_index)?;
        let open = &self.0[at];
        let other_id = fragment.id.is_some() && open.id.is_some();
        let other_name = fragment
            .named()
            .is_some_and(|name| name != open.name || open.closed || emit.is_complete(open.index));
        (!other_id && !other_name).then_some(at)
    }

    /// Begins a call; an error says what is wrong.
    pub(super) fn begin(
        &mut self,
        fragment: Fragment,
        emit: &mut Emitter,
        out: &mut Vec<Event>,
    ) -> Result<(), &'static str> {
        let Fragment { key, id, name, text, free, extra } = fragment;
        let name = name.ok_or("a call without a name")?;
        let head = Head::Call { id: id.clone(), name: name.clone(), free };
        if let Some(index) = emit.open(head, extra, out) {
            emit.delta(index, Delta::Arguments(text), out);
            self.0.push(Open { key, id, name, index, closed: false, extra: Extra::NONE });
        }
        Ok(())
    }

    /// Continues a call; an error says what is wrong.
    pub(super) fn grow(
        &mut self,
        at: usize,
        fragment: Fragment,
        emit: &mut Emitter,
        out: &mut Vec<Event>,
    ) -> Result<(), &'static str> {
        let open = &mut self.0[at];
        if open.closed && !fragment.text.trim().is_empty() {
            return Err("a fragment of a call that is complete");
        }
        open.extra.update(fragment.extra);
        emit.delta(open.index, Delta::Arguments(fragment.text), out);
        Ok(())
    }

    /// Ends the complete calls, because another part begins.
    pub(super) fn close_complete(&mut self, emit: &mut Emitter, out: &mut Vec<Event>) {
        for open in &mut self.0 {
            if emit.is_complete(open.index) {
                open.close(emit, out);
            }
        }
    }

    /// Ends all calls.
    pub(super) fn close(&mut self, emit: &mut Emitter, out: &mut Vec<Event>) {
        for open in &mut self.0 {
            open.close(emit, out);
        }
    }
}

impl Open {
    fn close(&mut self, emit: &mut Emitter, out: &mut Vec<Event>) {
        let extra = std::mem::replace(&mut self.extra, Extra::NONE);
        emit.close(self.index, Tail { extra, ..Tail::default() }, out);
        self.closed = true;
    }
}

impl Fragment {
    /// Returns its name, unless that is empty: some vendors send an empty one in every fragment.
    fn named(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| !name.is_empty())
    }

    /// Whether this fragment is empty and can be ignored.
    pub(super) fn is_silent(&self) -> bool {
        self.id.is_none() && self.named().is_none() && self.text.trim().is_empty()
    }

    /// Decodes an element of `tool_calls`.
    pub(super) fn decode(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Fragment> {
        let mut outer = Fields::new(wire, path, quirks.dialect)?;
        let key = outer.u64("index")?;
        // Some vendors send a placeholder if there is no id.
        let id = outer.string("id")?.filter(|id| !matches!(id.as_str(), "" | "null"));
        let free = outer.peek("custom").is_some() || outer.tag("type") == Some("custom");
        let (kind, text) = if free { ("custom", "input") } else { ("function", "arguments") };
        outer.take("type");
        let inner = outer.take(kind).unwrap_or_else(|| Object::new().into());
        let inner = Fields::new(inner, path.key(kind), quirks.dialect)?;
        let own = Fragment::inner(inner, text)?;
        Ok(Fragment { key, id, free, extra: wire::beside(own.extra, outer, quirks), ..own })
    }

    /// Decodes the legacy `function_call`, which has neither index nor id.
    pub(super) fn decode_legacy(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Fragment> {
        let mut own = Fragment::inner(Fields::new(wire, path, quirks.dialect)?, "arguments")?;
        if own.named().is_some() {
            own.extra.insert(quirks.dialect, wire::LEGACY, true);
        }
        Ok(own)
    }

    fn inner(mut inner: Fields<'_>, text: &'static str) -> Result<Fragment> {
        let name = inner.string("name")?;
        let text = match inner.take(text) {
            None => String::new(),
            Some(Json::String(text)) => text.into_string(),
            Some(value) => value.compact(),
        };
        Ok(Fragment { key: None, id: None, name, text, free: false, extra: inner.into_extra() })
    }
}
