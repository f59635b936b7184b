//! The names of the vendor's models, as its own service and other clouds write them.

/// A model's name without what clouds and dates add to it:
/// `us.anthropic.claude-opus-4-1-20250805-v1:0` is `claude-opus-4-1`.
pub fn model_name(model: &str) -> &str {
    let name = model.rsplit_once("anthropic.").map_or(model, |(_, name)| name);
    let name = name.split(['[', '@', ':']).next().unwrap_or(name);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match name.rsplit_once("-v") {
        Some((rest, version)) if digits(version) => rest,
        Some(_) | None => name,
    };
    match name.rsplit_once('-') {
        Some((rest, date)) if date.len() == 8 && digits(date) => rest,
        Some(_) | None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_other_clouds_too() {
        for name in [
            "claude-sonnet-4-5-20250929",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude-sonnet-4-5@20250929",
            "claude-sonnet-4-5[1m]",
        ] {
            assert_eq!(model_name(name), "claude-sonnet-4-5");
        }
        assert_eq!(model_name("claude-3-5-haiku-20241022"), "claude-3-5-haiku");
    }
}
