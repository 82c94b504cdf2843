//! Measures one case on all routes, alternating.

use super::Plan;
use super::case::{Case, Pace};
use super::route::{Route, Stage};
use crate::failure::Outcome;
use crate::load::{ClientPool, Figures, Rounds, Target, median};

/// Connections that are open when a schedule starts.
const READY: usize = 16;

/// The measurement of a case on a route.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// The case
    pub(crate) case: Case,
    /// The route
    pub(crate) route: Route,
    /// Its rounds together
    pub(crate) figures: Figures,
    /// Processor seconds for a thousand exchanges, of the measured process
    pub(crate) cost: f64,
}

/// Measures a case.
pub(crate) async fn case(plan: &Plan, stage: &Stage, case: Case) -> Outcome<Vec<Cell>> {
    let mut all = Vec::new();
    for route in plan.routes {
        let target = stage.target(*route, case.size, case.reply).await;
        let target = target.map_err(|failure| failure.within(route.name()))?;
        all.push((*route, target, Rounds::default(), Vec::new()));
    }
    for round in 0..plan.rounds() {
        // The order rotates, so that no route always follows the same other.
        let first = round % all.len();
        for turn in 0..all.len() {
            let index = (first + turn) % all.len();
            let (route, target, rounds, costs) = &mut all[index];
            let one = one(plan, stage, *route, target, case.pace, rounds).await;
            costs.push(one.map_err(|failure| {
                failure.within(&format!("{}: {}", case.name(), route.name()))
            })?);
        }
    }
    let cells = all.into_iter().map(|(route, _, rounds, costs)| Cell {
        case,
        route,
        figures: rounds.figures(),
        cost: median(costs),
    });
    Ok(cells.collect())
}

/// Measures a round, and returns its cost.
async fn one(
    plan: &Plan,
    stage: &Stage,
    route: Route,
    target: &Target,
    pace: Pace,
    rounds: &mut Rounds,
) -> Outcome<f64> {
    let clients = match pace {
        Pace::Clients(count) => count,
        Pace::Rate(_) => READY,
    };
    let pool = ClientPool::warm(target.clone(), clients).await?;
    let before = stage.measured(route).map(|child| (child, child.usage()));
    let samples = match pace {
        Pace::Clients(_) => pool.work(plan.window()).await?,
        Pace::Rate(rate) => pool.follow(rate, plan.window()).await?,
    };
    let spent = before.map(|(child, before)| child.usage().since(&before));
    let thousands = samples.count() as f64 / 1000.0;
    rounds.add(samples);
    Ok(spent.map_or(f64::NAN, |spent| spent.as_secs_f64() / thousands))
}
