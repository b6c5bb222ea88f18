//! When a workflow starts by itself.
//!
//! A cron expression speaks of wall clocks. In the gap of a daylight-saving change it fires at the next minute
//! there is, in the overlap once, at the first of the two.

use std::cmp::Ordering;

use croner::{
    CivilDate, CivilDateTime, CivilTime, Cron, CronDateTime, Resolution, Weekday,
    errors::CronError,
    parser::{CronParser, Seconds, Year},
};
use document::Span;
use jiff::{
    SignedDuration, Timestamp,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Starts a workflow at set times, with set inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Minute, hour, day of month, month, day of week.
    pub cron: String,
    /// The name of a time zone of the IANA database.
    pub timezone: String,
    /// The inputs of its runs, checked; defaults are filled in when a run starts.
    pub inputs: Map<String, Json>,
    /// Where it stands in the file.
    pub span: Span,
}

/// One time at which a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The instant.
    pub at: Timestamp,
    /// What the cron expression stands for there: the name of the occurrence, which is unlike that of any other.
    pub local: DateTime,
}

/// A schedule that was read: asked for its times.
#[derive(Clone, Debug)]
pub struct Times {
    cron: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Reads the cron expression and finds the time zone.
    ///
    /// # Errors
    /// What is wrong, as one clause. A schedule of a checked workflow has been read once; the time zone may be
    /// unknown to another machine.
    pub fn times(&self) -> Result<Times, String> {
        Ok(Times { cron: read_cron(&self.cron)?, zone: find_zone(&self.timezone)? })
    }
}

impl Times {
    /// The first occurrence after an instant; none when there is none in the years to come.
    #[must_use]
    pub fn after(&self, instant: Timestamp) -> Option<Occurrence> {
        let mut wall = Wall(self.zone.to_datetime(instant));
        loop {
            wall = self.cron.find_next_occurrence(&wall, false).ok()?;
            let at = self.instant(wall.0)?;
            // The second time round of an overlap, and the minutes of a gap behind the first.
            if at > instant {
                return Some(Occurrence { at, local: wall.0 });
            }
        }
    }

    /// The last occurrence up to an instant, and after another: the one that counts of those that were missed.
    #[must_use]
    pub fn latest(&self, after: Timestamp, until: Timestamp) -> Option<Occurrence> {
        let mut wall = Wall(self.latest_wall(until));
        let mut is_inclusive = true;
        loop {
            wall = self.cron.find_previous_occurrence(&wall, is_inclusive).ok()?;
            is_inclusive = false;
            let at = self.instant(wall.0)?;
            if at <= after {
                return None;
            }
            if at <= until {
                return Some(Occurrence { at, local: wall.0 });
            }
        }
    }

    /// The latest that clocks have shown up to an instant: later than they show now in the second half of an overlap.
    fn latest_wall(&self, instant: Timestamp) -> DateTime {
        let now = self.zone.to_datetime(instant);
        match self.zone.to_ambiguous_timestamp(now).offset() {
            AmbiguousOffset::Fold { before, after } => {
                let length = i64::from(before.seconds() - after.seconds());
                now.saturating_add(SignedDuration::from_secs(length))
            }
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => now,
        }
    }

    fn instant(&self, wall: DateTime) -> Option<Timestamp> {
        let found = self.zone.to_ambiguous_timestamp(wall);
        match found.offset() {
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => {
                found.compatible().ok()
            }
            AmbiguousOffset::Gap { .. } => {
                // The instant of the change itself is that of the first minute in the gap.
                let behind = found.later().ok()?.checked_add(SignedDuration::from_secs(1)).ok()?;
                self.zone.preceding(behind).next().map(|change| change.timestamp())
            }
        }
    }
}

/// Reads a cron expression of five fields.
pub(crate) fn read_cron(text: &str) -> Result<Cron, String> {
    let fields = text.split_whitespace().count();
    if fields != 5 && !text.trim_start().starts_with('@') {
        return Err(format!("it has {fields} of the 5 fields"));
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(text).map_err(|error| match error {
        CronError::InvalidPattern(why)
        | CronError::IllegalCharacters(why)
        | CronError::ComponentError(why) => why.trim_end_matches('.').to_lowercase(),
        other => other.to_string(),
    })
}

/// Finds a time zone by its name.
pub(crate) fn find_zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| format!("there is no time zone `{name}`"))
}

/// The hands of a clock on a wall, which know nothing of the time zone: what cron expressions are about.
#[derive(Clone, Debug)]
struct Wall(DateTime);

impl Wall {
    fn of(civil: CivilDateTime) -> Option<Wall> {
        let year = i16::try_from(civil.year()).ok()?;
        let part = |number: u32| i8::try_from(number).ok();
        let (month, day) = (part(civil.month())?, part(civil.day())?);
        let (hour, minute, second) =
            (part(civil.hour())?, part(civil.minute())?, part(civil.second())?);
        DateTime::new(year, month, day, hour, minute, second, 0).ok().map(Wall)
    }
}

