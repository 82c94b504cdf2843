//! The search for the cheapest changes that the schema accepts, from the outermost place inwards.
//!
//! A value that violates its own schema is changed by a rule, or to fit one branch of a union; the
//! result may need further changes inside. A value with violations only inside is changed there,
//! each place separately (`within`). A change counts only if the enclosing schemas accept it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use toolwright_json::Json;

use super::ground::{Ground, MAX_VIOLATIONS};
use super::{
    Coercion, Proposal, Reading, Unmended, boolean, choice, list, node, number, parse, rename,
    text, unwrap, within,
};
use crate::args::{Change, Op};
use crate::schema::{MEMBER_KEYWORDS, Violation};

/// Maximum cost of the changes to one value.
const MAX_VALUE_COST: u32 = 8;

/// A place in the arguments, and its requirements.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// JSON Pointer into the arguments
    pub(super) at: String,
    /// The violated schemas, by JSON Pointer into the schema
    pub(super) schemas: Vec<String>,
    /// The enclosing schemas: those whose union branch is being tried
    pub(super) around: Vec<String>,
    /// Whether it is an item of an array
    pub(super) is_item: bool,
    /// Maximum cost of further changes
    pub(super) reach: u32,
}

/// A value that its schemas accept, and its changes.
#[derive(Debug)]
pub(super) struct Mended {
    pub(super) value: Json,
    pub(super) changes: Vec<Change>,
    /// Whether another value has the same cost
    pub(super) is_tied: bool,
}

impl Mended {
    fn untouched(value: Json) -> Mended {
        Mended { value, changes: Vec::new(), is_tied: false }
    }

    fn cost(&self) -> u32 {
        self.changes.iter().map(|change| change.cost).sum()
    }
}

/// Returns the nearest value that the whole schema accepts. If there is none, or it is ambiguous,
/// returns the value with the changes that were possible.
pub(super) fn mend_value(value: Json, by: &Coercion<'_>) -> Result<Reading, Unmended> {
    let errors = by.check.violations(&value);
    let document = by.check.document();
    let Some(parts) = document.parts().filter(|_| errors.len() <= MAX_VIOLATIONS) else {
        return Err(Unmended::untouched(value, errors));
    };
    let ground = Ground::new(by, &parts, &value);
    let schemas = vec![String::new()];
    let spot = Spot {
        at: String::new(),
        schemas,
        around: Vec::new(),
        is_item: false,
        reach: MAX_VALUE_COST,
    };
    let mended = rejected(&ground, value.clone(), errors.clone(), &spot)
        .filter(|mended| !mended.is_tied && by.check.accepts(&mended.value));
    if ground.is_spent() {
        return Err(Unmended::untouched(value, errors));
    }
    if let Some(Mended { value, changes, .. }) = mended {
        return Ok(Reading { value, changes });
    }
    let mut partly = value.clone();
    let changes = within::mend_some(&ground, &mut partly, &errors, &spot);
    if ground.is_spent() || changes.is_empty() {
        return Err(Unmended::untouched(value, errors));
    }
    let errors = by.check.violations(&partly);
    Err(Unmended { reading: Reading { value: partly, changes }, errors })
}

/// Returns the nearest value that the schemas of a place accept.
pub(super) fn mend(ground: &Ground<'_>, value: Json, spot: &Spot) -> Option<Mended> {
    let violations = ground.violations(&value, &spot.schemas)?;
    if violations.is_empty() {
        return Some(Mended::untouched(value));
    }
    rejected(ground, value, violations, spot)
}

/// Returns the nearest value that the schemas of a place accept, for a value with violations.
fn rejected(
    ground: &Ground<'_>,
    value: Json,
    violations: Vec<Violation>,
    spot: &Spot,
) -> Option<Mended> {
    if violations.iter().any(|violation| violation.path.is_empty()) {
        return itself(ground, &value, &violations, spot);
    }
    within::mend(ground, value, violations, spot)
}

/// Changes a value that violates its own schema.
fn itself(
    ground: &Ground<'_>,
    value: &Json,
    violations: &[Violation],
    spot: &Spot,
) -> Option<Mended> {
    let own: Vec<&Violation> =
        violations.iter().filter(|violation| violation.path.is_empty()).collect();
    let mut best: Option<Mended> = None;
    let ruled = proposals(ground, value, &own, spot);
    let ruled = ruled.into_iter().filter_map(|proposal| attempt(ground, proposal, spot));
    for mended in ruled.chain(listed(ground, value, &own, spot)) {
        best = Some(nearer(best, mended));
    }
    for violation in own {
        for branch in branches(ground, violation, spot) {
            ground.try_branch(branch.around.len())?;
            let mended = mend(ground, value.clone(), &branch)
                .filter(|mended| ground.accepts(&mended.value, &spot.schemas));
            if let Some(mended) = mended {
                best = Some(nearer(best, mended));
            }
        }
    }
    best
}

