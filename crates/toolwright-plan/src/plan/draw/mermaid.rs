//! The graph of a plan as a Mermaid flowchart.

use std::fmt::Write;

use super::scene::{LineKind, Node, Scene, facts};
use super::style;
use crate::plan::document::Plan;
use crate::plan::graph::Graph;
use crate::plan::state::{StepState, StepStatus};

/// Draws a plan as a Mermaid flowchart, with `run` as in [`svg`](super::svg).
pub fn mermaid(plan: &Plan, graph: &Graph, run: &[StepStatus]) -> String {
    let scene = Scene::new(plan, graph, run);
    // Writing to a text does not fail.
    let mut out = String::new();
    if let Some(name) = &plan.name {
        let _ = writeln!(out, "---\ntitle: {}\n---", yaml(name));
    }
    out += "flowchart TD\n";
    for (at, node) in scene.nodes.iter().enumerate() {
        let name = escape(scene.name(at));
        let line = match *node {
            Node::Step(position, step) => {
                let status = scene.status(position);
                let (time, form) = facts(step, status.as_ref());
                let symbol = status
                    .map(|status| format!("{} ", style::of(status.state).letter))
                    .unwrap_or_default();
                let facts: Vec<String> = [escape(&step.tool), escape(&time), escape(&form)]
                    .into_iter()
                    .filter(|fact| !fact.is_empty())
                    .collect();
                let text = format!("{symbol}{name}<br/>{}", facts.join(" · "));
                let class = status
                    .map(|status| format!(":::{}", status.state.as_str()))
                    .unwrap_or_default();
                match step.each {
                    Some(_) => format!("n{at}[[\"{text}\"]]{class}"),
                    None => format!("n{at}[\"{text}\"]{class}"),
                }
            }
            Node::Input(_) => format!("n{at}([\"{name}\"])"),
            Node::Output(_) => format!("n{at}[/\"{name}\"/]"),
        };
        let _ = writeln!(out, "    {line}");
    }
    for line in &scene.lines {
        let arrow = match line.kind {
            LineKind::Data => "-->",
            LineKind::Slot => "==>",
            LineKind::Shared => "--o",
            LineKind::After => "-.->",
        };
        let label = match &line.labels[..] {
            [] => String::new(),
            labels => format!("|\"{}\"|", escape(&labels.join(", "))),
        };
        let _ = writeln!(out, "    n{} {arrow}{label} n{}", line.from, line.to);
    }
    for state in StepState::ALL.into_iter().filter(|_| !run.is_empty()) {
        let style = style::of(state);
        let (name, fill, stroke) = (state.as_str(), style.fill, style.stroke);
        let _ = writeln!(out, "    classDef {name} fill:{fill},stroke:{stroke},color:#1f2933");
    }
    out
}

/// Escapes a text for a quoted label: letters and digits stay, ASCII punctuation becomes entities.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            letter if letter.is_control() => out.push(' '),
            ' ' | '.' | ',' | '-' | '_' | '/' => out.push(letter),
            letter if letter.is_ascii_punctuation() => {
                let _ = write!(out, "#{};", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out
}

/// Quotes a text for YAML.
fn yaml(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|letter| match letter {
            ' ' | '.' | ',' | '-' | '_' | '/' => letter.to_string(),
            letter if letter.is_control() || letter.is_ascii_punctuation() => {
                format!("\\u{:04x}", u32::from(letter))
            }
            letter => letter.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}
