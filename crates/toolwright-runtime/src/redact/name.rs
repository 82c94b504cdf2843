//! Detects secrets by the name of their field.
//!
//! A name is split into words (`clientSecret`, `client_secret` and `X-Client-Secret` alike), so
//! that `author` does not match `auth`. A word that counts, names or locates a secret does not
//! match either: `token_count`, `max_tokens`, `password_policy`, `next_page_token`.

/// Words that mean a secret by themselves.
const SECRETS: &[&str] = &[
    "auth",
    "authorization",
    "bearer",
    "contraseña",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "cvc",
    "cvv",
    "jwt",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passphrases",
    "passwd",
    "password",
    "passwords",
    "passwort",
    "pin",
    "pwd",
    "secret",
    "secrets",
    "senha",
    "token",
    "пароль",
];

/// Endings of compound words without separators: `dbpassword`, `accesstoken`.
const ENDINGS: &[&str] = &["passphrase", "passwd", "password", "secret", "token", "apikey"];

/// Words before "key" that mean a secret key.
const KEYS: &[&str] = &[
    "access",
    "account",
    "api",
    "auth",
    "client",
    "deploy",
    "encryption",
    "hmac",
    "host",
    "master",
    "private",
    "secret",
    "service",
    "shared",
    "signing",
    "ssh",
    "storage",
    "subscription",
];

/// Words before "token" that mean a secret token; otherwise tokens are those of a model.
const TOKENS: &[&str] =
    &["access", "api", "auth", "bearer", "csrf", "id", "personal", "refresh", "session"];

/// Words before "token" that mean a cursor or a model's token.
const PLACES: &[&str] = &[
    "bos",
    "cls",
    "continuation",
    "cursor",
    "end",
    "eos",
    "first",
    "last",
    "mask",
    "next",
    "pad",
    "page",
    "pagination",
    "prev",
    "previous",
    "resume",
    "sep",
    "special",
    "start",
    "stop",
    "sync",
    "unk",
];

/// Words after a secret's name that mean metadata of the secret.
const ABOUT: &[&str] = &[
    "age", "arn", "budget", "cost", "count", "counts", "created", "enabled", "endpoint", "expires",
    "expiry", "field", "file", "format", "header", "id", "ids", "index", "kind", "length", "limit",
    "max", "method", "min", "mode", "name", "names", "path", "policy", "prefix", "price",
    "provider", "rate", "required", "rotation", "scope", "scopes", "size", "status", "strategy",
    "strength", "ttl", "type", "types", "uri", "url", "usage", "version",
];

/// Words of scripts without separators.
const UNBROKEN: &[&str] = &[
    "密码",
    "口令",
    "密钥",
    "秘钥",
    "私钥",
    "令牌",
    "凭证",
    "凭据",
    "验证码",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "암호",
];

/// Words that change the meaning of such a name, or mean metadata of the secret.
const UNBROKEN_ABOUT: &[&str] = &[
    "数",
    "个数",
    "长度",
    "类型",
    "上限",
    "名称",
    "策略",
    "地址",
    "学",
    "子",
    "预算",
    "用量",
    "费用",
    "强度",
    "有效期",
    "過期",
    "过期",
];

/// Whether the name means a secret.
pub(super) fn is_secret(name: &str) -> bool {
    if unbroken(name) {
        return true;
    }
    let words = words(name);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    (0..words.len()).any(|at| {
        let before = if at == 0 { "" } else { word(at - 1) };
        let (own, after) = (word(at), word(at + 1));
        let secret = SECRETS.contains(&own)
            || ENDINGS.iter().any(|ending| own.ends_with(ending))
            || (matches!(own, "key" | "keys") && KEYS.contains(&before))
            || (own == "tokens" && TOKENS.contains(&before))
            || matches!(own, "apikeys" | "accesskey" | "privatekey" | "secretkey");
        let place = own == "token" && PLACES.contains(&before);
        // The id of a secret grants access, unlike that of a token or a key.
        let about = ABOUT.contains(&after) && (own, after) != ("secret", "id");
        secret && !place && !about
    })
}

