//! Changes between the text of a model and the arguments that a tool receives.

use toolwright_json::{Json, Object, object};

/// One change of the arguments. Every difference is reported as one.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// JSON Pointer into the arguments; empty for the text or the arguments as a whole
    pub path: String,
    /// The kind of change
    pub op: Op,
    /// The previous value or text, if it is worth showing
    pub from: Option<Json>,
    /// The new value
    pub to: Option<Json>,
    /// The cost: that of its kind, less for a repeated habit, more for a doubtful change
    pub cost: u32,
}

impl Change {
    /// Creates a change at a path.
    pub fn new(path: impl Into<String>, op: Op) -> Change {
        Change { path: path.into(), op, from: None, to: None, cost: op.cost() }
    }

    /// Sets the previous and the new value.
    pub fn with_values(mut self, from: impl Into<Json>, to: impl Into<Json>) -> Change {
        self.from = Some(from.into());
        self.to = Some(to.into());
        self
    }

    /// Sets a cost other than that of its kind.
    pub fn with_cost(mut self, cost: u32) -> Change {
        self.cost = cost;
        self
    }

    /// Returns the JSON form: `{path, op, from, to}`.
    pub fn to_json(&self) -> Object {
        let mut out = object! {"path": self.path.as_str(), "op": self.op.as_str()};
        out.insert_some("from", self.from.clone());
        out.insert_some("to", self.to.clone());
        out
    }
}

macro_rules! ops {
    ($($name:ident $word:literal $cost:literal $doc:literal)*) => {
        /// The kinds of change, those of the text first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op { $(#[doc = $doc] $name,)* }

        impl Op {
            /// Every kind.
            pub const ALL: &[Op] = &[$(Op::$name),*];

            /// Returns the name in reports.
            pub fn as_str(self) -> &'static str {
                match self { $(Op::$name => $word,)* }
            }

            /// Returns the cost. The cheapest valid reading is chosen.
            pub fn cost(self) -> u32 {
                match self { $(Op::$name => $cost,)* }
            }
        }
    };
}

ops! {
    Unfence "unfence" 1 "A code fence, tags or prose around the arguments were taken off"
    Decode "decode" 1 "A string that held the arguments as JSON was read again"
    Split "split" 4 "Several documents stood where one belongs"
    Quote "quote" 1 "A key or string without double quotes was quoted"
    Comma "comma" 1 "A comma was added or taken away"
    Mark "mark" 2 "A bracket, colon, comma or space was missing or was another character"
    Comment "comment" 1 "A comment was taken away"
    Literal "literal" 1 "Another language's `True`, `None` or number was respelled"
    Escape "escape" 2 "A character that had to be escaped in a string was"
    Close "close" 8 "Text that was cut off was closed"
    Unwrap "unwrap" 2 "Arguments inside another object were taken out of it"
    Number "number" 1 "A string became the number it spells"
    Boolean "boolean" 1 "A string became the boolean it spells"
    Text "text" 2 "A number or boolean became a string"
    Parse "parse" 1 "A string became the array or object it holds as JSON"
    List "list" 2 "A single value became an array of one"
    Enum "enum" 1 "A string became the accepted value that differs in case, spaces or separators"
    Absent "absent" 1 "A null for an optional parameter was taken away"
    CommaList "comma_list" 3 "A list with commas became an array (opt-in)"
    Thousands "thousands" 3 "A number with thousands separators became one without (opt-in)"
    Rename "rename" 2 "A name was folded onto the parameter's own spelling (opt-in)"
    Handle "handle" 0 "A handle was replaced by the value it stands for"
    Repeat "repeat" 1 "Of a key that was repeated with the same value one was left"
    Hide "hide" 0 "A hidden parameter that the model supplied was taken away"
}
