//! The graph of a plan as SVG.

use super::canvas::{Anchor, Canvas, MARGIN};
use super::label::{shorten, width};
use super::layout::{BoxSize, Layout, Rect, Route, lay_out};
use super::legend::legend;
use super::scene::{Line, Node, Scene, describe, facts};
use super::style;
use crate::plan::document::Plan;
use crate::plan::graph::Graph;
use crate::plan::state::{StepState, StepStatus};

/// Sizes of texts: names of steps and of the plan; everything else.
const LARGE: i64 = 13;
/// Bold letters are wider than others of their size.
const LARGE_WIDTH: i64 = 14;
const SMALL: i64 = 11;

/// The height of a step, and of an input or an output.
const STEP_HEIGHT: i64 = 44;
const PILL_HEIGHT: i64 = 24;
/// The least and the greatest width of a step.
const STEP_WIDTH: (i64, i64) = (110, 240);
const PILL_WIDTH: i64 = 150;
/// Space between the border of a box and its text.
const PADDING: i64 = 10;
/// The width of the symbol of a state, with a gap.
const SYMBOL: i64 = 18;
/// How far the sheets behind a step with `each` stand out.
const STACK: i64 = 4;
/// Lines of plans with more steps have no labels, but titles.
const MAX_LABELLED_STEPS: usize = 30;
/// Lines have no labels where more of them leave or reach a box.
const MAX_LABELLED_LINES: usize = 6;
const LABEL_WIDTH: i64 = 120;
/// The least width of a picture with a name or a legend.
const LEAST_WIDTH: i64 = 360;

/// Draws a plan as SVG. `run` has the status of each step, in the order of the plan; if it is empty,
/// the plan is drawn without states.
pub fn svg(plan: &Plan, graph: &Graph, run: &[StepStatus]) -> String {
    Picture::new(&Scene::new(plan, graph, run)).draw(plan)
}

/// A picture in progress.
struct Picture<'s, 'p> {
    scene: &'s Scene<'p>,
    layout: Layout,
    canvas: Canvas,
}

impl<'s, 'p> Picture<'s, 'p> {
    fn new(scene: &'s Scene<'p>) -> Self {
        let step_width = scene
            .nodes
            .iter()
            .filter_map(|node| match *node {
                Node::Step(at, step) => {
                    let status = scene.status(at);
                    let (time, form) = facts(step, status.as_ref());
                    let symbol = if status.is_some() { SYMBOL } else { 0 };
                    let line = |left: i64, right: &str| match width(right, SMALL) {
                        0 => left,
                        right => left + PADDING + right,
                    };
                    let first = line(symbol + width(&step.id, LARGE_WIDTH), &time);
                    Some(first.max(line(width(&step.tool, SMALL), &form)) + 2 * PADDING)
                }
                _ => None,
            })
            .max()
            .map_or(0, |width| width.clamp(STEP_WIDTH.0, STEP_WIDTH.1));
        let size = |(at, node): (usize, &Node<'_>)| {
            let (width, height) = if matches!(node, Node::Step(..)) {
                (step_width, STEP_HEIGHT)
            } else {
                let text = width(scene.name(at), SMALL) + 2 * PADDING;
                (text.clamp(44, PILL_WIDTH), PILL_HEIGHT)
            };
            BoxSize { width, height, layer: scene.layers[at] }
        };
        let boxes: Vec<BoxSize> = scene.nodes.iter().enumerate().map(size).collect();
        let route = |line: &Line| Route { from: line.from, to: line.to, kind: line.kind };
        let routes: Vec<Route> = scene.lines.iter().map(route).collect();
        let layout = lay_out(&boxes, &routes);
        Picture { scene, layout, canvas: Canvas::new() }
    }

    fn draw(mut self, plan: &Plan) -> String {
        let name = plan.name.as_deref().unwrap_or_default();
        let top = if name.is_empty() { MARGIN } else { MARGIN + 30 };
        let legend = legend(self.scene);
        let is_bare = name.is_empty() && legend.is_empty();
        let content = self.layout.width.max(if is_bare { 0 } else { LEAST_WIDTH });
        let (total_width, left) =
            (content + 2 * MARGIN, MARGIN + (content - self.layout.width) / 2);
        if !name.is_empty() {
            let text = &shorten(name, 16, content);
            self.canvas.text((MARGIN, MARGIN + 14), 16, "bold", Anchor::Start, text);
            self.canvas.raw(format_args!("\n"));
        }
        self.canvas.raw(format_args!(
            "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" \
             markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5 L8 4 L0 7.5 Z\" \
             fill=\"#66727d\"/></marker></defs>\n<g transform=\"translate({left} {top})\">\n"
        ));
        self.lines();
        self.labels(plan.steps.len());
        for at in 0..self.scene.nodes.len() {
            self.node(at);
        }
        self.canvas.raw(format_args!("</g>\n"));
        let bottom = legend.draw(&mut self.canvas, top + self.layout.height, content);
        let title = plan.name.as_deref().unwrap_or("plan");
        self.canvas.end(total_width, bottom + MARGIN, title)
    }