impl CronDateTime for Wall {
    fn to_civil(&self) -> CivilDateTime {
        let part = |number: i8| u32::try_from(number).unwrap_or_default();
        let wall = self.0;
        let date =
            CivilDate::from_ymd_opt(wall.year().into(), part(wall.month()), part(wall.day()));
        let time =
            CivilTime::from_hms_opt(part(wall.hour()), part(wall.minute()), part(wall.second()));
        CivilDateTime::new(
            date.expect("a date of one calendar is one of the other"),
            time.expect("a time of day has no leap second"),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        const DAYS: [Weekday; 7] = [
            Weekday::Sunday,
            Weekday::Monday,
            Weekday::Tuesday,
            Weekday::Wednesday,
            Weekday::Thursday,
            Weekday::Friday,
            Weekday::Saturday,
        ];
        let day = usize::try_from(self.0.weekday().to_sunday_zero_offset()).unwrap_or_default();
        DAYS[day % DAYS.len()]
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        Wall::of(civil).map(Resolution::Single).ok_or(CronError::InvalidDate)
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(SignedDuration::from_secs(seconds)).ok().map(Wall)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(cron: &str, timezone: &str) -> Times {
        Times { cron: read_cron(cron).unwrap(), zone: find_zone(timezone).unwrap() }
    }

    fn stamp(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// The next occurrences after an instant: instant and wall clock.
    fn next(cron: &str, timezone: &str, after: &str, count: usize) -> Vec<String> {
        let times = times(cron, timezone);
        let mut at = stamp(after);
        (0..count)
            .map(|_| {
                let next = times.after(at).expect("there is a next one");
                at = next.at;
                format!("{} {}", next.at, next.local)
            })
            .collect()
    }

    #[test]
    fn a_week_day_is_one_of_the_time_zone() {
        let found = next("0 7 * * MON", "Europe/Helsinki", "2026-11-29T12:00:00Z", 2);
        assert_eq!(
            found,
            [
                "2026-11-30T05:00:00Z 2026-11-30T07:00:00",
                "2026-12-07T05:00:00Z 2026-12-07T07:00:00"
            ]
        );
    }

    #[test]
    fn in_a_gap_it_fires_once_at_the_next_minute_there_is() {
        // Helsinki's clocks go from 03:00 to 04:00.
        let found = next("*/20 3 * * *", "Europe/Helsinki", "2026-03-28T23:00:00Z", 2);
        assert_eq!(
            found,
            [
                "2026-03-29T01:00:00Z 2026-03-29T03:00:00",
                "2026-03-30T00:00:00Z 2026-03-30T03:00:00"
            ]
        );
    }

    #[test]
    fn in_an_overlap_it_fires_once_at_the_first_of_the_two() {
        // Helsinki's clocks go from 04:00 back to 03:00.
        let found = next("30 3 * * *", "Europe/Helsinki", "2026-10-24T23:00:00Z", 2);
        assert_eq!(
            found,
            [
                "2026-10-25T00:30:00Z 2026-10-25T03:30:00",
                "2026-10-26T01:30:00Z 2026-10-26T03:30:00"
            ]
        );
    }

    #[test]
    fn of_those_that_were_missed_the_latest_counts() {
        let times = times("0 * * * *", "UTC");
        let latest = |after, until| times.latest(stamp(after), stamp(until)).map(|found| found.at);
        assert_eq!(
            latest("2026-01-01T00:30:00Z", "2026-01-03T12:10:00Z"),
            Some(stamp("2026-01-03T12:00:00Z"))
        );
        assert_eq!(
            latest("2026-01-03T11:59:00Z", "2026-01-03T12:00:00Z"),
            Some(stamp("2026-01-03T12:00:00Z"))
        );
        assert_eq!(latest("2026-01-03T12:00:00Z", "2026-01-03T12:59:59Z"), None);
    }

    #[test]
    fn what_was_missed_in_a_gap_or_an_overlap_is_what_would_have_fired() {
        for (cron, from, to) in [
            ("*/20 3 * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:10:00Z"),
            ("30 3 * * *", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"),
        ] {
            let times = times(cron, "Europe/Helsinki");
            let missed = times.latest(stamp(from), stamp(to)).expect("it fires in between");
            assert_eq!(Some(missed.at), times.after(stamp(from)).map(|next| next.at), "{cron}");
            assert_eq!(times.latest(missed.at, stamp(to)), None, "{cron}");
        }
    }

    #[test]
    fn what_fired_at_the_end_of_an_overlap_is_missed_also_while_it_is_gone_through_again() {
        let times = times("50 3 * * *", "Europe/Helsinki");
        // Clocks show 03:10 for the second time; they showed 03:50 20 minutes ago.
        let missed = times.latest(stamp("2026-10-25T00:00:00Z"), stamp("2026-10-25T01:10:00Z"));
        assert_eq!(missed.map(|it| it.at), Some(stamp("2026-10-25T00:50:00Z")));
    }

    #[test]
    fn a_day_that_never_comes_has_no_occurrence() {
        assert_eq!(times("0 0 30 2 *", "UTC").after(stamp("2026-01-01T00:00:00Z")), None);
    }

    #[test]
    fn five_fields_are_read_and_no_seconds() {
        assert!(read_cron("0 7 * * MON").is_ok());
        assert!(read_cron("*/15 8-18 1,15 JAN-JUN MON-FRI").is_ok());
        for bad in ["", "* * * *", "0 0 7 * * MON", "61 * * * *", "@often"] {
            assert!(read_cron(bad).is_err(), "{bad}");
        }
    }
}
