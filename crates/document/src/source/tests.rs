use std::io::Write;
use std::path::Path;

use insta::assert_snapshot;

use super::Source;
use crate::{Limits, Position};

fn refusal(bytes: &[u8]) -> String {
    let problems = Source::read_from("trip.yaml", bytes, &Limits::default())
        .expect_err("the bytes should be refused");
    problems.to_string()
}

fn file_of(bytes: usize) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![b'#'; bytes]).unwrap();
    file
}

fn refusal_of_file(path: &Path) -> String {
    let problems = Source::read(path, &Limits::default()).expect_err("the file should be refused");
    problems.to_string().replace(&path.display().to_string(), "PATH")
}

#[test]
fn a_file_within_the_limit_is_read_under_its_name() {
    let file = file_of(4 << 20);
    let source = Source::read(file.path(), &Limits::default()).unwrap();
    assert_eq!(source.name(), file.path().display().to_string());
    assert_eq!(source.text().len(), 4 << 20);
}

#[test]
fn a_ten_megabyte_file_is_refused_with_its_size_and_the_limit() {
    assert_snapshot!(refusal_of_file(file_of(10_000_000).path()), @"
    file::too-large

      × `PATH` is 10000000 bytes (9.5 MiB) long; the limit for one file is 4 MiB
      help: split it, or keep large content in files of its own that are passed as input
    ");
}

#[test]
fn an_endless_stream_is_refused_at_the_limit() {
    let problems = Source::read_from("<stdin>", std::io::repeat(b'#'), &Limits::default());
    assert_snapshot!(problems.unwrap_err(), @"
    file::too-large

      × `<stdin>` is longer than 4 MiB; the limit for one file is 4 MiB
      help: split it, or keep large content in files of its own that are passed as input
    ");
}

#[test]
fn a_missing_file_and_a_folder_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(refusal_of_file(&folder.path().join("none.yaml")), @"
    file::unreadable

      × `PATH` cannot be read: there is no such file
      help: check the spelling and the folder you are in
    ");
    assert_snapshot!(refusal_of_file(folder.path()), @"
    file::unreadable

      × `PATH` cannot be read: it is a folder
      help: name a file inside it
    ");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let refused = [pipe.as_path(), &socket, Path::new("/dev/zero")].map(refusal_of_file);
    assert_snapshot!(refused[0], @"
    file::unreadable

      × `PATH` cannot be read: it is a pipe, a socket or a device
      help: write what comes out of it into a file; where a command takes `-`, that is stdin
    ");
    assert!(refused.iter().all(|told| *told == refused[0]), "{refused:?}");
}

#[test]
fn bad_utf8_is_shown_where_it_is() {
    assert_snapshot!(refusal(b"name: trip\ntitle: caf\xe9 au lait\n"), @"
    file::not-utf8

      × `trip.yaml` is not UTF-8 text
       ╭─[trip.yaml:2:11]
     1 │ name: trip
     2 │ title: caf� au lait
       ·           ┬
       ·           ╰── byte 0xe9 is not part of UTF-8 text
       ╰────
      help: save the file with the encoding UTF-8, or remove the byte
    ");
    assert_snapshot!(refusal(b"\xef\xbb\xbfa: \xff\n"), @"
    file::not-utf8

      × `trip.yaml` is not UTF-8 text
       ╭─[trip.yaml:1:4]
     1 │ a: �
       ·    ┬
       ·    ╰── byte 0xff is not part of UTF-8 text
       ╰────
      help: save the file with the encoding UTF-8, or remove the byte
    ");
    assert_snapshot!(refusal(b"\xff\xfen\x00a\x00m\x00e\x00"), @"
    file::not-utf8

      × `trip.yaml` is not UTF-8 text
       ╭─[trip.yaml:1:1]
     1 │ ��n?a?m?e?
       · ┬
       · ╰── byte 0xff is not part of UTF-8 text
       ╰────
      help: this looks like UTF-16: save the file with the encoding UTF-8
    ");
}

#[test]
fn positions_count_lines_and_characters_from_one() {
    let source = Source::new("a", "\u{feff}añb\r\n\nc");
    let at = |offset| {
        let Position { line, column } = source.position(offset);
        (line, column)
    };
    assert_eq!([at(0), at(3), at(6), at(7), at(99)], [(1, 1), (1, 3), (2, 1), (3, 1), (3, 2)]);
    assert_eq!(source.line_count(), 3);
    assert_eq!(Source::new("a", "").position(0), Position { line: 1, column: 1 });
}

#[test]
fn a_source_survives_being_written_to_a_journal() {
    let source = Source::new("trip.yaml", "a: 1\nb: 2\n");
    let json = serde_json::to_string(&source).unwrap();
    let back: Source = serde_json::from_str(&json).unwrap();
    assert_eq!(back, source);
    assert_eq!(back.position(5).line, 2);
}

#[test]
fn a_lone_carriage_return_ends_a_line_as_yaml_has_it() {
    let source = Source::new("old.yaml", "a: 1\rb: 2\r\nc: 3\nd: 4\r");
    assert_eq!(source.line_count(), 5);
    for (mark, line) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
        let at = u32::try_from(source.text().find(mark).unwrap()).unwrap();
        assert_eq!(source.position(at), Position { line, column: 1 }, "{mark}");
    }
}
