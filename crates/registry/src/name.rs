//! Names of agents: what people type after `agents show` and in a step's `agent`.

/// Names are as long as a DNS label at most.
const MAX_BYTES: usize = 63;

/// Says why a name cannot be used, if it cannot.
pub(crate) fn problem(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if name.len() <= MAX_BYTES && starts_well && name.chars().all(is_plain) {
        return None;
    }
    Some(format!(
        "`{}` is not a name for an agent: use 1 to {MAX_BYTES} of a-z, 0-9, `-`, `_` and `.`, beginning with a letter or digit",
        shortened(name)
    ))
}

/// Makes a name of what a card calls its agent: `Flight Booker (EU)` becomes `flight-booker-eu`.
pub(crate) fn from_title(title: &str) -> Option<String> {
    let mut name = String::new();
    for c in title.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() == MAX_BYTES {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{from_title, problem};

    #[test]
    fn a_title_becomes_a_name() {
        assert_eq!(from_title("Flight Booker (EU)").as_deref(), Some("flight-booker-eu"));
        assert_eq!(from_title("  Zürich 2 ").as_deref(), Some("z-rich-2"));
        assert_eq!(from_title("☃"), None);
        let long = from_title(&"a b ".repeat(100)).unwrap();
        assert!(long.len() <= 63 && problem(&long).is_none(), "{long}");
    }

    #[test]
    fn names_that_would_confuse_are_refused() {
        for name in ["", "Flights", "-a", "a/b", "é", &"a".repeat(64)] {
            assert!(problem(name).is_some(), "{name}");
        }
        for name in ["a", "flights-2", "team.flights_eu", &"a".repeat(63)] {
            assert_eq!(problem(name), None);
        }
    }
}
