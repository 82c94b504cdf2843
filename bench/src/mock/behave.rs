//! How the mock behaves, told by the name of the model that is asked for.

use std::time::Duration;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// `mock`: the answer at once, each event flushed by itself
    Plain,
    /// `mock-gap-20`: 20 ms before each event but the first
    Gap(Duration),
    /// `mock-reset`: the connection is reset before any byte
    Reset,
    /// `mock-stall`: no byte ever comes
    Stall,
    /// `mock-hang`: half the answer, and then nothing
    Hang,
    /// `mock-cut`: half the answer, and then the connection is closed
    Cut,
    /// `mock-busy`: 429 with `retry-after`
    Busy,
    /// `mock-fails`: 500
    Fails,
    /// `mock-html`: 502 with a page for people
    Html,
    /// `mock-tools`: calls the tools that it is offered
    Tools,
}

impl Behaviour {
    /// What a model's name asks for. A prefix that routes (`oa/`) says nothing.
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
    fn a_name_tells_the_behaviour() {
        assert_eq!(Behaviour::of(b"mock"), Behaviour::Plain);
        assert_eq!(Behaviour::of(b"oa/mock-reset"), Behaviour::Reset);
        assert_eq!(Behaviour::of(b"an/mock-gap-20"), Behaviour::Gap(Duration::from_millis(20)));
    }
}
