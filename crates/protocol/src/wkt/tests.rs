use prost::Message as _;
use serde_json::{Value as Json, json};

use super::*;
use crate::v1;

fn nested(levels: usize) -> Json {
    (0..levels).fold(
        json!(1),
        |inner, level| {
            if level % 2 == 0 { json!([inner]) } else { json!({"k": inner}) }
        },
    )
}

fn objects(levels: usize) -> Json {
    (0..levels).fold(json!(1), |inner, _| json!({"k": inner}))
}

#[test]
fn json_of_the_greatest_depth_is_read_and_one_level_more_is_refused() {
    for build in [nested, objects] {
        let (deepest, too_deep) = (build(MAX_DEPTH), build(MAX_DEPTH + 1));
        assert_eq!(check_depth(&deepest), Ok(()));
        assert_eq!(check_depth(&too_deep), Err(TooDeep));
        assert!(serde_json::from_str::<Value>(&deepest.to_string()).is_ok());
        assert!(serde_json::from_value::<Value>(deepest).is_ok());
        let error = serde_json::from_value::<Value>(too_deep).unwrap_err().to_string();
        assert!(error.contains("nested more than 32 levels"), "{error}");
    }
    assert!(serde_json::from_value::<Struct>(objects(MAX_DEPTH)).is_ok());
    assert!(serde_json::from_value::<Struct>(objects(MAX_DEPTH + 1)).is_err());
}

#[test]
fn a_megabyte_of_brackets_is_refused_without_harm() {
    let part = format!(r#"{{"data":{}"#, "[".repeat(1_000_000));
    let error = serde_json::from_str::<v1::Part>(&part).unwrap_err().to_string();
    assert!(error.contains("nested more than 32 levels"), "{error}");
}

#[test]
fn the_same_depth_holds_in_binary_inside_the_deepest_message() {
    let at = |levels| {
        let part = v1::Part::data(objects(levels));
        let task = v1::Task { history: vec![v1::Message::user(vec![part])], ..Default::default() };
        let event = v1::StreamResponse::from(task);
        (v1::StreamResponse::decode(&event.encode_to_vec()[..]), event)
    };
    let (read, event) = at(MAX_DEPTH);
    assert_eq!(read.unwrap(), event);
    let error = at(MAX_DEPTH + 1).0.unwrap_err().to_string();
    assert!(error.contains("nested more than 32 levels"), "{error}");

    let bytes = Struct::from_iter([("k", objects(MAX_DEPTH))]).encode_to_vec();
    assert!(Struct::decode(&bytes[..]).is_err());
    let bytes = Struct::from_iter([("k", objects(MAX_DEPTH - 1))]).encode_to_vec();
    assert!(Struct::decode(&bytes[..]).is_ok());
}

#[test]
fn whole_numbers_stay_integers_through_binary() {
    let value = Value(json!([5, -7, 1.5, 1e300, 9_007_199_254_740_991_i64]));
    assert_eq!(Value::decode(&value.encode_to_vec()[..]).unwrap(), value);
}

#[test]
fn binary_numbers_that_json_lacks_are_refused() {
    for number in [f64::NAN, f64::INFINITY] {
        let mut bytes = vec![0x11];
        bytes.extend(number.to_le_bytes());
        let error = Value::decode(&bytes[..]).unwrap_err().to_string();
        assert!(error.contains("infinities and NaN"), "{error}");
    }
}

#[test]
fn binary_times_that_json_lacks_are_refused() {
    // Fields 1 and 2, as varints of all ones and of 1,000,000,000, and one that is not known.
    for bytes in
        [&[8, 255, 255, 255, 255, 255, 255, 255, 255, 127][..], &[16, 128, 148, 235, 220, 3]]
    {
        let error = Timestamp::decode(bytes).unwrap_err().to_string();
        assert!(error.contains("outside of the years 1 to 9999"), "{error}");
    }
    let time = Timestamp { seconds: -1, nanos: 999_999_999 };
    let bytes = [time.encode_to_vec(), vec![24, 1]].concat();
    assert_eq!(bytes.len(), time.encoded_len() + 2);
    assert_eq!(Timestamp::decode(&bytes[..]).unwrap(), time);
    assert!(Timestamp::default().encode_to_vec().is_empty());
}

#[test]
fn unknown_and_mistyped_binary_fields_are_skipped_and_refused() {
    // Field 15 as a varint, then the string "a".
    assert_eq!(Value::decode(&[0x78, 1, 0x1A, 1, b'a'][..]).unwrap(), Value(json!("a")));
    // An object (field 5) as a varint; one that is cut off.
    assert!(Value::decode(&[0x28, 1][..]).is_err());
    assert!(Value::decode(&[0x2A, 9, 1][..]).is_err());
}

#[test]
fn a_timestamp_of_now_is_cut_to_milliseconds() {
    let time: jiff::Timestamp = "2025-01-02T03:04:05.678912345Z".parse().unwrap();
    let timestamp = Timestamp::from(time);
    assert_eq!(serde_json::to_value(timestamp).unwrap(), "2025-01-02T03:04:05.678Z");
    let before_1970: jiff::Timestamp = "1969-12-31T23:59:59.9999Z".parse().unwrap();
    let timestamp = Timestamp::from(before_1970);
    assert_eq!((timestamp.seconds, timestamp.nanos), (-1, 999_000_000));
}

#[test]
fn a_timestamp_converts_both_ways_and_says_when_it_is_none() {
    let time: jiff::Timestamp = "2025-01-02T03:04:05.678Z".parse().unwrap();
    assert_eq!(jiff::Timestamp::try_from(Timestamp::from(time)), Ok(time));
    for (seconds, nanos) in [(i64::MAX, 0), (-62_135_596_801, 0), (0, -1), (0, 1_000_000_000)] {
        let timestamp = Timestamp { seconds, nanos };
        let error = jiff::Timestamp::try_from(timestamp).unwrap_err().to_string();
        assert!(error.contains(&format!("{seconds} s and {nanos} ns")), "{error}");
        assert!(serde_json::to_string(&timestamp).is_err());
    }
}

#[test]
fn timestamps_order_by_time() {
    let at = |seconds, nanos| Timestamp { seconds, nanos };
    assert!(at(1, 5) < at(2, 0) && at(-1, 0) < at(-1, 1));
}
