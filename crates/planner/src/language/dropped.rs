//! A field that is checked and then ignored, for `cargo xtask mutate-fields`: the test of that field has
//! to notice.
//!
//! Nothing of this is in a binary that is built without the feature `drop-field`.

use document::{Node, Value};

use super::{Place, Type};

/// Names the field, as in `step.timeout`.
const SETTING: &str = "CONVOKE_DROP_FIELD";

/// A file as if nobody had written the field that the environment names; none when it names none.
///
/// # Panics
/// When it names what is no field: a mutation that changes nothing would look like one that is missed.
pub(crate) fn without_dropped(root: &Node) -> Option<Node> {
    let name = std::env::var(SETTING).ok()?;
    let (place, key) = name.split_once('.').expect("a field is named as in `step.timeout`");
    let place = Place::ALL.into_iter().find(|known| known.name() == place);
    let place = place.expect("the part before the point is a place of the language");
    let field = place.field(key).expect("the part after the point is a key of that place");
    let mut root = root.clone();
    strip(&mut root, Place::Workflow, (place, field.key));
    Some(root)
}

fn strip(node: &mut Node, place: Place, dropped: (Place, &str)) {
    let Value::Mapping(entries) = &mut node.value else { return };
    if place == dropped.0 {
        entries.retain(|entry| entry.key != dropped.1);
    }
    for entry in entries {
        let value = &mut entry.value;
        match place.field(&entry.key).map(|field| field.takes) {
            Some(Type::Mapping(inner) | Type::NameOrMapping(inner)) => strip(value, inner, dropped),
            Some(
                Type::Named(inner, _)
                | Type::TextOrList(inner)
                | Type::List(inner)
                | Type::NamesOrMappings(inner),
            ) => {
                items(value).for_each(|item| strip(item, inner, dropped));
            }
            _ => {}
        }
    }
}

fn items(node: &mut Node) -> Box<dyn Iterator<Item = &mut Node> + '_> {
    match &mut node.value {
        Value::Mapping(entries) => Box::new(entries.iter_mut().map(|entry| &mut entry.value)),
        Value::Sequence(items) => Box::new(items.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}
