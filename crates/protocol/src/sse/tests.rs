use bytes::{Bytes, BytesMut};
use proptest::prelude::{any, prop, prop_assert_eq, proptest};
use tokio_util::codec::Decoder as _;

use super::{Decoder, SseError};

fn events_in_chunks(chunks: &[&[u8]], limit: usize) -> Result<Vec<String>, SseError> {
    let mut decoder = Decoder::new(limit);
    let mut buffer = BytesMut::new();
    let mut events = Vec::new();
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(event) = decoder.decode(&mut buffer)? {
            events.push(text(&event));
        }
    }
    while let Some(event) = decoder.decode_eof(&mut buffer)? {
        events.push(text(&event));
    }
    Ok(events)
}

fn text(event: &Bytes) -> String {
    String::from_utf8(event.to_vec()).expect("the tests send UTF-8")
}

fn events(stream: &str) -> Vec<String> {
    events_in_chunks(&[stream.as_bytes()], 1000).expect("nothing here is over the cap")
}

#[test]
fn data_lines_are_events_and_everything_else_is_read_over() {
    let table: [(&str, &[&str]); 12] = [
        ("data: a\n\ndata: b\n\n", &["a", "b"]),
        ("data:a\n\n", &["a"]),
        ("data:  a \n\n", &[" a "]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
        ("data: a\r\rdata: b\r\r", &["a", "b"]),
        ("data: a\ndata: b\ndata\ndata: c\n\n", &["a\nb\n\nc"]),
        (": comment\n\ndata: a\n: in between\n\n", &["a"]),
        ("event: x\nid: 7\nretry: 10\ndata: a\nother\n\n", &["a"]),
        ("dataset: x\ndata: a\n\n", &["a"]),
        ("data:\n\ndata\n\nid: 1\n\n", &[]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("data: a\n\ndata: cut off\n", &["a"]),
    ];
    for (stream, expected) in table {
        assert_eq!(events(stream), expected, "{stream:?}");
    }
}

#[test]
fn an_event_at_the_cap_passes_and_one_byte_more_does_not() {
    let just = format!("data: {}\n\n", "x".repeat(94));
    assert_eq!(events_in_chunks(&[just.as_bytes()], 100).expect("at the cap").len(), 1);
    let over = format!("data: {}\n\n", "x".repeat(95));
    let error = events_in_chunks(&[over.as_bytes()], 100).expect_err("over the cap");
    assert_eq!(error.to_string(), "an event is larger than 100 bytes");
}

#[test]
fn neither_a_line_without_end_nor_lines_without_end_are_kept() {
    let chunk = [b'x'; 60];
    assert!(events_in_chunks(&[&chunk, &chunk], 100).is_err());
    let line = "data: 0123456789\n".repeat(12);
    assert!(events_in_chunks(&[line.as_bytes()], 100).is_err());
    let comments = ": still here\n".repeat(1000);
    assert!(events_in_chunks(&[comments.as_bytes(), b"data: a\n\n"], 100).is_ok());
}

#[test]
fn an_event_of_one_line_is_handed_out_without_a_copy() {
    let mut buffer = BytesMut::from(&b"data: hello\n\n"[..]);
    let place = buffer.as_ptr().wrapping_add(6);
    let event = Decoder::new(100).decode(&mut buffer).expect("fits").expect("is whole");
    assert_eq!(event.as_ptr(), place);
}

/// What a stream is made of, and empty lines often enough to end events.
const LINES: &[&str] =
    &["data: a", "data:b", "data", "data:  é", ": comment", "id: 1", "other", "", "", ""];

proptest! {
    #[test]
    fn where_the_chunks_are_cut_changes_nothing(
        lines in prop::collection::vec(prop::sample::select(LINES), 0..30),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 30),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let stream: String = lines.iter().zip(ends).map(|(line, end)| format!("{line}{end}")).collect();
        let whole = events(&stream);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &stream.as_bytes()[pair[0]..pair[1]]).collect();
        prop_assert_eq!(events_in_chunks(&chunks, 1000).expect("nothing here is over the cap"), whole);
    }
}
