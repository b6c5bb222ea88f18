//! `google.protobuf.Timestamp`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// The first second that ProtoJSON can write, of the year 1, and the last that
/// jiff holds, 26 hours before the end of the year 9999.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_207_200;

/// A point in time: seconds since 1970 UTC, and nanoseconds that always count
/// forwards.
///
/// In JSON an RFC 3339 string in UTC with 0, 3, 6 or 9 digits of fraction, as
/// many as it needs; any offset is read (A2A §5.6.1). A time made out of a
/// `jiff::Timestamp` is cut to the milliseconds A2A asks for.
///
/// One outside of the years 1 to 9999 is refused when it is read, from JSON or from binary, because it
/// could not be passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z, negative before.
    pub seconds: i64,
    /// Nanoseconds after `seconds`, 0 to 999,999,999.
    pub nanos: i32,
}

/// A timestamp outside of the years 1 to 9999, or with nanoseconds that are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no timestamp: {seconds} s and {nanos} ns lie outside of the years 1 to 9999")]
pub struct OutOfRange {
    seconds: i64,
    nanos: i32,
}

impl Timestamp {
    /// Splits a time into its fields, keeping every nanosecond.
    fn exact(time: jiff::Timestamp) -> Self {
        let (seconds, nanos) = (time.as_second(), time.subsec_nanosecond());
        if nanos < 0 {
            Self { seconds: seconds - 1, nanos: nanos + 1_000_000_000 }
        } else {
            Self { seconds, nanos }
        }
    }

    /// Refuses a time that JSON has no text for.
    pub(super) fn check(self) -> Result<(), OutOfRange> {
        jiff::Timestamp::try_from(self).map(drop)
    }

    /// The digits of fraction it is written with.
    fn precision(self) -> usize {
        match self.nanos {
            0 => 0,
            nanos if nanos % 1_000_000 == 0 => 3,
            nanos if nanos % 1_000 == 0 => 6,
            _ => 9,
        }
    }
}

/// Cuts to milliseconds.
impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        let exact = Self::exact(time);
        Self { nanos: exact.nanos - exact.nanos % 1_000_000, ..exact }
    }
}

impl TryFrom<Timestamp> for jiff::Timestamp {
    type Error = OutOfRange;

    fn try_from(timestamp: Timestamp) -> Result<Self, OutOfRange> {
        let Timestamp { seconds, nanos } = timestamp;
        let out_of_range = OutOfRange { seconds, nanos };
        if !RANGE.contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
            return Err(out_of_range);
        }
        Self::new(seconds, nanos).map_err(|_| out_of_range)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = jiff::Timestamp::try_from(*self).map_err(serde::ser::Error::custom)?;
        let precision = self.precision();
        serializer.collect_str(&format_args!("{time:.precision$}"))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimestampVisitor)
    }
}

struct TimestampVisitor;

impl Visitor<'_> for TimestampVisitor {
    type Value = Timestamp;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an RFC 3339 timestamp")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        let unreadable = |why: &dyn fmt::Display| {
            E::custom(format_args!("{text:?} is not an RFC 3339 timestamp: {why}"))
        };
        let time: jiff::Timestamp = text.parse().map_err(|why| unreadable(&why))?;
        let timestamp = Timestamp::exact(time);
        timestamp.check().map_err(|why| unreadable(&why))?;
        Ok(timestamp)
    }
}
