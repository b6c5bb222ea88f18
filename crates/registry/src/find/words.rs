//! Texts as words: the same for what agents say and for what is looked for.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// More words of a query than this are not looked at, nor longer ones than [`LONGEST`] letters.
pub(crate) const MOST: usize = 256;
const LONGEST: usize = 64;

/// The different words of a query, in their order.
///
/// A run of a script without spaces (CJK, Thai, …) is looked for by its pairs of letters.
pub(crate) fn of_query(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    each(text, &mut |word, kind| {
        let is_wanted = kind != Kind::Letter && kind != Kind::Part;
        if is_wanted && words.len() < MOST && !words.iter().any(|it| it == word) {
            words.push(word.to_owned());
        }
    });
    words
}

/// Calls back for every word an agent is found by.
pub(crate) fn of_agent(text: &str, each_word: &mut impl FnMut(&str)) {
    each(text, &mut |word, _| each_word(word));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    /// A part of a word in camel case, which is a word as well.
    Part,
    /// A pair of letters of a run without spaces, or a run of one letter.
    Pair,
    /// One letter of a longer run without spaces.
    Letter,
}

fn each(text: &str, each_word: &mut impl FnMut(&str, Kind)) {
    let text = plain(text);
    for run in text.split(|c: char| !c.is_alphanumeric() && !is_mark(c)) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let is_dense = is_dense(first);
            let end = rest.find(|c| self::is_dense(c) != is_dense).unwrap_or(rest.len());
            let (same, others) = rest.split_at(end);
            if is_dense {
                pairs(same, each_word);
            } else {
                spaced(same, each_word);
            }
            rest = others;
        }
    }
}

/// Compatible forms as one (full width, ligatures), and letters without their accents: `ё` is often
/// written `е`, as `é` is `e`.
fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let apart = DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(text.chars());
    let bare = apart.filter(|c| !('\u{300}'..='\u{36f}').contains(c));
    ComposingNormalizerBorrowed::new_nfc().normalize_iter(bare).collect::<String>().into()
}

/// Vowel signs and other marks that belong to a word and are no letters by themselves.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{e7f}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
        && !c.is_ascii_punctuation()
        && !matches!(c, '\u{964}' | '\u{965}')
}

/// Letters of scripts that are written without spaces between words.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'     // Thai, Lao
        | '\u{1000}'..='\u{109f}'   // Myanmar
        | '\u{1780}'..='\u{17ff}'   // Khmer
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}'   // Hiragana, Katakana
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'   // Han
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'   // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

fn pairs(run: &str, each_word: &mut impl FnMut(&str, Kind)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if starts.len() == 2 {
        return each_word(run, Kind::Pair);
    }
    for letter in starts.windows(2) {
        each_word(&run[letter[0]..letter[1]], Kind::Letter);
    }
    for pair in starts.windows(3) {
        each_word(&run[pair[0]..pair[2]], Kind::Pair);
    }
}

fn spaced(run: &str, each_word: &mut impl FnMut(&str, Kind)) {
    let whole = stem(run);
    each_word(&whole, Kind::Word);
    let mut parts = camel(run);
    if parts.len() > 1 {
        parts.retain(|part| part.len() > 1);
        parts.into_iter().for_each(|part| each_word(&stem(part), Kind::Part));
    }
}

/// In lower case, without the plural's `s`, so that `flights` finds `flight`.
fn stem(word: &str) -> String {
    let mut word: String = word.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    word
}

/// `bookFlight` as `book` and `Flight`.
fn camel(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut was_lower) = (0, false);
    for (at, c) in word.char_indices() {
        if was_lower && c.is_uppercase() {
            parts.push(&word[from..at]);
            from = at;
        }
        was_lower = c.is_lowercase();
    }
    parts.push(&word[from..]);
    parts
}

/// Whether two words differ by one letter: another, one too many, one missing, or two swapped.
pub(crate) fn is_one_off(a: &str, b: &str) -> bool {
    let same: usize =
        a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum();
    let (a, b) = (&a[same..], &b[same..]);
    let mut ends = a.chars().rev().zip(b.chars().rev());
    let tail: usize = ends.by_ref().take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    let (mut x, mut y) = (a.chars(), b.chars());
    match (x.next(), x.next(), x.next(), y.next(), y.next(), y.next()) {
        (Some(_), None, None, Some(_), None, None)
        | (Some(_), None, None, None, None, None)
        | (None, None, None, Some(_), None, None) => true,
        (Some(a1), Some(a2), None, Some(b1), Some(b2), None) => a1 == b2 && a2 == b1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        of_agent(text, &mut |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_lose_case_accents_width_and_the_plural() {
        assert_eq!(
            of_query("Cafés, ﬁne Ｆｌｉｇｈｔｓ & glass"),
            ["cafe", "fine", "flight", "glass"]
        );
        assert_eq!(of_query("bus gas"), ["bus", "gas"]);
        assert_eq!(of_query("book_flight-2"), ["book", "flight", "2"]);
    }

    #[test]
    fn an_agent_with_camel_case_is_found_by_the_whole_and_by_the_parts() {
        assert_eq!(agent_words("bookFlights"), ["bookflight", "book", "flight"]);
        assert_eq!(of_query("bookFlights"), ["bookflight"]);
    }

    #[test]
    fn scripts_without_spaces_are_pairs_of_letters() {
        assert_eq!(of_query("東京旅行"), ["東京", "京旅", "旅行"]);
        assert_eq!(of_query("旅"), ["旅"]);
        assert_eq!(agent_words("旅行A1"), ["旅", "行", "旅行", "a1"]);
        assert_eq!(of_query("항공권"), ["항공", "공권"]);
    }

    #[test]
    fn other_scripts_keep_their_words() {
        assert_eq!(of_query("бронирование рейсов"), ["бронирование", "реисов"]);
        assert_eq!(of_query("यात्रा योजना"), ["यात्रा", "योजना"]);
    }

    #[test]
    fn a_query_has_its_words_once_and_not_without_end() {
        assert_eq!(of_query("a b a"), ["a", "b"]);
        let long: String = (0..1_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(of_query(&long).len(), MOST);
        assert_eq!(of_query(&"x".repeat(1_000_000))[0].len(), LONGEST);
    }

    #[test]
    fn one_letter_off_is_one_letter_off() {
        for (a, b) in [
            ("flihgt", "flight"),
            ("fligt", "flight"),
            ("fllight", "flight"),
            ("flaght", "flight"),
            ("кот", "код"),
        ] {
            assert!(is_one_off(a, b) && is_one_off(b, a), "{a} {b}");
        }
        for (a, b) in
            [("flight", "flight"), ("flgtih", "flight"), ("fright", "flightx"), ("ab", "ba c")]
        {
            assert!(!is_one_off(a, b), "{a} {b}");
        }
    }
}
