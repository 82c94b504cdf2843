//! Elements of SVG.

use std::fmt::Write;

use super::style::StateStyle;

/// Space between the border of a picture and its content.
pub(super) const MARGIN: i64 = 24;

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK SC', \
                    'PingFang SC', 'Microsoft YaHei', sans-serif";

/// Which end of a text its position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture as it is written.
pub(super) struct Canvas {
    out: String,
}

impl Canvas {
    pub(super) fn new() -> Canvas {
        Canvas { out: String::new() }
    }

    /// Adds an element or a part of one, which is SVG already.
    pub(super) fn raw(&mut self, svg: std::fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = self.out.write_fmt(svg);
    }

    /// Adds the text that a viewer shows for the group that is open.
    pub(super) fn title(&mut self, text: &str) {
        self.raw(format_args!("<title>{}</title>", escape(text)));
    }

    /// Adds a text at a point of its baseline. The class of ordinary text is empty.
    pub(super) fn text(
        &mut self,
        (x, y): (i64, i64),
        size: i64,
        class: &str,
        anchor: Anchor,
        text: &str,
    ) {
        let class = match class {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escape(text);
        self.raw(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{class}{anchor}>{text}</text>"
        ));
    }

    /// Adds the symbol of a state around a point.
    pub(super) fn symbol(&mut self, style: &StateStyle, x: i64, y: i64) {
        if !style.symbol.is_empty() {
            let (color, symbol) = (style.stroke, style.symbol);
            self.raw(format_args!(
                "<g transform=\"translate({x} {y})\" color=\"{color}\">{symbol}</g>"
            ));
        }
    }

    /// Returns the whole document.
    pub(super) fn end(self, width: i64, height: i64, title: &str) -> String {
        let title = escape(title);
        let body = self.out;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" font-family=\"{FONT}\">\n<title>{title}</title>\n\
             <style>text{{fill:#1f2933}}.bold{{font-weight:600}}.quiet{{fill:#48555f}}\
             .symbol{{fill:currentColor}}.symbol-line{{fill:none;stroke:currentColor;stroke-width:2}}\
             .edge{{fill:none;stroke:#66727d;stroke-width:1.4}}.after{{stroke-dasharray:6 4}}\
             .slot{{stroke-dasharray:1 4;stroke-width:2.4;stroke-linecap:round}}\
             .shared{{stroke-dasharray:9 3 2 3}}.grid{{stroke:#d8dee4}}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{body}</svg>\n"
        )
    }
}

/// Escapes a text for XML. Characters that XML cannot have become U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            '\0'..' ' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
