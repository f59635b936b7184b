//! A command line as a person would type it: for people to read and paste, never given to a shell by us.

/// Words that a shell would split or change are quoted. Not escaped for a terminal.
pub fn quoted(argv: &[String]) -> String {
    let is_simple = |word: &str| {
        // At its beginning, a shell would replace these: a home, and in zsh the path of a program.
        !word.is_empty()
            && !word.starts_with(['~', '='])
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:=@%+,~".contains(&b))
    };
    let quote = |word: &String| match is_simple(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_where_it_matters() {
        let argv = ["sh", "-c", "echo 'hi'", ""].map(str::to_owned);
        assert_eq!(quoted(&argv), r"sh -c 'echo '\''hi'\''' ''");
        let socket = "/tmp/x;touch owned";
        let argv = ["tmux", "-S", socket, "attach", "-t", "=bob", "~", "a=~"].map(str::to_owned);
        assert_eq!(quoted(&argv), format!("tmux -S '{socket}' attach -t '=bob' '~' a=~"));
    }
}
