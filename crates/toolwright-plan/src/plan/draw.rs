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

pub use mermaid::mermaid;
pub use picture::svg;
pub use timeline::timeline;
