//! Colours and symbols of the states. The colours differ in lightness as well, and each state has a symbol
//! of its own, so that colour is never the only sign of a state.

use crate::plan::state::StepState;

/// How a state is drawn.
pub(super) struct StateStyle {
    /// Colour of the area
    pub(super) fill: &'static str,
    /// Colour of the border and of the symbol
    pub(super) stroke: &'static str,
    /// The symbol: elements of SVG around the origin, 12 pixels wide, in `currentColor`
    pub(super) symbol: &'static str,
    /// The symbol as a character
    pub(super) letter: char,
}

/// Colours of a step without a state.
pub(super) const PLAIN: StateStyle =
    StateStyle { fill: "#f5f8fb", stroke: "#52606d", symbol: "", letter: ' ' };

/// Returns how a state is drawn.
pub(super) fn of(state: StepState) -> StateStyle {
    let (fill, stroke, letter, symbol) = match state {
        StepState::Pending => {
            ("#ffffff", "#7b8794", '○', r#"<circle r="4.5" class="symbol-line"/>"#)
        }
        StepState::Running => {
            ("#dcedfa", "#0067a3", '▶', r#"<path d="M-4 -5 L5 0 L-4 5 Z" class="symbol"/>"#)
        }
        StepState::Waiting => (
            "#fdf0d0",
            "#9a6700",
            '⏸',
            r#"<path d="M-4 -5 h3 v10 h-3 Z M1 -5 h3 v10 h-3 Z" class="symbol"/>"#,
        ),
        StepState::Succeeded => {
            ("#dff3ea", "#00714f", '✓', r#"<path d="M-5 0 L-1.5 4 L5 -4" class="symbol-line"/>"#)
        }
        StepState::Failed => (
            "#fbe0d3",
            "#b33c00",
            '✗',
            r#"<path d="M-4 -4 L4 4 M4 -4 L-4 4" class="symbol-line"/>"#,
        ),
        StepState::Skipped => (
            "#eef0f2",
            "#5f6b76",
            '»',
            r#"<path d="M-5 -4 L-1 0 L-5 4 M0 -4 L4 0 L0 4" class="symbol-line"/>"#,
        ),
        StepState::Blocked => (
            "#f5e3ee",
            "#93406f",
            '⊘',
            r#"<path d="M-3.2 3.2 L3.2 -3.2" class="symbol-line"/><circle r="4.5" class="symbol-line"/>"#,
        ),
        StepState::Cancelled => {
            ("#dfdfdf", "#2b2b2b", '■', r#"<path d="M-4 -4 h8 v8 h-8 Z" class="symbol"/>"#)
        }
    };
    StateStyle { fill, stroke, symbol, letter }
}
