//! From a place in a string's value back to the place in the text it was written as.

/// The byte offset within `raw` (the scalar as written) of byte `index` of `value`.
///
/// Both are walked together: equal characters advance both, and what differs is either an escape
/// (one or more written characters for one of the value) or white space that folding and
/// indentation changed. Exact for everything but the white space around a folded line.
pub(super) fn offset(raw: &str, value: &str, index: usize) -> u32 {
    let style = raw.chars().next().unwrap_or(' ');
    let mut written = match style {
        '"' | '\'' => 1,
        '|' | '>' => raw.find('\n').map_or(raw.len(), |at| at + 1),
        _ => 0,
    };
    for (at, character) in value.char_indices() {
        if style == '"' {
            written = skip_joined_lines(raw, written);
        }
        written = skip_layout(raw, written, character);
        if at >= index {
            break;
        }
        written += width(&raw[written..], style, character);
        written = written.min(raw.len());
    }
    u32::try_from(written).unwrap_or(u32::MAX)
}

/// Passes over a line end that a backslash takes out of the value, and the next indentation.
fn skip_joined_lines(raw: &str, mut from: usize) -> usize {
    while raw[from..].starts_with("\\\n") || raw[from..].starts_with("\\\r\n") {
        let next = &raw[from + 1..];
        from = raw.len() - next.trim_start().len();
    }
    from
}

/// Passes over indentation and line ends that are not part of the value.
fn skip_layout(raw: &str, from: usize, expected: char) -> usize {
    let rest = &raw[from..];
    if rest.starts_with(expected) && expected != ' ' {
        return from;
    }
    if expected.is_whitespace() {
        return from;
    }
    from + rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())
}

/// How many bytes of `rest` stand for one character of the value.
fn width(rest: &str, style: char, character: char) -> usize {
    let next = rest.chars().next();
    match (style, next) {
        (_, None) => 0,
        ('"', Some('\\')) => escape_width(rest, character),
        ('\'', Some('\'')) => 2,
        (_, Some('\r')) if character == '\n' && rest.starts_with("\r\n") => 2,
        (_, Some(next)) if next == character => next.len_utf8(),
        // A folded line break: one character of value for a line break and the next indentation.
        (_, Some(next)) if next.is_whitespace() && character.is_whitespace() => {
            rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())
        }
        (_, Some(_)) => 0,
    }
}

fn escape_width(rest: &str, character: char) -> usize {
    let digits = match rest.as_bytes().get(1) {
        Some(b'x') => 2,
        Some(b'u') if u32::from(character) > 0xffff => 10,
        Some(b'u') => 4,
        Some(b'U') => 8,
        _ => 0,
    };
    let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
    (1 + escaped + digits).min(rest.len())
}
