//! Environment variables, looked up by a function, so that nothing but [`process`] depends on the
//! process.

use crate::secret::SecretString;

/// Looks up a variable. An empty value counts as absent.
pub type Environment<'e> = &'e (dyn Fn(&str) -> Option<String> + 'e);

/// Looks up a variable of this process.
pub fn process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The trimmed value of a variable.
pub fn get(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The value of a variable that holds a secret.
pub fn secret(environment: Environment<'_>, name: &str) -> Option<SecretString> {
    get(environment, name).map(SecretString::new)
}

/// The first variable that is set, with its value.
pub fn first(
    names: &'static [&'static str],
    environment: Environment<'_>,
) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| Some((*name, get(environment, name)?)))
}
