//! `schedule` of a workflow: when it starts by itself.

use document::{Entry, Node, Span, Value};
use jiff::Timestamp;
use serde_json::Map;

use super::Checker;
use super::decoder::Fields;
use crate::inputs::Input;
use crate::language::Place;
use crate::schedule::{Schedule, find_zone, read_cron};

/// The time zone of a schedule that names none.
const DEFAULT_ZONE: &str = "UTC";

impl<'n> Checker<'_, 'n> {
    pub(super) fn schedules(&mut self, fields: Fields<'n>, inputs: &[Input]) -> Vec<Schedule> {
        let Some(node) = fields.get("schedule") else { return Vec::new() };
        let Value::Sequence(items) = &node.value else {
            let help = "write it as a list: `- {cron: \"0 7 * * MON\", timezone: Europe/Helsinki}`";
            self.decoder.expected(node, "`schedule`", "a list of schedules", help);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.schedule(item, inputs)).collect()
    }

    fn schedule(&mut self, node: &'n Node, inputs: &[Input]) -> Option<Schedule> {
        let what = "a schedule";
        let fields = self.decoder.fields(node, what, Place::Schedule);
        node.as_mapping()?;
        let span = node.head_span();
        let Some(cron) = fields.get("cron") else {
            let help =
                "say when, as in `cron: \"0 7 * * MON\"`: minute, hour, day, month, week day";
            self.decoder.missing(span, what, "cron", help);
            return None;
        };
        let timezone = match fields.get("timezone") {
            Some(node) => self.timezone(node),
            None => Some(DEFAULT_ZONE.to_owned()),
        };
        let given = match fields.get("inputs") {
            Some(node) => self.scheduled_inputs(node, inputs),
            None => Map::new(),
        };
        // What is no mapping was reported.
        if fields.get("inputs").is_none_or(|node| node.as_mapping().is_some()) {
            self.missing_inputs(fields.entry("inputs"), span, &given, inputs);
        }
        let schedule =
            Schedule { cron: self.cron(cron)?, timezone: timezone?, inputs: given, span };
        let times = schedule.times().ok()?;
        if times.after(Timestamp::UNIX_EPOCH).is_none() {
            let message = format!("`{}` names no day that ever comes", schedule.cron);
            self.decoder.invalid(cron.span, message, "change the day or the month");
        }
        Some(schedule)
    }

    fn cron(&mut self, node: &Node) -> Option<String> {
        let text = self.decoder.literal(node, "`cron`")?;
        if let Err(why) = read_cron(&text) {
            let message = format!("`{text}` is no cron expression: {why}");
            let help =
                "write minute, hour, day of month, month and day of week, as in `0 7 * * MON`";
            self.decoder.invalid(node.span, message, help);
            return None;
        }
        Some(text)
    }

    fn timezone(&mut self, node: &Node) -> Option<String> {
        let name = self.decoder.literal(node, "`timezone`")?;
        let Err(why) = find_zone(&name) else { return Some(name) };
        let names: Vec<String> =
            jiff::tz::db().available().map(|known| known.as_str().to_owned()).collect();
        let help = match self.decoder.nearest(&name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write it as in `Europe/Helsinki`".to_owned(),
        };
        self.decoder.invalid(node.span, why, &help);
        None
    }

    fn scheduled_inputs(
        &mut self,
        node: &Node,
        inputs: &[Input],
    ) -> Map<String, serde_json::Value> {
        let mut given = Map::new();
        for entry in self.decoder.entries(node, "`inputs` of a schedule") {
            let Some(input) = inputs.iter().find(|input| input.name == entry.key) else {
                if !self.names.inputs.iter().any(|known| known.key == entry.key) {
                    self.check_input(&entry.key, entry.key_span);
                }
                continue;
            };
            let value = entry.value.to_json();
            for problem in input.problems(&value) {
                let help = "change the value, or the schema of the input";
                self.decoder.invalid(entry.value.head_span(), problem.message, help);
            }
            given.insert(entry.key.clone(), value);
        }
        given
    }

    /// Nobody is there to be asked for what is missing.
    fn missing_inputs(
        &mut self,
        entry: Option<&Entry>,
        span: Span,
        given: &Map<String, serde_json::Value>,
        inputs: &[Input],
    ) {
        let at = entry.map_or(span, |entry| entry.key_span);
        let missing = inputs
            .iter()
            .filter(|input| input.default.is_none() && !given.contains_key(&input.name));
        for input in missing {
            let message = format!("a schedule gives no value for the input `{}`", input.name);
            let help =
                format!("add it, as in `inputs: {{{}: …}}`, or give it a default", input.name);
            self.decoder.invalid(at, message, &help);
        }
    }
}
