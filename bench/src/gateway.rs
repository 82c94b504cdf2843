//! `bench-gateway`: the cost of the gateway. The same requests are sent directly, through the bare
//! proxy and through the gateway, alternating within one run, so that a slow moment of the machine
//! affects all of them. It fails if a reply is wrong, and never because a figure is bad.

mod case;
mod goal;
mod measure;
mod memory;
mod report;
mod route;

use std::path::PathBuf;
use std::time::Duration;

use self::report::Report;
use self::route::{Route, Stage};
use crate::failure::{Failure, Outcome};
use crate::process::{Machine, Site, Usage};

/// The options of a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    short: bool,
    routes: &'static [Route],
    against: Option<PathBuf>,
    only: Option<String>,
    json: Option<PathBuf>,
}

impl Plan {
    /// Parses the arguments after `gateway`.
    pub(crate) fn parse(words: &[&str]) -> Outcome<Plan> {
        let mut plan =
            Plan { short: false, routes: Route::ALL, against: None, only: None, json: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let wrong = || Failure(format!("unknown or unfinished option {word}"));
            let mut value = || words.next().ok_or_else(wrong);
            match *word {
                "--short" => plan.short = true,
                "--without-gateway" => plan.routes = Route::BARE,
                "--only" => plan.only = Some((*value()?).to_owned()),
                "--json" => plan.json = Some(value()?.into()),
                "--against" => {
                    plan.routes = Route::BOTH_BUILDS;
                    plan.against = Some(value()?.into());
                }
                _ => return Err(wrong()),
            }
        }
        Ok(plan)
    }

    fn rounds(&self) -> usize {
        if self.short { 3 } else { 7 }
    }

    fn window(&self) -> Duration {
        Duration::from_millis(if self.short { 120 } else { 700 })
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| name.contains(only))
    }
}

/// Measures and prints.
pub(crate) fn run(plan: &Plan) -> Outcome {
    let machine = Machine::watch();
    let site = Site::new("bench-gateway")?;
    let stage = Stage::start(&site, plan)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let mut report = Report { idle: stage.resident(), ..Report::default() };
        println!("{}", report::opening(&site));
        for case in case::all(plan.short).into_iter().filter(|case| plan.wants(&case.name())) {
            let cells = measure::case(plan, &stage, case).await?;
            report::print(case, &cells);
            report.cells.extend(cells);
        }
        if plan.wants(memory::NAME) {
            report.open_streams = memory::open_streams(plan, &stage).await?;
            report::print_open_streams(&report);
        }
        Ok::<Report, Failure>(report)
    })?;
    let ours = stage.processor_time() + Usage::of(std::process::id()).total();
    let others = machine.taken_by_others(ours, site.cores().count());
    let goals = goal::judge(&report);
    crate::goal::print(&goals);
    println!("other programs took {:.0} % of the machine meanwhile", others * 100.0);
    if let Some(file) = &plan.json {
        std::fs::write(file, report::json(&report, &goals, others))?;
    }
    Ok(())
}
