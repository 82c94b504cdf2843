//! The JSON form of the answer to an approval.

use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::object;
use toolwright_json::Object;

use super::super::{ApprovalEntry, Kind, time};
use super::{read_caller, read_time};

impl ApprovalEntry {
    pub(super) fn to_json(&self) -> Object {
        let mut out = object! {
            "kind": Kind::Approval.word(),
            "time": time::write(self.time),
            "run": &*self.run,
            "caller": &*self.caller.id,
            "tenant": &*self.caller.tenant,
            "approval": &*self.approval,
            "tool": &*self.tool,
        };
        out.insert_some("conversation", self.conversation.as_deref());
        out.push("approved", self.approved);
        out
    }

    pub(super) fn read(fields: ObjectReader<'_>) -> Result<ApprovalEntry, DocumentError> {
        Ok(ApprovalEntry {
            time: read_time(fields)?,
            run: fields.text("run")?.into(),
            caller: read_caller(fields)?,
            approval: fields.text("approval")?.into(),
            tool: fields.text("tool")?.into(),
            conversation: fields.owned("conversation")?,
            approved: fields.flag("approved")?,
        })
    }
}
