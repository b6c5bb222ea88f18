use serde_json::json;

use super::super::read::is_card;
use super::*;
use crate::v1::Required as _;

fn refusal(json: &Json) -> String {
    read(json).unwrap_err().to_string()
}

fn least_with(field: &str, value: Json) -> Json {
    let mut card = least();
    card[field] = value;
    card
}

#[test]
fn the_least_card_is_read_though_lint_has_much_to_say() {
    let card = read(&least()).unwrap();
    assert_eq!(card.name, "Ferries");
    assert_eq!(
        card.missing_required(),
        [
            "description",
            "version",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills"
        ]
    );
}

#[test]
fn unknown_fields_are_ignored() {
    assert!(read(&least_with("x-vendor", json!({"deep": [1]}))).is_ok());
}

#[test]
fn security_by_its_older_name_is_read_as_security_requirements() {
    let mut named = least();
    named["securityRequirements"] = json!([{"schemes": {"k": {"list": ["s"]}}}]);
    named["skills"] = json!([{"id": "s", "securityRequirements": [{"schemes": {"k": {}}}]}]);
    let expected = read(&named).unwrap();
    assert_eq!(expected.security_requirements.len(), 1);

    for older in [json!([{"schemes": {"k": {"list": ["s"]}}}]), json!([{"k": ["s"]}])] {
        let mut card = least();
        card["security"] = older;
        card["skills"] = json!([{"id": "s", "security": [{"k": []}]}]);
        assert_eq!(read(&card).unwrap(), expected);
    }
    // Where both are given, the name of 1.0 counts.
    named["security"] = json!([{"other": []}]);
    assert_eq!(read(&named).unwrap(), expected);
    assert_eq!(older_security(&named), [""; 0]);
}

#[test]
fn security_in_the_form_of_drafts_is_never_lost_and_is_told() {
    let openapi = || json!([{"k": ["s"], "l": []}, {"schemes": {"k": {"list": ["s"]}}}, {}]);
    let mut expected = least();
    expected["securityRequirements"] = json!([
        {"schemes": {"k": {"list": ["s"]}, "l": {"list": []}}}, {"schemes": {"k": {"list": ["s"]}}}, {}
    ]);
    let expected = read(&expected).unwrap();
    let cards = [
        (json!({"security": openapi()}), &["/security"][..]),
        (json!({"securityRequirements": [], "security": openapi()}), &["/security"]),
        (json!({"security_requirements": null, "security": openapi()}), &["/security"]),
        (json!({"securityRequirements": openapi()}), &["/securityRequirements/0"]),
        (json!({"security_requirements": openapi()}), &["/security_requirements/0"]),
    ];
    for (said, places) in cards {
        let (mut card, mut with_skill) = (least(), least());
        card.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        assert_eq!(read(&card).unwrap(), expected, "{said}");
        assert_eq!(older_security(&card), places, "{said}");
        with_skill["skills"] = json!([{"id": "a"}, said]);
        let read = read(&with_skill).unwrap();
        assert_eq!(read.skills[1].security_requirements, expected.security_requirements, "{said}");
        let of_skill = places.iter().map(|place| format!("/skills/1{place}"));
        assert_eq!(older_security(&with_skill), of_skill.collect::<Vec<_>>());
    }
    // A scheme may be called `schemes`.
    let mut card = least();
    card["security"] = json!([{"schemes": ["s"]}]);
    assert!(read(&card).unwrap().security_requirements[0].schemes.contains_key("schemes"));
    // Nothing is wrong with it where it belongs, nor where nobody is kept out.
    let older = json!({"name": "n", "url": "http://a.example", "security": openapi()});
    for right in [older, least_with("security", json!([])), json!([]), json!({"security": "x"})] {
        assert_eq!(older_security(&right), [""; 0], "{right}");
    }
}

#[test]
fn what_is_no_object_is_named() {
    insta::assert_snapshot!(refusal(&json!([])), @"an Agent Card is a JSON object, and this is an array");
    insta::assert_snapshot!(refusal(&json!("x")), @"an Agent Card is a JSON object, and this is a string");
    insta::assert_snapshot!(refusal(&json!(1)), @"an Agent Card is a JSON object, and this is a number");
    insta::assert_snapshot!(refusal(&json!(true)), @"an Agent Card is a JSON object, and this is a boolean");
    insta::assert_snapshot!(refusal(&json!(null)), @"an Agent Card is a JSON object, and this is null");
}

#[test]
fn all_that_is_missing_is_listed_at_once() {
    insta::assert_snapshot!(
        refusal(&json!({})),
        @"it lacks name, supportedInterfaces, without which the agent cannot be called"
    );
    insta::assert_snapshot!(
        refusal(&json!({"supportedInterfaces": [{"url": "u"}, {}]})),
        @"it lacks name, supportedInterfaces[0].protocolBinding, supportedInterfaces[0].protocolVersion, supportedInterfaces[1].url, supportedInterfaces[1].protocolBinding, supportedInterfaces[1].protocolVersion, without which the agent cannot be called"
    );
}

#[test]
fn a_field_of_the_wrong_kind_is_named_by_its_path() {
    insta::assert_snapshot!(
        refusal(&least_with("skills", json!([{"id": "a"}, {"tags": "x"}]))),
        @r#"its skills[1].tags cannot be read: invalid type: string "x", expected a sequence"#
    );
    insta::assert_snapshot!(
        refusal(&least_with("capabilities", json!([]))),
        @"its capabilities cannot be read: invalid type: sequence, expected an object (AgentCapabilities)"
    );
}

#[test]
fn a_card_of_both_versions_is_read_as_the_newer() {
    let mut card = least_with("url", json!("https://a"));
    card["protocolVersion"] = json!("0.3.0");
    card["preferredTransport"] = json!("JSONRPC");
    assert!(read(&card).is_ok());
}

#[test]
fn json_that_means_something_else_is_told_from_a_card() {
    assert!(is_card(&json!({"name": "a"})));
    assert!(is_card(&json!({"supported_interfaces": []})));
    assert!(!is_card(&json!({"jsonrpc": "2.0", "error": {}})));
    assert!(!is_card(&json!(["name"])));
}
