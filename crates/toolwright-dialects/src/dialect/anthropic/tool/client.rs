//! Tools that Anthropic defines by a dated type and that the client runs: a shell, an editor, a memory and
//! a screen. Their calls and results are those of any tool. For a model of another vendor they are
//! functions with the input that Claude writes.

use toolwright_core::Tool;
use toolwright_json::{Json, Path};

use super::super::wire::{CLIENT, DIALECT};
use crate::codec::{Fields, Result};

/// A tool, of all dates or of one.
#[derive(Debug)]
pub(super) struct ClientTool {
    /// The type, without a date if it is the same for all
    kind: &'static str,
    description: &'static str,
    /// The JSON Schema of its input
    schema: &'static str,
}

/// The tools with documented input. An entry with a date precedes those without.
const CLIENT_TOOLS: [ClientTool; 7] = [
    ClientTool {
        kind: "bash_",
        description: "Runs commands in a bash session on the user's machine. The session keeps its state \
            between calls.",
        schema: BASH,
    },
    ClientTool { kind: "text_editor_20241022", description: EDITOR, schema: EDITOR_WITH_UNDO },
    ClientTool { kind: "text_editor_20250124", description: EDITOR, schema: EDITOR_WITH_UNDO },
    ClientTool { kind: "text_editor_", description: EDITOR, schema: EDITOR_INPUT },
    ClientTool {
        kind: "memory_",
        description: "Keeps notes for later conversations as files below `/memories`. View that directory \
            before other work.",
        schema: MEMORY,
    },
    ClientTool { kind: "computer_20241022", description: COMPUTER, schema: COMPUTER_FIRST },
    ClientTool { kind: "computer_", description: COMPUTER, schema: COMPUTER_INPUT },
];

const BASH: &str = r#"{"type":"object","properties":{
    "command":{"type":"string","description":"The command to run. Required unless `restart` is true."},
    "restart":{"type":"boolean","description":"Whether to restart the session."}}}"#;

const EDITOR: &str = "Views, creates and edits text files on the user's machine. `view` shows a file with line \
    numbers or lists a directory; `create` writes a whole file; `str_replace` replaces a text that occurs \
    exactly once; `insert` adds text after a line.";

// The inserted text is `insert_text`, as models write it since April 2025 (anthropic-sdk-python
// #1155).
const EDITOR_INPUT: &str = r#"{"type":"object","properties":{
    "command":{"type":"string","enum":["view","create","str_replace","insert"]},
    "path":{"type":"string","description":"Absolute path of a file or directory."},
    "view_range":{"type":"array","items":{"type":"integer"},"description":"For `view` of a file: the first and the last line, from 1; -1 is the end."},
    "file_text":{"type":"string","description":"For `create`: the content."},
    "old_str":{"type":"string","description":"For `str_replace`: the text to replace."},
    "new_str":{"type":"string","description":"For `str_replace`: the new text."},
    "insert_line":{"type":"integer","description":"For `insert`: the line after which to insert; 0 is the beginning."},
    "insert_text":{"type":"string","description":"For `insert`: the text."}},
    "required":["command","path"]}"#;

const EDITOR_WITH_UNDO: &str = r#"{"type":"object","properties":{
    "command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"]},
    "path":{"type":"string","description":"Absolute path of a file or directory."},
    "view_range":{"type":"array","items":{"type":"integer"},"description":"For `view` of a file: the first and the last line, from 1; -1 is the end."},
    "file_text":{"type":"string","description":"For `create`: the content."},
    "old_str":{"type":"string","description":"For `str_replace`: the text to replace."},
    "new_str":{"type":"string","description":"For `str_replace` and `insert`: the new text."},
    "insert_line":{"type":"integer","description":"For `insert`: the line after which to insert; 0 is the beginning."}},
    "required":["command","path"]}"#;

