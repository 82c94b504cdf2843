//! Finds recursive references, for targets that accept definitions but no recursion.

use std::collections::{HashMap, HashSet};

use toolwright_json::Json;

use super::inline::{Document, is_definition};
use super::walk::visit;

/// A definition (or the root), and the references in it: target node and position.
#[derive(Default)]
struct Node {
    references: Vec<(usize, String)>,
    state: State,
}

#[derive(Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Open,
    Done,
}

/// Returns the pointers of the schemas whose `$ref` leads back to a definition that contains it.
/// The others are not recursive.
pub(super) fn circular(document: &Document<'_>) -> HashSet<String> {
    let mut nodes = graph(document);
    let mut found = HashSet::new();
    for start in 0..nodes.len() {
        if nodes[start].state != State::New {
            continue;
        }
        nodes[start].state = State::Open;
        // The path from the start, each with the number of references already followed.
        let mut path = vec![(start, 0)];
        while let Some((node, followed)) = path.last_mut() {
            let Some((target, at)) = nodes[*node].references.get(*followed) else {
                nodes[*node].state = State::Done;
                path.pop();
                continue;
            };
            *followed += 1;
            let target = *target;
            match nodes[target].state {
                State::Open => {
                    found.insert(at.clone());
                }
                State::New => {
                    nodes[target].state = State::Open;
                    path.push((target, 0));
                }
                State::Done => {}
            }
        }
    }
    found
}

/// The root first, then the definitions in order of discovery.
fn graph(document: &Document<'_>) -> Vec<Node> {
    let mut nodes = vec![Node::default()];
    let mut places: HashMap<String, usize> = HashMap::from([(String::new(), 0)]);
    let mut place = |nodes: &mut Vec<Node>, owner: &str| {
        if let Some(place) = places.get(owner) {
            *place
        } else {
            places.insert(owner.to_owned(), nodes.len());
            nodes.push(Node::default());
            nodes.len() - 1
        }
    };
    visit(document.root, "", &mut |object, at| {
        let Some(reference) = object.get("$ref").and_then(Json::as_str) else { return };
        let Some((_, target)) = document.resolve(reference) else { return };
        let (from, to) = (owner(at), owner(&target));
        // Within one owner, a reference to anything but a definition is inlined, and visited there.
        if from == to && !is_definition(&target) {
            return;
        }
        let (from, to) = (place(&mut nodes, from), place(&mut nodes, to));
        nodes[from].references.push((to, at.to_owned()));
    });
    nodes
}

/// Returns the definition that contains a position; the root has the empty pointer.
fn owner(at: &str) -> &str {
    for prefix in ["/$defs/", "/definitions/"] {
        if let Some(rest) = at.strip_prefix(prefix) {
            return &at[..prefix.len() + rest.find('/').unwrap_or(rest.len())];
        }
    }
    ""
}
