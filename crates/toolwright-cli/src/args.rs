//! `toolwright args`: the arguments that a tool would run with.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use toolwright_core::args::{CoercionOptions, Parameters, ResolvedArguments, hidden_names, parse};
use toolwright_core::json::Object;
use toolwright_core::schema::Violation;
use toolwright_core::{Arguments, Json, object};

use super::exit::{self, Failure, Result};
use super::{input, tool};

/// Maximum length of a line of a batch, in bytes.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum number of compiled tools that a batch caches.
const MAX_CACHED_TOOLS: usize = 256;

/// Arguments of `args`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The tool is one definition in any dialect's shape, or {\"name\", \"description\", \"parameters\"}.
The arguments are JSON, or the text that a model wrote: fences, single quotes, missing commas and
the like are repaired, values are coerced where the schema leaves no doubt, defaults are filled.
The result says all that was changed, all that is missing and all that is wrong:

  {\"tool_name\", \"tool_args\", \"missing_tool_args\", \"missing\": [{\"name\", \"required\"}],
   \"defaulted\", \"changes\": [{\"path\", \"op\", \"from\", \"to\"}],
   \"errors\": [{\"path\", \"keyword\", \"message\", \"got\", \"accepted\"}]}

tool_args is null if the text cannot be read at all. The exit code is 1 where errors remain.

A line of a batch is {\"tool\": {…}, \"args\": <object, or the model's text as a string>}; each gives
one line of output in its place, a line that cannot be used too.

Examples:
  toolwright args --tool weather.json --args '{\"city\": \"Paris\", \"days\": \"3\"}'
  toolwright args --tool relax.json --args @- --hide @system < answer.txt
  toolwright args --batch calls.jsonl --lenient > results.jsonl")]
pub(crate) struct Args {
    /// Read the definition of the tool from this file; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present = "batch", requires = "args")]
    tool: Option<PathBuf>,
    /// Use these arguments; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long = "args", id = "args", value_name = "JSON|@FILE", requires = "tool")]
    given: Option<String>,
    /// Hide these parameters from the model; `@system` stands for executor,storage
    #[arg(long, value_name = "NAMES", default_value = "", hide_default_value = true)]
    hide: String,
    /// Also coerce ambiguous values: comma lists, thousands separators, other spellings of names
    #[arg(long)]
    lenient: bool,
    /// Read one call from each line of this file; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tool", "args"])]
    batch: Option<PathBuf>,
}

impl Args {
    /// Resolves one call, or each call of a batch.
    pub(crate) fn run(self) -> Result<()> {
        let judge = Judge {
            hidden: hidden_names(&self.hide),
            options: if self.lenient {
                CoercionOptions::LENIENT
            } else {
                CoercionOptions::default()
            },
        };
        match (&self.batch, &self.tool, &self.given) {
            (Some(batch), _, _) => judge.batch(batch),
            (None, Some(tool), Some(args)) => judge.one(tool, args),
            _ => Err(Failure::usage("--tool and --args, or --batch")),
        }
    }
}

/// Options for checking calls.
struct Judge {
    hidden: Vec<String>,
    options: CoercionOptions,
}

impl Judge {
    fn one(&self, tool: &Path, args: &str) -> Result<()> {
        if args == "@-" && tool == Path::new("-") {
            return Err(Failure::usage("--tool and --args cannot both be stdin"));
        }
        let text = input::argument(args)?;
        let definition = input::json(Some(tool))?;
        let name = tool.display();
        let parameters = self
            .compile(definition)
            .map_err(|reason| Failure::failed(format!("{name}: {reason}")))?;
        let settled = self.resolve(&parameters, Arguments::from_text(text));
        exit::print_json(settled.to_json())?;
        warn(&parameters);
        match settled.feedback() {
            None => Ok(()),
            Some(feedback) => Err(Failure::failed(feedback)),
        }
    }

    fn batch(&self, file: &Path) -> Result<()> {
        let name = file.display().to_string();
        let mut lines = BufReader::new(input::open(Some(file))?);
        let mut stdout = io::BufWriter::new(io::stdout().lock());
        let mut kept: HashMap<String, Parameters> = HashMap::new();
        let (mut count, mut wrong, mut line) = (0_usize, 0_usize, Vec::new());
        let mut is_first = true;
        loop {
            line.clear();
            let read = (&mut lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            if read.map_err(exit::io(&name))? == 0 {
                break;
            }
            let is_cut = line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE_BYTES;
            if is_cut {
                lines.skip_until(b'\n').map_err(exit::io(&name))?;
            }
            let own = if is_first { input::unmarked(&line) } else { &line };
            is_first = false;
            if own.trim_ascii().is_empty() {
                continue;
            }
            count += 1;
            let settled = if is_cut {
                Err(format!("longer than {MAX_LINE_BYTES} bytes"))
            } else {
                self.line(own, &mut kept)
            };
            let is_right = settled.as_ref().is_ok_and(ResolvedArguments::is_runnable);
            wrong += usize::from(!is_right);
            let result = settled.map_or_else(unusable, |settled| settled.to_json());
            writeln!(stdout, "{}", result.compact()).map_err(exit::io("stdout"))?;
        }
        stdout.flush().map_err(exit::io("stdout"))?;
        match wrong {
            0 => Ok(()),
            wrong => Err(Failure::failed(format!("{wrong} of {count} calls have errors"))),
        }
    }

    /// One line of a batch.
    fn line(
        &self,
        line: &[u8],
        kept: &mut HashMap<String, Parameters>,
    ) -> Result<ResolvedArguments, String> {
        let document = Json::parse_bytes(line).map_err(|error| format!("not JSON: {error}"))?;
        let Json::Object(mut document) = document else {
            return Err("not an object with 'tool' and 'args'".into());
        };
        let tool = document.remove("tool").ok_or("'tool' is missing")?;
        let arguments = match document.remove("args").ok_or("'args' is missing")? {
            Json::String(text) => Arguments::from_text(text),
            value => Arguments::from_json(&value),
        };
        let key = tool.compact();
        if !kept.contains_key(&key) {
            if kept.len() >= MAX_CACHED_TOOLS {
                kept.clear();
            }
            let parameters = self.compile(tool)?;
            warn(&parameters);
            kept.insert(key.clone(), parameters);
        }
        let parameters = kept.get(&key).ok_or("no tool")?;
        Ok(self.resolve(parameters, arguments))
    }

    fn compile(&self, definition: Json) -> Result<Parameters, String> {
        let tool = tool::read(definition)?;
        Parameters::compile(&tool, &self.hidden).map_err(|error| error.to_string())
    }

    fn resolve(&self, parameters: &Parameters, arguments: Arguments) -> ResolvedArguments {
        parameters.resolve(parse(&arguments), &self.options)
    }
}

/// The result for a line that cannot be used.
fn unusable(reason: String) -> Object {
    object! {
        "tool_name": Json::Null,
        "tool_args": Json::Null,
        "missing_tool_args": Json::Array(Vec::new()),
        "missing": Json::Array(Vec::new()),
        "defaulted": Json::Array(Vec::new()),
        "changes": Json::Array(Vec::new()),
        "errors": vec![object! {"path": "", "keyword": "batch", "message": reason}],
    }
}

/// Prints which defaults are ignored.
fn warn(parameters: &Parameters) {
    let tool = parameters.tool();
    for Violation { path, message, .. } in parameters.bad_defaults() {
        exit::warn(&format!(
            "tool {tool}: the default at {path} is not valid and counts as absent: {message}"
        ));
    }
}
