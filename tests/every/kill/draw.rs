//! Chance that can be repeated.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

/// A number from the environment.
pub(super) fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{value}`")))
}

pub(super) fn random_seed() -> u64 {
    RandomState::new().hash_one("seed")
}

/// SplitMix64: a seed makes the same draws for ever.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ (drawn >> 31)
    }

    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.next().is_multiple_of(many)
    }

    pub(super) fn within(&mut self, span: Duration) -> Duration {
        let micros = u64::try_from(span.as_micros()).expect("spans here are short").max(1);
        Duration::from_micros(self.next() % micros)
    }

    /// One of several; none of none.
    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(choices.len()).expect("few");
        let index = self.next().checked_rem(count)?;
        choices.get(usize::try_from(index).expect("few"))
    }
}
