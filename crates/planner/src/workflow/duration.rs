//! Durations as people write them: `500ms`, `30s`, `5m`, `1h30m`, `7d`.

use std::time::Duration;

/// A year; longer waits are surely mistakes.
pub(crate) const MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads a duration above zero, as in `500ms` or `1h30m`.
///
/// # Errors
/// What is wrong, to be put after a colon.
pub fn parse(text: &str) -> Result<Duration, String> {
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("it is empty".to_owned());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 =
            rest[..digits].parse().map_err(|_| format!("`{rest}` does not start with a number"))?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        total = total.saturating_add(unit(number, &rest[..letters])?);
        rest = &rest[letters..];
    }
    match total {
        Duration::ZERO => Err("it must be longer than nothing".to_owned()),
        _ if total > MAX => Err("it is longer than a year".to_owned()),
        _ => Ok(total),
    }
}

fn unit(number: u64, unit: &str) -> Result<Duration, String> {
    let seconds = |seconds: u64| Ok(Duration::from_secs(number.saturating_mul(seconds)));
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(3600),
        "d" => seconds(24 * 3600),
        "" => Err(format!("`{number}` has no unit")),
        other => Err(format!("`{other}` is no unit")),
    }
}

/// Writes a duration the way it is read, to the millisecond.
#[must_use]
pub fn show(duration: Duration) -> String {
    let mut rest = duration.as_millis();
    let mut text = String::new();
    for (unit, milliseconds) in
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
    {
        if rest >= milliseconds {
            text.push_str(&format!("{}{unit}", rest / milliseconds));
            rest %= milliseconds;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_numbers_with_units() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("7d"), Ok(Duration::from_secs(7 * 24 * 3600)));
    }

    #[test]
    fn durations_are_written_as_they_are_read() {
        for text in ["500ms", "1h30m", "7d", "1s500ms"] {
            assert_eq!(parse(text).map(show), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        assert_eq!(parse("5"), Err("`5` has no unit".to_owned()));
        assert_eq!(parse("5 minutes"), Err("`5` has no unit".to_owned()));
        assert_eq!(parse("5min"), Err("`min` is no unit".to_owned()));
        assert_eq!(parse("soon"), Err("`soon` does not start with a number".to_owned()));
        assert_eq!(parse("0s"), Err("it must be longer than nothing".to_owned()));
        assert_eq!(parse("9999d"), Err("it is longer than a year".to_owned()));
        assert_eq!(parse(""), Err("it is empty".to_owned()));
    }
}