    fn lines(&mut self) {
        for (line, curve) in self.scene.lines.iter().zip(&self.layout.curves) {
            let (class, path) = (line.kind.as_str(), &curve.path);
            self.canvas.raw(format_args!("<g>"));
            let (from, to) = (self.scene.name(line.from), self.scene.name(line.to));
            self.canvas.title(&format!("{from} → {to}\n{}", line.reasons.join("\n")));
            self.canvas.raw(format_args!(
                "<path class=\"edge {class}\" marker-end=\"url(#arrow)\" d=\"{path}\"/></g>\n"
            ));
        }
    }

    /// Draws the labels of lines that have room for one.
    fn labels(&mut self, steps: usize) {
        if steps > MAX_LABELLED_STEPS {
            return;
        }
        let lines = &self.scene.lines;
        let mut taken: Vec<Rect> = self.layout.boxes.clone();
        for (line, curve) in lines.iter().zip(&self.layout.curves) {
            let content = &shorten(&line.labels.join(", "), SMALL, LABEL_WIDTH);
            let leaving = lines.iter().filter(|other| other.from == line.from).count();
            let arriving = lines.iter().filter(|other| other.to == line.to).count();
            if content.is_empty() || leaving.max(arriving) > MAX_LABELLED_LINES {
                continue;
            }
            let (x, y) = curve.middle;
            let wide = width(content, SMALL) + 6;
            let rect = Rect { x: x - wide / 2, y: y - 8, width: wide, height: 16 };
            let is_inside = rect.x >= -MARGIN && rect.x + rect.width <= self.layout.width + MARGIN;
            if is_inside && !taken.iter().any(|other| other.overlaps(&rect)) {
                let Rect { x: left, y: top, width: wide, height } = rect;
                self.canvas.raw(format_args!(
                    "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{height}\" fill=\"#fff\"/>"
                ));
                self.canvas.text((x, y + 4), SMALL, "quiet", Anchor::Middle, content);
                self.canvas.raw(format_args!("\n"));
                taken.push(rect);
            }
        }
    }

    fn node(&mut self, at: usize) {
        let rect = self.layout.boxes[at];
        let name = self.scene.name(at);
        match self.scene.nodes[at] {
            Node::Step(position, step) => {
                let status = self.scene.status(position);
                let style = status.map_or(style::PLAIN, |status| style::of(status.state));
                self.canvas.raw(format_args!("<g>"));
                self.canvas.title(&describe(step, status.as_ref()));
                let dash = match status.map(|status| status.state) {
                    Some(StepState::Skipped | StepState::Blocked) => " stroke-dasharray=\"4 3\"",
                    _ => "",
                };
                let (fill, stroke) = (style.fill, style.stroke);
                let Rect { x, y, width: wide, height } = rect;
                if step.each.is_some() {
                    for sheet in [2 * STACK, STACK] {
                        let (x, y) = (x + sheet, y + sheet);
                        self.canvas.raw(format_args!(
                            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{height}\" rx=\"6\" \
                             fill=\"{fill}\" stroke=\"{stroke}\"{dash}/>"
                        ));
                    }
                }
                self.canvas.raw(format_args!(
                    "<rect class=\"step\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{height}\" rx=\"6\" \
                     fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.5\"{dash}/>"
                ));
                let mut left = x + PADDING;
                if status.is_some() {
                    self.canvas.symbol(&style, left + 5, y + 16);
                    left += SYMBOL;
                }
                let (time, form) = facts(step, status.as_ref());
                let right = x + wide - PADDING;
                self.line_of_text(name, &time, left, right, y + 20, true);
                self.line_of_text(&step.tool, &form, x + PADDING, right, y + 36, false);
                self.canvas.raw(format_args!("</g>\n"));
            }
            node => {
                let kind = if matches!(node, Node::Input(_)) { "input" } else { "output" };
                let fill = if kind == "input" { "#fff" } else { "#eceff3" };
                self.canvas.raw(format_args!("<g>"));
                self.canvas.title(&format!("{kind} {name}"));
                let Rect { x, y, width: wide, height } = rect;
                self.canvas.raw(format_args!(
                    "<rect class=\"{kind}\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{height}\" \
                     rx=\"12\" fill=\"{fill}\" stroke=\"#7b8794\"/>"
                ));
                let text = &shorten(name, SMALL, wide - 2 * PADDING + 4);
                self.canvas.text((x + wide / 2, y + 16), SMALL, "", Anchor::Middle, text);
                self.canvas.raw(format_args!("</g>\n"));
            }
        }
    }

    /// Draws a text at the left, and one at the right that is never shortened.
    fn line_of_text(
        &mut self,
        text: &str,
        aside: &str,
        left: i64,
        right: i64,
        y: i64,
        is_name: bool,
    ) {
        let (size, measure, class) =
            if is_name { (LARGE, LARGE_WIDTH, "bold") } else { (SMALL, SMALL, "quiet") };
        let aside_width = width(aside, SMALL);
        let room = right - left - if aside_width > 0 { aside_width + 6 } else { 0 };
        let text = &shorten(text, measure, room);
        self.canvas.text((left, y), size, class, Anchor::Start, text);
        if !aside.is_empty() {
            self.canvas.text((right, y), SMALL, "quiet", Anchor::End, aside);
        }
    }
}