/// Returns the result of a proposal, if the schemas of the place accept it.
fn attempt(ground: &Ground<'_>, proposal: Proposal, spot: &Spot) -> Option<Mended> {
    let spot = Spot { reach: spot.reach.checked_sub(proposal.cost())?, ..spot.clone() };
    let mut mended = match proposal.value {
        container @ (Json::Array(_) | Json::Object(_)) => mend(ground, container, &spot)?,
        // No rule is applied to the scalar that a rule produced.
        scalar if ground.accepts(&scalar, &spot.schemas) => Mended::untouched(scalar),
        _ => return None,
    };
    mended.changes.splice(0..0, proposal.changes);
    Some(mended)
}

/// Proposes an array for a single value. Text with commas can be one item or several: the options
/// decide, not the cost.
fn listed(ground: &Ground<'_>, value: &Json, own: &[&Violation], spot: &Spot) -> Option<Mended> {
    if spot.is_item || !own.iter().any(|violation| violation.keyword == "type") {
        return None;
    }
    let several = list::several(&spot.at, value).and_then(|list| attempt(ground, list, spot));
    let one = list::one(&spot.at, value).and_then(|list| attempt(ground, list, spot));
    match several {
        Some(mut several) if ground.by.options.comma_lists => {
            // `1,234` is two numbers or one.
            let is_grouped = |change: &Change| change.op == Op::Thousands;
            several.is_tied |= one.is_some_and(|one| one.changes.iter().any(is_grouped));
            Some(several)
        }
        Some(_) => one.map(|one| Mended { is_tied: true, ..one }),
        None => one,
    }
}

/// Returns the proposals for a value that violates its own schema.
fn proposals(ground: &Ground<'_>, value: &Json, own: &[&Violation], spot: &Spot) -> Vec<Proposal> {
    let has =
        |words: &[&str]| own.iter().any(|violation| words.contains(&violation.keyword.as_str()));
    let (at, options) = (spot.at.as_str(), ground.by.options);
    let mut out = Vec::new();
    if has(&["type", "enum", "const"]) {
        out.extend(number::propose(at, value));
        out.extend(boolean::propose(at, value));
        out.extend(text::propose(at, value));
        out.extend(choice::propose(at, value, &node::choices(ground, own)));
        out.extend(parse::propose(at, value));
        if options.thousands {
            out.extend(number::propose_grouped(at, value));
        }
    }
    if has(MEMBER_KEYWORDS) {
        if at.is_empty() {
            out.extend(unwrap::propose(ground, value, spot));
        }
        if options.fold_names {
            out.extend(rename::propose(ground, value, own, spot));
        }
    }
    out
}

/// Returns a place for each branch of a union that no branch matched. The other requirements of the
/// place are checked when the branch is done.
fn branches(ground: &Ground<'_>, violation: &Violation, spot: &Spot) -> Vec<Spot> {
    if !matches!(violation.keyword.as_str(), "anyOf" | "oneOf") {
        return Vec::new();
    }
    let union = node::of_keyword(violation);
    let listed = ground.schema.pointer(&violation.schema_path).and_then(Json::as_array);
    let branches: BTreeSet<String> = (0..listed.map_or(0, <[Json]>::len))
        .map(|index| node::target(ground, format!("{}/{index}", violation.schema_path)))
        .collect();
    let place = |branch| {
        let mut place = Spot { schemas: vec![branch], ..spot.clone() };
        place.around.push(union.to_owned());
        place
    };
    branches.into_iter().map(place).collect()
}

/// Returns the cheaper of two; if they cost the same and differ, the result is ambiguous.
fn nearer(best: Option<Mended>, other: Mended) -> Mended {
    let Some(mut best) = best else { return other };
    match other.cost().cmp(&best.cost()) {
        Ordering::Less => other,
        Ordering::Greater => best,
        Ordering::Equal => {
            best.is_tied |= other.is_tied || !best.value.same(&other.value);
            best
        }
    }
}
