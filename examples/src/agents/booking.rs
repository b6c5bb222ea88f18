//! What the travel agents share: dates out of texts, and references that depend on a text alone.

/// The days of a trip for which nobody named any.
pub(super) const ARRIVAL: &str = "2027-03-06";
pub(super) const DEPARTURE: &str = "2027-03-13";

/// The first date in a text, as `2027-03-06`.
pub(super) fn date(text: &str) -> Option<String> {
    let words = text.split(|letter: char| !letter.is_ascii_digit() && letter != '-');
    let mut dates =
        words.filter_map(|word| word.trim_matches('-').parse::<jiff::civil::Date>().ok());
    dates.next().map(|date| date.to_string())
}

/// A number below `limit` that is always the same for a text (FNV-1a).
pub(super) fn number(text: &str, limit: u64) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash % limit
}

/// A booking reference for a text: `HOTEL-04217`.
pub(super) fn reference(prefix: &str, text: &str) -> String {
    format!("{prefix}-{:05}", number(text, 100_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_real_date_of_a_text_is_found() {
        let cases = [
            ("a tour on 2027-03-06, please", Some("2027-03-06")),
            ("from 2027-13-40 or 2027-04-01 to 2027-04-02", Some("2027-04-01")),
            ("flight AY-1331 on 2027-03-06T10:00", Some("2027-03-06")),
            ("a tour on Monday", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(date(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_reference_depends_on_the_text_alone() {
        assert_eq!(reference("HOTEL", "a"), reference("HOTEL", "a"));
        assert_ne!(reference("HOTEL", "a"), reference("HOTEL", "b"));
    }
}
