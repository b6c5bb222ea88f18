use crate::{Limits, Locator, Node, Source, Span, parse};

fn tree(text: &str) -> (Source, Node) {
    let source = Source::new("a.yaml", text);
    let node = parse(&source, &Limits::default()).unwrap();
    (source, node)
}

#[test]
fn json_pointers_find_values() {
    let (_, node) = tree("a: [{b/c: {d~e: 1}}]\n");
    assert_eq!(node.at_pointer("/a/0/b~1c/d~0e").unwrap().to_json(), 1);
    assert_eq!(node.at_pointer("").unwrap(), &node);
    assert_eq!(node.at_pointer("/a/1"), None);
    assert_eq!(node.at_pointer("a"), None);
    assert_eq!(node.at_pointer("/a/0/b~1c/d~0e/f"), None);
}

#[test]
fn every_kind_has_a_name_for_messages() {
    let (_, node) = tree("[~, true, 1, x, [], {}]");
    let kinds: Vec<_> = node.as_sequence().unwrap().iter().map(Node::kind).collect();
    assert_eq!(kinds, ["nothing", "true or false", "a number", "a string", "a list", "a mapping"]);
}

/// Checks that the `^` of a value is found again in the text, whatever style it is written in.
fn assert_found(text: &str) {
    let (source, node) = tree(text);
    let value = node.get("k").unwrap();
    let index = value.as_str().unwrap().find('^').unwrap();
    let at = value.locate(&source, index) as usize;
    assert_eq!(&text[at..=at], "^", "in {text:?} at {at}");
}

#[test]
fn a_place_in_a_string_is_found_in_the_text_in_every_style() {
    assert_found("k: plain ^ here\n");
    assert_found("k: plain over\n   two\n   lines ^ here\n");
    assert_found("k: 'it''s ^ here'\n");
    assert_found("k: 'over\n\n  lines ^ here'\n");
    assert_found("k: \"tab\\t quote\\\" u\\u00e9 U\\U0001F600 p\\ud834\\udd1e x\\x41 ^ here\"\n");
    assert_found("k: \"over\n  lines \\\n  joined ^ here\"\n");
    assert_found("k: \"over \\\r\n  \\\r\n joined ^ here\"\n");
    assert_found("k: |\n    first\n      indented\n\n    then ^ here\n");
    assert_found("k: |-\n    first\r\n    then ^ here\r\n");
    assert_found("k: | # a | comment\n\n    \"first\" 'then' ^ here\n");
    assert_found("'k': |+\n    |a| ^\n\n");
    assert_found("k: >\n    folded\n    then ^ here\n\n    more\n");
    assert_found("k: |2\n    ^ here\n");
    assert_found("k: >-\n    a\n      b\n    ^ here\n");
}

#[test]
fn the_start_and_the_end_of_a_string_are_found() {
    let (source, node) = tree("k: 'ab'\nn: 1\n");
    let value = node.get("k").unwrap();
    assert_eq!((value.locate(&source, 0), value.locate(&source, 2)), (4, 6));
    assert_eq!(node.get("n").unwrap().locate(&source, 5), node.get("n").unwrap().span.start);
}

#[test]
fn a_value_that_stands_for_another_text_has_places_all_the_same() {
    for text in ["''é", "\"\\x4é", "\"\\é", "'é''"] {
        let source = Source::new("w.yaml", text);
        let locator = Locator::new(&source, Span::new(0, text.len()), text);
        for index in 0..=text.len() {
            let at = locator.at(index) as usize;
            assert!(text.is_char_boundary(at), "byte {index} of {text:?} is at {at}");
        }
    }
}

#[test]
fn places_are_found_in_any_order() {
    let text = "k: >\n    over ^1\n    two ^2\n\n    lines ^3\n";
    let (source, node) = tree(text);
    let value = node.get("k").unwrap();
    let string = value.as_str().unwrap();
    let locator = Locator::new(&source, value.span, string);
    for mark in ["^3", "^1", "^2", "^2", "^3", "^1"] {
        let at = locator.at(string.find(mark).unwrap()) as usize;
        assert_eq!(&text[at..at + 2], mark);
    }
}

#[test]
fn many_places_of_a_long_string_cost_one_walk() {
    let text = format!("k: '{}'\n", "é".repeat(1 << 19));
    let (source, node) = tree(&text);
    let value = node.get("k").unwrap();
    let locator = Locator::new(&source, value.span, value.as_str().unwrap());
    // Walks from the start would read 2^37 characters.
    for index in (0..1 << 20).step_by(2) {
        assert_eq!(locator.at(index) as usize, "k: '".len() + index);
    }
}
