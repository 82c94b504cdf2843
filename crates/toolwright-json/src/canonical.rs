//! The canonical text of a JSON object, which idempotency keys, digests, caches and duplicate detection
//! compare.

use std::borrow::Cow;

use crate::value::{Json, Object};

/// Returns a text that equal objects share, regardless of the order of their keys and the notation of
/// their numbers.
pub fn canonical(members: &Object) -> String {
    let mut out = String::with_capacity(128);
    object(members, &mut out);
    out
}

fn value(json: &Json, out: &mut String) {
    match json {
        Json::Number(number) => write_number(number.as_str(), out),
        Json::Array(items) => {
            out.push('[');
            for item in items {
                value(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Json::Object(members) => object(members, out),
        plain => plain.write_to(out),
    }
}

fn object(members: &Object, out: &mut String) {
    let mut sorted: Vec<(&str, &Json)> = members.iter().collect();
    // The sort is stable, so the last of repeated keys, which counts, stays last.
    sorted.sort_by_key(|(key, _)| *key);
    out.push('{');
    for (index, (key, member)) in sorted.iter().enumerate() {
        if sorted.get(index + 1).is_some_and(|(next, _)| next == key) {
            continue;
        }
        Json::from(*key).write_to(out);
        out.push(':');
        value(member, out);
        out.push(',');
    }
    out.push('}');
}

/// Writes the digits without leading and trailing zeros, and their power of ten.
fn write_number(text: &str, out: &mut String) {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let significant = match fraction {
        "" => Cow::Borrowed(whole),
        _ => Cow::Owned([whole, fraction].concat()),
    };
    let significant = significant.trim_start_matches('0');
    let shortest = significant.trim_end_matches('0');
    if shortest.is_empty() {
        out.push('0');
        return;
    }
    let zeros = significant.len() - shortest.len();
    let shift = i64::try_from(zeros).ok().zip(i64::try_from(fraction.len()).ok());
    let power = exponent.trim_start_matches('+').parse::<i64>().ok().zip(shift);
    match power.and_then(|(power, (up, down))| power.checked_add(up - down)) {
        Some(power) => out.extend([sign, shortest, "e", &power.to_string()]),
        // An exponent out of range is written as it is.
        None => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use crate::value::Json;

    fn of(text: &str) -> String {
        canonical(Json::parse(text).unwrap().as_object().unwrap())
    }

    #[test]
    fn equal_arguments_have_one_spelling() {
        for (one, other) in [
            (r#"{"a":1,"b":{"c":2,"d":3}}"#, r#"{"b":{"d":3,"c":2},"a":1}"#),
            (r#"{"n":[1,1.0,10e-1,0.1E+1]}"#, r#"{"n":[1.00,1,1,1]}"#),
            (r#"{"n":[100,-0,0.010]}"#, r#"{"n":[1e2,0.0,1e-2]}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"t":"caf\u00e9"}"#, r#"{"t":"café"}"#),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
    }

    #[test]
    fn different_arguments_have_different_spellings() {
        for (one, other) in [
            (r#"{"n":9007199254740993}"#, r#"{"n":9007199254740992}"#),
            (r#"{"n":1e99999999999999999999}"#, r#"{"n":1e99999999999999999998}"#),
            (r#"{"n":1}"#, r#"{"n":-1}"#),
            (r#"{"n":1}"#, r#"{"n":"1"}"#),
            (r#"{"n":null}"#, "{}"),
            (r#"{"n":["a","b"]}"#, r#"{"n":["a,b"]}"#),
            (r#"{"n":[1,2]}"#, r#"{"n":[2,1]}"#),
        ] {
            assert_ne!(of(one), of(other), "{one} {other}");
        }
    }
}
