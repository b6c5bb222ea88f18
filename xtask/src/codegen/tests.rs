use super::*;

#[test]
fn committed_code_is_what_the_definition_generates() {
    run(true).expect("generated code is up to date");
}

#[test]
fn a_changed_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.rs"), "one\ntwo\nthree\n").unwrap();
    let files = [
        Generated { name: "a.rs", bytes: b"one\ntwo\nTHREE\n".to_vec() },
        Generated { name: "b.rs", bytes: Vec::new() },
    ];
    let message = compare(folder.path(), &files).unwrap_err().to_string();
    assert!(message.contains("a.rs differs from line 3 on"), "{message}");
    assert!(message.contains("b.rs: No such file"), "{message}");
    assert!(message.contains("cargo xtask codegen"), "{message}");
}

#[test]
fn what_was_written_compares_equal() {
    let folder = tempfile::tempdir().unwrap();
    let files = [Generated { name: "a.rs", bytes: b"one\n".to_vec() }];
    write(&folder.path().join("deep"), &files).unwrap();
    compare(&folder.path().join("deep"), &files).unwrap();
}
