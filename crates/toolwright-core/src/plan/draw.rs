//! Pictures of plans: a graph as SVG or Mermaid, and the timeline of a run.
//!
//! | job | file |
//! |---|---|
//! | what is drawn: nodes and lines | `scene` |
//! | positions: layers, their order, lines around boxes | `layout` |
//! | the graph as SVG with its legend, the timeline as SVG | `picture`, `legend`, `timeline` |
//! | the graph as Mermaid | `mermaid` |
//! | colours and symbols of states; texts and their widths; elements of SVG | `style`, `label`, `canvas` |
//!
//! The same plan gives the same bytes. A picture has no script and needs no font but the viewer's.

mod canvas;
mod label;
mod layout;
mod legend;
mod mermaid;
mod picture;
mod scene;
mod style;
mod timeline;

use super::document::Plan;
use super::graph::Graph;
use super::state::StepStatus;

/// Draws a plan as SVG. `run` has the status of each step, in the order of the plan; if it is empty,
/// the plan is drawn without states.
pub fn svg(plan: &Plan, graph: &Graph, run: &[StepStatus]) -> String {
    picture::draw(plan, graph, run)
}

/// Draws a plan as a Mermaid flowchart, with `run` as in [`svg`].
pub fn mermaid(plan: &Plan, graph: &Graph, run: &[StepStatus]) -> String {
    mermaid::draw(plan, graph, run)
}

/// Draws the timeline of a run as SVG: a bar for each step from its start to its end.
pub fn timeline(plan: &Plan, run: &[StepStatus]) -> String {
    timeline::draw(plan, run)
}