/// Whether a name in a script without separators means a secret.
fn unbroken(name: &str) -> bool {
    !name.is_ascii()
        && UNBROKEN.iter().any(|word| {
            name.match_indices(word).any(|(at, _)| {
                let rest = name[at + word.len()..].trim_start_matches(['的', '_', '-', ' ']);
                !UNBROKEN_ABOUT.iter().any(|about| rest.starts_with(about))
            })
        })
}

/// Splits a name into lower-case words, at separators and before capitals.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(at + 1);
        let hump = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || (before.is_some_and(|before| before.is_uppercase())
                    && after.is_some_and(|after| after.is_lowercase())));
        if hump || !letter.is_alphabetic() {
            words.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known() {
        for name in [
            "password",
            "Password",
            "PASSWORD",
            "user_password",
            "userPassword",
            "dbpassword",
            "password2",
            "passwd",
            "db_passwd",
            "pwd",
            "passphrase",
            "secret",
            "client_secret",
            "clientSecret",
            "ClientSecret",
            "secret_id",
            "token",
            "access_token",
            "accessToken",
            "accesstoken",
            "refresh_token",
            "auth_token",
            "GITHUB_TOKEN",
            "id_token",
            "access_tokens",
            "api_key",
            "apikey",
            "apiKey",
            "APIKey",
            "APIKEY",
            "X-API-Key",
            "x-api-key",
            "openai_api_key",
            "api_keys",
            "authorization",
            "Authorization",
            "Proxy-Authorization",
            "cookie",
            "Set-Cookie",
            "cookies",
            "private_key",
            "privateKey",
            "ssh_key",
            "credential",
            "credentials",
            "aws_credentials",
            "access_key",
            "secret_key",
            "aws_secret_access_key",
            "secretAccessKey",
            "account_key",
            "jwt",
            "otp",
            "cvv",
            "password_hash",
            "password.value",
            "密码",
            "登录密码",
            "用户密码",
            "口令",
            "密钥",
            "API密钥",
            "私钥",
            "令牌",
            "访问令牌",
            "令牌值",
            "凭证",
            "パスワード",
            "비밀번호",
            "пароль",
            "Пароль",
            "contraseña",
        ] {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_it_are_left() {
        for name in [
            "",
            "_",
            "name",
            "author",
            "authors",
            "author_name",
            "authority",
            "token_count",
            "tokenCount",
            "tokens",
            "max_tokens",
            "maxTokens",
            "input_tokens",
            "total_tokens",
            "prompt_tokens_details",
            "tokenizer",
            "tokenize",
            "token_type",
            "token_url",
            "token_limit",
            "token_budget",
            "next_page_token",
            "nextPageToken",
            "nextToken",
            "page_token",
            "continuation_token",
            "eos_token",
            "stop_token",
            "pad_token_id",
            "password_policy",
            "passwordLength",
            "password_required",
            "secret_name",
            "secretName",
            "secret_arn",
            "cookie_policy",
            "key",
            "keys",
            "primary_key",
            "foreign_key",
            "partition_key",
            "sort_key",
            "public_key",
            "publicKey",
            "key_name",
            "access_key_id",
            "api_key_id",
            "api_key_name",
            "keyboard",
            "monkey",
            "passenger",
            "compass",
            "passport",
            "bypass",
            "passed",
            "pinned",
            "pinpoint",
            "spin",
            "secretary",
            "oauth_provider",
            "auth_method",
            "auth_type",
            "令牌数",
            "最大令牌数",
            "令牌数量",
            "密码学",
            "密码子",
            "密码长度",
            "密码策略",
            "令牌的数量",
            "公钥",
            "作者",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_name_is_read_word_by_word() {
        assert_eq!(words("XApiKey2Value"), ["x", "api", "key", "value"]);
        assert_eq!(words("HTTPAuthToken"), ["http", "auth", "token"]);
        assert_eq!(words("a-b_c.d e"), ["a", "b", "c", "d", "e"]);
        assert_eq!(words("--"), [""; 0]);
    }
}
