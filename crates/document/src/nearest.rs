/// Finds the candidate a mistyped word most probably stands for, for use in a hint.
///
/// Words that differ only in case, or in `-` against `_`, match at once; otherwise up to a third of
/// the letters may differ. Of several equally near candidates the first is taken. An empty word and
/// one that is nothing like any candidate give none.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = fold(word);
    let allowed = word.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn fold(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

/// The edit distance; nothing in common at all is never near, however short the words.
fn distance(word: &str, candidate: &str) -> usize {
    let distance = strsim::osa_distance(word, candidate);
    let longest = word.chars().count().max(candidate.chars().count());
    if distance >= longest && distance > 0 {
        return usize::MAX;
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_mistyped_word_finds_what_was_meant() {
        let keys = ["message", "needs", "when", "on_error", "retry", "timeout"];
        assert_eq!(nearest("mesage", keys), Some("message"));
        assert_eq!(nearest("need", keys), Some("needs"));
        assert_eq!(nearest("on-error", keys), Some("on_error"));
        assert_eq!(nearest("Timeout", keys), Some("timeout"));
        assert_eq!(nearest("timoeut", keys), Some("timeout"));
    }

    #[test]
    fn a_word_unlike_all_candidates_finds_none() {
        assert_eq!(nearest("colour", ["needs", "when"]), None);
        assert_eq!(nearest("", ["needs"]), None);
        assert_eq!(nearest("a", ["b"]), None);
    }

    #[test]
    fn of_equally_near_candidates_the_first_is_taken() {
        assert_eq!(nearest("hotal", ["hotel", "total"]), Some("hotel"));
    }
}
