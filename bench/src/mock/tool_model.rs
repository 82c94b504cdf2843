//! A model that calls the offered tool once, and then reports the outcome of the call. Every reply
//! has its own call id and text, as those of a real model do.

use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memmem;
use serde_json::{Value, json};

use super::wire::{Encoded, Wire};
use crate::nonce::Nonce;

/// The file that `write_file` appends to.
pub(crate) const EFFECTS: &str = "effects";
/// The reply of the chaos run's `git` to `git rev-parse`.
pub(crate) const COMMIT: &str = "1234567";

/// One reply of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Turn {
    /// Calls a tool
    Call { id: String, tool: &'static str, arguments: Value },
    /// Returns a text and stops
    Say(String),
}

/// The reply to a request.
pub(super) fn answer(wire: Wire, body: &[u8], streams: bool) -> Encoded {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Another process starts with other numbers.
    let number = u64::from(std::process::id()) * 1_000_000 + number;
    wire.encode(&turn(wire, body, number), streams)
}

fn turn(wire: Wire, body: &[u8], number: u64) -> Turn {
    let contains = |text: &str| memmem::find(body, text.as_bytes()).is_some();
    let nonce = Nonce::find(body).unwrap_or(Nonce::new(0));
    let nonce = String::from_utf8_lossy(nonce.digits()).into_owned();
    let id = format!("call_{number}");
    if contains(wire.outcome_mark()) {
        let end = if contains("it is unknown whether") {
            "unknown"
        } else if contains("Wrote ") || contains(COMMIT) || contains("listed.txt") {
            "done"
        } else {
            "failed"
        };
        return Turn::Say(format!("nonce-{nonce} {end}, in words {number}."));
    }
    let line = format!("nonce-{nonce} in words {number}");
    if contains("\"write_file\"") {
        let arguments = json!({"path": EFFECTS, "content": format!("{line}\n"), "mode": "append"});
        Turn::Call { id, tool: "write_file", arguments }
    } else if contains("\"git_commit\"") {
        Turn::Call { id, tool: "git_commit", arguments: json!({"message": line}) }
    } else if contains("\"list_files\"") {
        Turn::Call { id, tool: "list_files", arguments: json!({}) }
    } else {
        Turn::Say(format!("nonce-{nonce} done, in words {number}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_called_once_and_then_reported() {
        let ask = br#"{"tools":[{"name":"write_file"}],"content":"nonce-00000000000000ab"}"#;
        let Turn::Call { tool, arguments, .. } = turn(Wire::Anthropic, ask, 7) else {
            panic!("no call");
        };
        assert_eq!(tool, "write_file");
        assert_eq!(arguments["content"], "nonce-00000000000000ab in words 7\n");
        for (outcome, word) in [("Wrote 9 bytes", "done"), ("it is unknown whether", "unknown")] {
            let told = format!(r#"nonce-00000000000000ab,"tool_result","{outcome}","write_file""#);
            let said = format!("nonce-00000000000000ab {word}, in words 8.");
            assert_eq!(turn(Wire::Anthropic, told.as_bytes(), 8), Turn::Say(said));
        }
    }
}
