//! `toolwright plan make`: a plan by a model.

use std::path::PathBuf;

use clap::Args;
use toolwright_plan::{MAX_ATTEMPTS, MadePlan, MakeError, make_plan};
use toolwright_runtime::offline::OFFLINE;

use super::run::RunOptions;
use crate::exit::Failure;
use crate::tools;

#[derive(Debug, Args)]
pub(super) struct Make {
    /// What the plan has to do
    task: String,
    /// Ask this language model: `upstream/model`, a name of the configuration, or an id such as `gpt-4o`
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// Let the model write at most this many plans, until one is valid
    #[arg(long, value_name = "N", default_value_t = MAX_ATTEMPTS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: u32,
    /// Write the plan to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Run the plan, after a person has confirmed it
    #[arg(long)]
    run: bool,
    /// Use these inputs for the run; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}", requires = "run")]
    inputs: String,
    #[command(flatten)]
    options: RunOptions,
}

impl Make {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Make { task, model, max_attempts, output, run, inputs, options } = self;
        let config = options.tools.load_config()?;
        let model = tools::inspect(&config)?
            .live()
            .routes
            .model(&model)
            .map_err(|fault| Failure::usage(fault.message).with_hint("pass another --model"))?;
        if model.name() == OFFLINE {
            let message = "offline/rules is not a language model, and cannot write a plan";
            let hint = "pass another --model, or let the rules make the calls: toolwright ask TASK --record plan.json";
            return Err(Failure::failed(message).with_hint(hint));
        }
        let tools = options.tools.load_for(&task)?;
        let made = tools::block_on(make_plan(&model, &task, &tools, max_attempts))?;
        let MadePlan { plan, .. } = made.map_err(|error| match &error {
            MakeError::Invalid { errors, .. } => {
                super::show(errors);
                let hint =
                    "nothing was written; say more exactly what to do, or pass --max-attempts";
                Failure::failed(error.to_string()).with_hint(hint)
            }
            _ => Failure::failed(error.to_string()),
        })?;
        if output.is_some() || !run {
            super::save(plan.to_json(), output.as_deref())?;
        }
        if run { options.start("the plan", plan, &inputs, true) } else { Ok(()) }
    }
}
