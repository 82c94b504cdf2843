//! Mutates a JSON tree at one node.

use std::sync::LazyLock;

use libfuzzer_sys::fuzzer_mutate;
use toolwright_core::Json;
use toolwright_core::json::{Key, Number, Object};

use crate::dice::Dice;

static WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!(concat!(env!("OUT_DIR"), "/words.txt")).lines().collect());

const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "3.0",
    "-0",
    "1e400",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "1000000000000",
];

const TEXTS: [&str; 10] = [
    "",
    " ",
    "{}",
    "{\"a\":1}",
    "{\"a\":",
    "[]",
    "北京🙂",
    "data:image/png;base64,iVBORw0KGgo=",
    "a/b~c",
    "\u{0}\r\n",
];

/// A keyword of some wire format.
pub fn word(dice: &mut Dice) -> &'static str {
    dice.pick(&WORDS)
}

/// Changes one node.
pub fn vary(root: &mut Json, dice: &mut Dice) {
    let count = size(root);
    let donor = nth(root, &mut dice.below(count)).map(|place| place.clone());
    let Some(place) = nth(root, &mut dice.below(count)) else { return };
    match dice.below(8) {
        0 => *place = leaf(dice),
        1 => *place = donor.unwrap_or_default(),
        2 => {
            let inner = std::mem::take(place);
            *place = match dice.below(2) {
                0 => Json::Array(vec![inner]),
                _ => Json::Object(Object::from_iter([(key(dice), inner)])),
            };
        }
        _ => match place {
            Json::Array(items) => vary_items(items, donor, dice),
            Json::Object(object) => {
                let mut members: Vec<(Key, Json)> = std::mem::take(object).into_iter().collect();
                vary_members(&mut members, donor, dice);
                *object = members.into_iter().collect();
            }
            Json::String(text) => text.edit(|text| vary_text(text, dice)),
            leaf_place => *leaf_place = leaf(dice),
        },
    }
}

/// Replaces one node by a value of another tree.
pub fn graft(root: &mut Json, other: &mut Json, dice: &mut Dice) {
    let value = nth(other, &mut dice.below(size(other))).map(std::mem::take).unwrap_or_default();
    let count = size(root);
    match nth(root, &mut dice.below(count)) {
        Some(Json::Array(items)) => items.push(value),
        Some(Json::Object(object)) => object.push(key(dice), value),
        Some(place) => *place = value,
        None => {}
    }
}

fn size(value: &Json) -> usize {
    1 + match value {
        Json::Array(items) => items.iter().map(size).sum(),
        Json::Object(object) => object.iter().map(|(_, value)| size(value)).sum(),
        _ => 0,
    }
}

/// The node with this number, in depth-first order.
fn nth<'j>(value: &'j mut Json, number: &mut usize) -> Option<&'j mut Json> {
    if *number == 0 {
        return Some(value);
    }
    *number -= 1;
    match value {
        Json::Array(items) => items.iter_mut().find_map(|item| nth(item, number)),
        Json::Object(object) => object.iter_mut().find_map(|(_, value)| nth(value, number)),
        _ => None,
    }
}

fn key(dice: &mut Dice) -> Key {
    Key::Borrowed(word(dice))
}

fn leaf(dice: &mut Dice) -> Json {
    match dice.below(8) {
        0 => Json::Null,
        1 => Json::Bool(dice.once_in(2)),
        2 => Number::parse(dice.pick(&NUMBERS)).map_or(Json::Null, Json::Number),
        3 => Json::from(dice.pick(&TEXTS)),
        4 => Json::Array(vec![]),
        5 => Json::Object(Object::new()),
        _ => Json::from(word(dice)),
    }
}

fn vary_items(items: &mut Vec<Json>, donor: Option<Json>, dice: &mut Dice) {
    let (at, other) = (dice.below(items.len()), dice.below(items.len()));
    match dice.below(5) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 if !items.is_empty() => items.insert(other, items[at].clone()),
        2 if !items.is_empty() => items.swap(at, other),
        3 => items.push(leaf(dice)),
        _ => items.extend(donor),
    }
}

fn vary_members(members: &mut Vec<(Key, Json)>, donor: Option<Json>, dice: &mut Dice) {
    let (at, other) = (dice.below(members.len()), dice.below(members.len()));
    match dice.below(6) {
        0 if !members.is_empty() => drop(members.remove(at)),
        1 if !members.is_empty() => members[at].0 = key(dice),
        2 if !members.is_empty() => members.swap(at, other),
        3 if !members.is_empty() => members.push((members[at].0.clone(), leaf(dice))),
        4 => members.push((key(dice), leaf(dice))),
        _ => members.push((key(dice), donor.unwrap_or_default())),
    }
}

fn vary_text(text: &mut String, dice: &mut Dice) {
    // Arguments of calls are JSON in a string.
    if let Ok(mut inner @ Json::Object(_)) = Json::parse(text)
        && !dice.once_in(3)
    {
        vary(&mut inner, dice);
        *text = inner.to_string();
        return;
    }
    match dice.below(4) {
        0 => word(dice).clone_into(text),
        1 => dice.pick(&TEXTS).clone_into(text),
        2 => text.push_str(word(dice)),
        _ => {
            let mut bytes = text.clone().into_bytes();
            let size = bytes.len();
            bytes.resize(size + 16, 0);
            let size = fuzzer_mutate(&mut bytes, size, size + 16);
            *text = String::from_utf8_lossy(&bytes[..size]).into_owned();
        }
    }
}
