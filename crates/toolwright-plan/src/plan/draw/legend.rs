//! What the symbols and lines of a picture mean.

use super::canvas::{Anchor, Canvas, MARGIN};
use super::label::width;
use super::scene::{LineKind, Node, Scene};
use super::style;
use crate::plan::state::StepState;

const SIZE: i64 = 11;
const ROW: i64 = 20;
/// Space between two entries.
const GAP: i64 = 16;

/// The legend of a picture.
pub(super) struct Legend(Vec<(Key, String)>);

/// The sign that an entry explains.
enum Key {
    State(StepState),
    Line(LineKind),
}

/// Lists what the picture has: states with their counts, and kinds of lines if there are several.
pub(super) fn legend(scene: &Scene<'_>) -> Legend {
    let mut entries = Vec::new();
    for state in StepState::ALL {
        let has_state = |node: &&Node<'_>| matches!(node, Node::Step(at, _) if scene.status(*at).is_some_and(|status| status.state == state));
        match scene.nodes.iter().filter(has_state).count() {
            0 => {}
            count => entries.push((Key::State(state), format!("{count} {}", state.as_str()))),
        }
    }
    let used = |kind: &LineKind| scene.lines.iter().any(|line| line.kind == *kind);
    let kinds: Vec<LineKind> = LineKind::ALL.into_iter().filter(used).collect();
    if kinds.len() > 1 {
        entries.extend(kinds.into_iter().map(|kind| {
            let text = if kind == LineKind::Shared { "shared value" } else { kind.as_str() };
            (Key::Line(kind), text.to_owned())
        }));
    }
    Legend(entries)
}

impl Legend {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Draws the entries below a position, in rows that are at most `room` wide. Returns their lower end.
    pub(super) fn draw(&self, canvas: &mut Canvas, top: i64, room: i64) -> i64 {
        if self.is_empty() {
            return top;
        }
        let (mut x, mut y) = (MARGIN, top + MARGIN + 12);
        for (key, content) in &self.0 {
            let sign = match key {
                Key::State(_) => 18,
                Key::Line(_) => 34,
            };
            let text = width(content, SIZE);
            if x > MARGIN && x + sign + text > MARGIN + room {
                (x, y) = (MARGIN, y + ROW);
            }
            match key {
                Key::State(state) => canvas.symbol(&style::of(*state), x + 6, y - 4),
                Key::Line(kind) => {
                    let (end, y, class) = (x + 28, y - 4, kind.as_str());
                    canvas.raw(format_args!(
                        "<path class=\"edge {class}\" marker-end=\"url(#arrow)\" d=\"M{x} {y}L{end} {y}\"/>"
                    ));
                }
            }
            x += sign;
            canvas.text((x, y), SIZE, "quiet", Anchor::Start, content);
            canvas.raw(format_args!("\n"));
            x += text + GAP;
        }
        y + 4
    }
}
