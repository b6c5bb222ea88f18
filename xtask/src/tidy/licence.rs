//! SPDX licence expressions, as far as manifests use them.

/// Whether an expression can be met with the allowed licences alone.
///
/// Knows `OR`, `AND`, `WITH`, parentheses, and the old `/` for `OR`. What cannot be read is not
/// allowed.
pub(super) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    let verdict = reader.any();
    reader.words.is_empty() && verdict == Some(true)
}

/// Reads words from the left; each function returns none when the words make no sense.
struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl<'a> Reader<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut verdict = self.all()?;
        while self.take("OR") {
            verdict |= self.all()?;
        }
        Some(verdict)
    }

    fn all(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.any()?;
            return self.take(")").then_some(verdict);
        }
        let mut licence = self.next()?.to_owned();
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.next()?);
        }
        Some(self.allowed.contains(&licence))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(expression: &str) -> bool {
        let list = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
        is_allowed(expression, &list.map(str::to_owned))
    }

    #[test]
    fn one_allowed_choice_is_enough_and_every_demand_must_be_met() {
        for expression in [
            "MIT",
            "GPL-3.0-only OR MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 / GPL-2.0",
            "(GPL-2.0 OR MIT) AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "MIT AND GPL-2.0 OR MIT",
        ] {
            assert!(allowed(expression), "{expression}");
        }
    }

    #[test]
    fn an_unknown_licence_or_an_unreadable_expression_is_refused() {
        for expression in [
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT OR GPL-2.0) AND MPL-2.0",
            "MIT WITH LLVM-exception",
            "",
            "(MIT",
            "MIT)",
            "MIT OR",
            "MIT Apache-2.0",
        ] {
            assert!(!allowed(expression), "{expression}");
        }
    }
}
