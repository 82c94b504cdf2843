//! The texts of responses, in English or Chinese. Each says that it is not from a language model.

use toolwright_core::{Body, Outcome, Tool};

/// Maximum number of characters of an outcome that are repeated.
const EXCERPT: usize = 1200;
/// Maximum number of tools that are listed.
const NAMED: usize = 20;

/// The phrases of a language. `{}` is the name of a tool or a list of names.
pub(super) struct Language {
    /// What every response begins with
    label: &'static str,
    failed: &'static str,
    ran: &'static str,
    ran_silently: &'static str,
    ask: &'static str,
    which: &'static str,
    no_tools: &'static str,
    no_match: &'static str,
    because: &'static str,
    brackets: [&'static str; 2],
    comma: &'static str,
    space: &'static str,
}

pub(super) const ENGLISH: Language = Language {
    label: "[offline/rules: a rule-based stand-in, not a language model] ",
    failed: "{} failed:",
    ran: "{} ran:",
    ran_silently: "{} ran and returned nothing.",
    ask: "To call {} I need {more}. Please say it.",
    which: "I cannot tell which tool you mean: {}. Please name one.",
    no_tools: "There are no tools here, and without one I can do nothing.",
    no_match: "No tool here clearly matches your words, so none was called. Tools: {}.",
    because: "Rules: {} matches the words {more}.",
    brackets: [" (", ")"],
    comma: ", ",
    space: " ",
};

pub(super) const CHINESE: Language = Language {
    label: "［offline/rules：按规则应答的替身，不是语言模型］",
    failed: "{} 失败：",
    ran: "{} 已执行：",
    ran_silently: "{} 已执行，没有返回内容。",
    ask: "调用 {} 还需要{more}，请补充。",
    which: "无法判断要用哪个工具：{}。请指明一个。",
    no_tools: "这里没有工具，我什么也做不了。",
    no_match: "没有工具与您的话明确相符，因此没有调用。可用工具：{}。",
    because: "规则：{} 与以下词相符：{more}。",
    brackets: ["（", "）"],
    comma: "、",
    space: "",
};

impl Language {
    /// Joins sentences to a response.
    pub(super) fn answer(&self, sentences: &[String]) -> String {
        format!("{}{}", self.label, sentences.join("\n"))
    }

    /// Reports the outcome of a call.
    pub(super) fn outcome(&self, tool: &str, outcome: &Outcome) -> String {
        let text = gist(outcome);
        // The error already names the tool.
        let text = text.strip_prefix(&format!("{tool} failed: ")).unwrap_or(&text);
        let phrase = match (outcome.is_error(), text.is_empty()) {
            (true, _) => self.failed,
            (false, true) => self.ran_silently,
            (false, false) => self.ran,
        };
        let separator = if text.contains('\n') { "\n" } else { self.space };
        let text = if text.is_empty() { String::new() } else { format!("{separator}{text}") };
        phrase.replace("{}", tool) + &text
    }

    /// Asks for missing arguments of a tool.
    pub(super) fn ask(&self, tool: &str, missing: &[(&str, Option<&str>)]) -> String {
        let [open, close] = self.brackets;
        let each = missing.iter().map(|(name, about)| match about {
            Some(about) => format!("`{name}`{open}{about}{close}"),
            None => format!("`{name}`"),
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

    /// Explains why a tool was chosen.
    pub(super) fn because(&self, tool: &str, words: &[String]) -> String {
        self.because.replace("{}", tool).replace("{more}", &words.join(", "))
    }

    fn names(&self, tools: &[&Tool]) -> String {
        let more = (tools.len() > NAMED).then_some("…");
        let names = tools.iter().take(NAMED).map(|tool| tool.name.as_str()).chain(more);
        names.collect::<Vec<_>>().join(self.comma)
    }
}

/// Returns the beginning of an outcome's text.
fn gist(outcome: &Outcome) -> String {
    let texts = outcome.content.iter().map(|part| match &part.body {
        // The instructions for passing a handle are for models.
        Body::Text(text) => {
            let lines = text.trim().lines().filter(|line| !line.contains("\"tw:"));
            lines.collect::<Vec<_>>().join("\n")
        }
        Body::Json(value) => value.compact(),
        _ => "…".to_owned(),
    });
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
