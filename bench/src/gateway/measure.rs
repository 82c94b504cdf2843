//! Measures one case on all routes, alternating.

use super::Plan;
use super::case::{Case, Pace};
use super::route::{Route, Stage};
use crate::failure::Outcome;
use crate::load::{ClientPool, Samples, Target, median};

/// Connections that are open when a schedule starts.
const READY: usize = 16;

/// The measurement of a case on a route. Times in microseconds.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// The case
    pub(crate) case: Case,
    /// The route
    pub(crate) route: Route,
    /// Number of exchanges
    pub(crate) count: usize,
    /// Exchanges per second
    pub(crate) rate: f64,
    /// Time to the last byte: the median over rounds of each round's median
    pub(crate) p50: f64,
    /// Of all rounds together
    pub(crate) p99: f64,
    /// Of all rounds together
    pub(crate) p999: f64,
    /// Time to the first byte of the body, like `p50`
    pub(crate) first: f64,
    /// Processor seconds for a thousand exchanges, of the measured process
    pub(crate) cost: f64,
}

#[derive(Default)]
struct Rounds {
    samples: Samples,
    rate: Vec<f64>,
    p50: Vec<f64>,
    first: Vec<f64>,
    cost: Vec<f64>,
}

/// Measures a case.
pub(crate) async fn case(plan: &Plan, stage: &Stage, case: Case) -> Outcome<Vec<Cell>> {
    let mut all = Vec::new();
    for route in plan.routes {
        let target = stage.target(*route, case.size, case.reply).await;
        let target = target.map_err(|failure| failure.within(route.name()))?;
        all.push((*route, target, Rounds::default()));
    }
    for round in 0..plan.rounds() {
        // The order rotates, so that no route always follows the same other.
        let first = round % all.len();
        for turn in 0..all.len() {
            let index = (first + turn) % all.len();
            let (route, target, rounds) = &mut all[index];
            let one = one(plan, stage, *route, target, case.pace, rounds).await;
            one.map_err(|failure| failure.within(&format!("{}: {}", case.name(), route.name())))?;
        }
    }
    Ok(all.into_iter().map(|(route, _, rounds)| rounds.cell(case, route)).collect())
}

async fn one(
    plan: &Plan,
    stage: &Stage,
    route: Route,
    target: &Target,
    pace: Pace,
    rounds: &mut Rounds,
) -> Outcome {
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
    rounds.cost.push(spent.map_or(f64::NAN, |spent| spent.as_secs_f64() / thousands));
    rounds.rate.push(samples.rate());
    rounds.p50.push(samples.whole(50.0));
    rounds.first.push(samples.first(50.0));
    rounds.samples.append(samples);
    Ok(())
}

impl Rounds {
    fn cell(mut self, case: Case, route: Route) -> Cell {
        self.samples.sort();
        Cell {
            case,
            route,
            count: self.samples.count(),
            rate: median(self.rate),
            p50: median(self.p50),
            p99: self.samples.whole(99.0),
            p999: self.samples.whole(99.9),
            first: median(self.first),
            cost: median(self.cost),
        }
    }
}