const MEMORY: &str = r#"{"type":"object","properties":{
    "command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},
    "path":{"type":"string","description":"Path of a file or directory. Required unless the command is `rename`."},
    "view_range":{"type":"array","items":{"type":"integer"},"description":"For `view` of a file: the first and the last line."},
    "file_text":{"type":"string","description":"For `create`: the content."},
    "old_str":{"type":"string","description":"For `str_replace`: the text to replace."},
    "new_str":{"type":"string","description":"For `str_replace`: the new text."},
    "insert_line":{"type":"integer","description":"For `insert`: the line at which to insert."},
    "insert_text":{"type":"string","description":"For `insert`: the text."},
    "old_path":{"type":"string","description":"For `rename`: the path as it is."},
    "new_path":{"type":"string","description":"For `rename`: the new path."}},
    "required":["command"]}"#;

const COMPUTER: &str = "Controls the screen, mouse and keyboard of the user's machine. Take a screenshot to see \
    what an action did. Coordinates are pixels [x, y] from the upper left corner.";

const COMPUTER_FIRST: &str = r#"{"type":"object","properties":{
    "action":{"type":"string","enum":["key","type","mouse_move","left_click","left_click_drag","right_click","middle_click","double_click","screenshot","cursor_position"]},
    "coordinate":{"type":"array","items":{"type":"integer"},"description":"For `mouse_move` and `left_click_drag`: where to."},
    "text":{"type":"string","description":"For `type`: the text. For `key`: the keys, such as `ctrl+s`."}},
    "required":["action"]}"#;

const COMPUTER_INPUT: &str = r#"{"type":"object","properties":{
    "action":{"type":"string","enum":["key","hold_key","type","cursor_position","mouse_move","left_mouse_down","left_mouse_up","left_click","left_click_drag","right_click","middle_click","double_click","triple_click","scroll","wait","screenshot","zoom"]},
    "coordinate":{"type":"array","items":{"type":"integer"},"description":"Where to click, move, drag or scroll."},
    "start_coordinate":{"type":"array","items":{"type":"integer"},"description":"For `left_click_drag`: where from."},
    "text":{"type":"string","description":"For `type`: the text. For `key` and `hold_key`: the keys, such as `ctrl+s`. For clicks and `scroll`: keys to hold."},
    "duration":{"type":"number","description":"For `hold_key` and `wait`: seconds."},
    "scroll_direction":{"type":"string","enum":["up","down","left","right"]},
    "scroll_amount":{"type":"integer","description":"For `scroll`: clicks of the wheel."},
    "region":{"type":"array","items":{"type":"integer"},"description":"For `zoom`, if it is enabled: corners [x0, y0, x1, y1] of what to show."}},
    "required":["action"]}"#;

/// The tool that an element of `tools` defines, if the client runs it.
pub(super) fn find(wire: &Json) -> Option<&'static ClientTool> {
    let kind = wire.get("type").and_then(Json::as_str)?;
    let is_date = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    wire.get("name").and_then(Json::as_str)?;
    CLIENT_TOOLS.iter().find(|tool| kind.strip_prefix(tool.kind).is_some_and(is_date))
}

/// Decodes a tool that the client runs.
pub(super) fn decode(tool: &ClientTool, wire: Json, path: Path<'_>) -> Result<Tool> {
    let description = [tool.description, &parameters(&wire)].concat();
    let fields = Fields::new(wire, path, DIALECT)?;
    let mut own = super::function(fields, Some(description), Json::parse(tool.schema).ok())?;
    own.extra.insert(DIALECT, CLIENT, true);
    Ok(own)
}

/// Describes the fields of the definition about the user's machine.
fn parameters(wire: &Json) -> String {
    let number = |key| wire.get(key).and_then(Json::as_u64);
    let size =
        number("display_width_px").zip(number("display_height_px")).map(|(width, height)| {
            format!(" The display is {width} pixels wide and {height} pixels high.")
        });
    let display = number("display_number").map(|own| format!(" Its X11 number is {own}."));
    let has_zoom = wire.get("enable_zoom").and_then(Json::as_bool) == Some(true);
    let zoom = has_zoom.then(|| " The action `zoom` is enabled.".to_owned());
    let most = number("max_characters").map(|own| format!(" Views end after {own} characters."));
    [size, display, zoom, most].into_iter().flatten().collect()
}
