//! Canonical forms: RFC 8785, and which fields stand in them.

use super::*;
use crate::signature::{canonical::Forms, exact};

/// RFC 8785 of a text.
fn jcs(text: &str) -> String {
    let json = exact::read(text.as_bytes()).unwrap();
    String::from_utf8(serde_json_canonicalizer::to_vec(&json).unwrap()).unwrap()
}

fn canonical_text(card: &Json) -> String {
    let card = Unsigned::read(&text(card)).unwrap().card;
    String::from_utf8(canonical(&card).unwrap()).unwrap()
}

#[test]
fn the_example_of_rfc_8785_becomes_its_canonical_form() {
    // RFC 8785 §3.2.2 to §3.2.4.
    let text = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    assert_eq!(
        jcs(text),
        concat!(
            r#"{"literals":[null,true,false],"#,
            r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
            r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
        )
    );
}

#[test]
fn keys_are_ordered_by_their_utf_16_units() {
    // RFC 8785 §3.2.3: the emoji's surrogates come before U+FB33.
    let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
    assert_eq!(
        jcs(text),
        "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}"
    );
}

#[test]
fn numbers_are_written_as_ecmascript_writes_doubles() {
    // RFC 8785 appendix B, by their bits.
    let samples: [(u64, &str); 22] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    ];
    for (bits, written) in samples {
        let number = f64::from_bits(bits);
        assert_eq!(jcs(&format!("[{number:?}]")), format!("[{written}]"));
    }
}

#[test]
fn the_fragment_of_the_specification_becomes_its_canonical_form() {
    // A2A §8.4.1, completed by the fields without which a card cannot be read.
    let fragment = json!({
        "name": "Example Agent",
        "description": "",
        "supportedInterfaces": [
            {"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": ""},
        ],
        "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []},
        "iconUrl": "",
        "skills": [],
        "signatures": [{"protected": "e30", "signature": ""}],
    });
    assert_eq!(
        canonical_text(&fragment),
        concat!(
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"#,
            r#""defaultInputModes":[],"defaultOutputModes":[],"description":"","iconUrl":"","#,
            r#""name":"Example Agent","skills":[],"supportedInterfaces":"#,
            r#"[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://a"}],"version":""}"#
        )
    );
}

#[test]
fn an_optional_field_that_is_unset_is_not_written() {
    let canonical = canonical_text(&json!({
        "name": "a",
        "capabilities": {"streaming": null},
        "supportedInterfaces": [
            {"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
    }));
    assert!(canonical.starts_with(r#"{"capabilities":{},"default"#), "{canonical}");
    assert!(!canonical.contains("documentationUrl"), "{canonical}");
}

#[test]
fn json_that_readers_read_differently_has_no_canonical_form() {
    let why = |text: &str| exact::read(text.as_bytes()).unwrap_err().to_string();
    insta::assert_snapshot!(why(r#"{"a": {"name": 1, "name": 2}}"#), @"the card cannot be signed or checked: `name` stands twice in one object, and readers differ in which they take at line 1 column 28");
    insta::assert_snapshot!(why(r#"{"a": [9007199254740993]}"#), @"the card cannot be signed or checked: no double holds the integer 9007199254740993, so readers round it differently; write it as a string at line 1 column 23");
    insta::assert_snapshot!(why(r#"{"a": -9007199254740993}"#), @"the card cannot be signed or checked: no double holds the integer -9007199254740993, so readers round it differently; write it as a string at line 1 column 23");
    insta::assert_snapshot!(why(r#"{"a": 1e400}"#), @"the card cannot be signed or checked: number out of range at line 1 column 11");
    insta::assert_snapshot!(why(r#"{"a": "\ud800"}"#), @"the card cannot be signed or checked: unexpected end of hex escape at line 1 column 14");
    assert!(
        exact::read(
            br#"[9007199254740992, -9007199254740992, 100000000000000000, 1e30, {"a": {"a": 1}}]"#
        )
        .is_ok()
    );
}

/// The forms of a card beside the one as received, and what the shortest one leaves out.
fn forms(card: &Json) -> (Vec<Form>, Option<String>) {
    let forms = Forms::of(card).unwrap();
    let others = forms.forms.iter().skip(1).map(|(form, _)| *form).collect();
    (others, forms.partial.map(|(_, path)| path))
}

#[test]
fn a_card_without_anything_empty_has_one_form() {
    assert_eq!(forms(&serde_json::to_value(card()).unwrap()), (vec![], None));
}

#[test]
fn what_an_empty_value_says_decides_whether_it_may_be_left_out() {
    let base = || {
        json!({
            "name": "a", "description": "d", "version": "1",
            "supportedInterfaces": [
                {"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            ],
            "capabilities": {"streaming": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "a", "name": "a", "description": "d", "tags": ["t"]}],
        })
    };
    assert_eq!(forms(&base()), (vec![], None));
    let harmless = [
        ("/description", json!("")),
        ("/capabilities", json!({})),
        ("/capabilities", json!({"extensions": []})),
        ("/skills/0/examples", json!([])),
        ("/supportedInterfaces/0/tenant", json!("")),
        ("/provider", json!({"url": "", "organization": "o"})),
    ];
    for (at, value) in harmless {
        let (forms, lost) = forms(&with(base(), at, value));
        assert!(!forms.is_empty() && lost.is_none(), "{at}: {forms:?} {lost:?}");
    }
    let telling = [
        ("/securityRequirements", json!([{}]), "securityRequirements[0]"),
        ("/securityRequirements", json!([]), "securityRequirements"),
        (
            "/securityRequirements",
            json!([{"schemes": {"key": {"list": []}}}]),
            "securityRequirements[0].schemes.key.list",
        ),
        ("/securitySchemes", json!({"key": {}}), "securitySchemes.key"),
        ("/skills/0/securityRequirements", json!([{}]), "skills[0].securityRequirements[0]"),
        ("/skills", json!([{}, {"id": "a"}]), "skills[0]"),
        ("/defaultInputModes", json!(["", "text/plain"]), "defaultInputModes[0]"),
        (
            "/capabilities/extensions",
            json!([{"uri": "u", "params": {"a": null}}]),
            "capabilities.extensions[0].params.a",
        ),
    ];
    for (at, value, lost) in telling {
        assert_eq!(forms(&with(base(), at, value)).1.as_deref(), Some(lost));
    }
}

/// Sets the value at a pointer; its owner is there.
fn with(mut card: Json, at: &str, value: Json) -> Json {
    let (owner, name) = at.rsplit_once('/').unwrap();
    card.pointer_mut(owner).unwrap()[name] = value;
    card
}
