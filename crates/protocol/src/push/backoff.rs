//! How long to wait between the attempts for one event.

use std::time::Duration;

/// The longest wait that a webhook can ask for by `Retry-After`.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// Waits that double from attempt to attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first attempt. Default 1 s.
    pub first: Duration,
    /// The longest wait. Default 1 min.
    pub longest: Duration,
    /// How many attempts there are in all. Default 10, which with the other defaults take about
    /// four minutes and a half.
    pub attempts: u32,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60), attempts: 10 }
    }
}

impl Backoff {
    /// Returns how long to wait after so many failed attempts, or nothing when there are no more.
    /// What the webhook asked for counts when it is longer, up to an hour.
    #[must_use]
    pub fn wait(&self, failed: u32, asked: Option<Duration>) -> Option<Duration> {
        self.wait_within(failed, asked, 1.0)
    }

    /// As [`Backoff::wait`], of its own wait only a share from 0 to 1. Drawn anew each time, it keeps
    /// webhooks that failed together from being called together (full jitter).
    #[must_use]
    pub fn wait_within(
        &self,
        failed: u32,
        asked: Option<Duration>,
        share: f64,
    ) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
        let own = self.first.saturating_mul(doubled).min(self.longest);
        Some(own.mul_f64(share).max(asked.unwrap_or_default().min(LONGEST_ASKED)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(backoff: Backoff, asked: Option<u64>) -> Vec<u64> {
        let asked = asked.map(Duration::from_secs);
        let waits = (1..).map_while(|failed| backoff.wait(failed, asked));
        waits.map(|wait| wait.as_secs()).collect()
    }

    #[test]
    fn waits_double_up_to_the_longest_for_so_many_attempts() {
        assert_eq!(seconds(Backoff::default(), None), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        let quick =
            Backoff { first: Duration::from_secs(3), longest: Duration::from_secs(5), attempts: 4 };
        assert_eq!(seconds(quick, None), [3, 5, 5]);
        assert_eq!(seconds(Backoff { attempts: 1, ..quick }, None), [0; 0]);
    }

    #[test]
    fn jitter_shortens_its_own_wait_and_not_what_the_webhook_asked_for() {
        let backoff = Backoff::default();
        let wait = |failed, asked: Option<u64>, share| {
            backoff.wait_within(failed, asked.map(Duration::from_secs), share)
        };
        assert_eq!(wait(3, None, 0.5), Some(Duration::from_secs(2)));
        assert_eq!(wait(3, None, 0.0), Some(Duration::ZERO));
        assert_eq!(wait(3, Some(3), 0.5), Some(Duration::from_secs(3)));
        assert_eq!(wait(10, Some(3), 0.5), None);
    }

    #[test]
    fn a_webhook_may_ask_for_more_time_but_not_for_ever() {
        let backoff = Backoff { attempts: 5, ..Backoff::default() };
        assert_eq!(seconds(backoff, Some(3)), [3, 3, 4, 8]);
        assert_eq!(seconds(backoff, Some(1 << 40)), [3600; 4]);
    }
}
