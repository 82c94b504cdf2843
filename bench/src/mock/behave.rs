//! The behaviour of the mock, selected by the name of the requested model.

use std::time::Duration;

/// How a request is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// `mock`: replies at once, each event flushed separately
    Plain,
    /// `mock-gap-20`: waits 20 ms before each event except the first
    Gap(Duration),
    /// `mock-reset`: resets the connection before any byte
    Reset,
    /// `mock-stall`: never sends a byte
    Stall,
    /// `mock-hang`: sends half the reply, and then nothing
    Hang,
    /// `mock-cut`: sends half the reply, and then closes the connection
    Cut,
    /// `mock-busy`: 429 with `retry-after`
    Busy,
    /// `mock-fails`: 500
    Fails,
    /// `mock-html`: 502 with an HTML page
    Html,
    /// `mock-tools`: calls the tools that it is offered
    Tools,
}

impl Behaviour {
    /// Parses a model's name. A routing prefix (`oa/`) is ignored.
    pub(crate) fn of(model: &[u8]) -> Behaviour {
        let name = model.rsplit(|byte| *byte == b'/').next().unwrap_or(model);
        match name.strip_prefix(b"mock-").unwrap_or_default() {
            b"reset" => Behaviour::Reset,
            b"stall" => Behaviour::Stall,
            b"hang" => Behaviour::Hang,
            b"cut" => Behaviour::Cut,
            b"busy" => Behaviour::Busy,
            b"fails" => Behaviour::Fails,
            b"html" => Behaviour::Html,
            b"tools" => Behaviour::Tools,
            other => gap(other).map_or(Behaviour::Plain, Behaviour::Gap),
        }
    }
}

fn gap(name: &[u8]) -> Option<Duration> {
    let digits = std::str::from_utf8(name.strip_prefix(b"gap-")?).ok()?;
    digits.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_selects_the_behaviour() {
        assert_eq!(Behaviour::of(b"mock"), Behaviour::Plain);
        assert_eq!(Behaviour::of(b"oa/mock-reset"), Behaviour::Reset);
        assert_eq!(Behaviour::of(b"an/mock-gap-20"), Behaviour::Gap(Duration::from_millis(20)));
    }
}
