//! The texts of responses, in English or Chinese. Each says that it is not from a language model.

use toolwright_core::{Outcome, Tool};

use super::parameters::Parameter;

/// Maximum number of characters of an outcome that are repeated.
const EXCERPT: usize = 1200;
/// Maximum number of tools that are listed.
const NAMED: usize = 20;

/// The phrases of a language. `{}` is the name of a tool or of a parameter, or a list of names.
pub(super) struct Language {
    /// What every response begins with
    label: &'static str,
    failed: &'static str,
    ran: &'static str,
    ask: &'static str,
    described: &'static str,
    which: &'static str,
    no_tools: &'static str,
    no_match: &'static str,
    comma: &'static str,
    space: &'static str,
}

pub(super) const ENGLISH: Language = Language {
    label: "[offline/rules: a rule-based stand-in, not a language model] ",
    failed: "{} failed:",
    ran: "{} ran:",
    ask: "To call {} I need {more}. Please say it.",
    described: "`{}` ({more})",
    which: "I cannot tell which tool you mean: {}. Please name one.",
    no_tools: "There are no tools here, and without one I can do nothing.",
    no_match: "No tool here clearly matches your words, so none was called. Tools: {}.",
    comma: ", ",
    space: " ",
};

pub(super) const CHINESE: Language = Language {
    label: "［offline/rules：按规则应答的替身，不是语言模型］",
    failed: "{} 失败：",
    ran: "{} 已执行：",
    ask: "调用 {} 还需要{more}，请补充。",
    described: "`{}`（{more}）",
    which: "无法判断要用哪个工具：{}。请指明一个。",
    no_tools: "这里没有工具，我什么也做不了。",
    no_match: "没有工具与您的话明确相符，因此没有调用。可用工具：{}。",
    comma: "、",
    space: "",
};

impl Language {
    /// Joins sentences to a response.
    pub(super) fn answer(&self, sentences: &[String]) -> String {
        format!("{}{}", self.label, sentences.join("\n"))
    }

    /// Reports the outcome of a call, or the beginning of a long one.
    pub(super) fn outcome(&self, tool: &str, outcome: &Outcome) -> String {
        let words = outcome.words();
        // The instructions for passing a handle are for models.
        let lines = words.trim().lines().filter(|line| !line.contains("\"tw:"));
        let text = lines.collect::<Vec<_>>().join("\n");
        // The error already names the tool.
        let text = text.strip_prefix(&format!("{tool} failed: ")).unwrap_or(&text);
        let phrase = if outcome.is_error() { self.failed } else { self.ran };
        let separator = if text.contains('\n') { "\n" } else { self.space };
        let (begin, end) = match text.char_indices().nth(EXCERPT) {
            Some((end, _)) => (&text[..end], "…"),
            None => (text, ""),
        };
        format!("{}{separator}{begin}{end}", phrase.replace("{}", tool))
    }

    /// Asks for missing arguments of a tool.
    pub(super) fn ask(&self, tool: &str, missing: &[Parameter<'_>]) -> String {
        let each = missing.iter().map(|parameter| match parameter.about {
            Some(about) => self.described.replace("{}", parameter.name).replace("{more}", about),
            None => format!("`{}`", parameter.name),
        });
        let each = each.collect::<Vec<_>>().join(self.comma);
        self.ask.replace("{}", tool).replace("{more}", &each)
    }

    /// Asks which of several tools is meant.
    pub(super) fn which(&self, tools: &[&Tool]) -> String {
        self.which.replace("{}", &self.names(tools))
    }

    /// Says that no tool matches.
    pub(super) fn nothing(&self, tools: &[&Tool]) -> String {
        let phrase = if tools.is_empty() { self.no_tools } else { self.no_match };
        phrase.replace("{}", &self.names(tools))
    }

    fn names(&self, tools: &[&Tool]) -> String {
        let more = (tools.len() > NAMED).then_some("…");
        let names = tools.iter().take(NAMED).map(|tool| tool.name.as_str()).chain(more);
        names.collect::<Vec<_>>().join(self.comma)
    }
}
