//! Sizes with units: `64KB` is 64 000 bytes, `64KiB` is 65 536.

/// The units, for error messages.
pub(crate) const UNITS: &str = "B, KB, MB, GB, KiB, MiB, GiB";

/// Parses an integer with its unit, in bytes.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_number_has_its_unit() {
        assert_eq!(parse("32MB"), Some(32_000_000));
        assert_eq!(parse("64 KiB"), Some(65_536));
        assert_eq!(parse("2gb"), Some(2_000_000_000));
        assert_eq!(parse("100"), Some(100));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "MB", "-1MB", "1.5MB", "10 apples", "18446744073709551615GB"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
