//! A plan as a picture.

use super::layout::{self, Layout, Point, STEP};
use super::{below, counted, heading, title, why};
use crate::plan::Plan;

/// Around everything.
const MARGIN: f64 = 24.0;
/// What the title takes.
const HEAD: f64 = 52.0;
/// The most arrows whose reasons are written beside them; of more they are shown when one is pointed at.
const MAX_REASONS: usize = 40;
/// The most characters of one line of a step.
const MAX_LINE: usize = 30;

const STYLE: &str = "text{font-family:system-ui,sans-serif;fill:#1b1f24}\
    .title{font-size:18px;font-weight:600}.about{font-size:12px;fill:#57606a}\
    .id{font-size:14px;font-weight:600}.agent{font-size:12px}.by{font-size:11px;fill:#57606a}\
    .box{fill:#f6f8fa;stroke:#57606a}.edge{fill:none;stroke:#57606a;stroke-width:1.2}\
    .edge:hover{stroke:#0969da;stroke-width:2.5}\
    .why{font-size:10px;fill:#57606a;paint-order:stroke;stroke:#fff;stroke-width:4px}";

/// Says that a plan has too much in it for one picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a picture of {steps} steps and {edges} dependencies could not be read: take `--format dot` or `json`, and draw a part"
)]
pub struct TooLarge {
    /// Its steps.
    pub steps: usize,
    /// Its dependencies.
    pub edges: usize,
}

/// Shows a plan as a picture in SVG: a box for each step with its agent and how that was selected, an
/// arrow for each dependency. What makes it one is written beside the arrow where there is room, and
/// shown when it is pointed at.
///
/// # Errors
/// When there are too many steps and dependencies to make out anything.
pub fn svg(plan: &Plan) -> Result<String, TooLarge> {
    let (steps, edges) = (plan.workflow.steps.len(), plan.edges());
    let layout = layout::layout(steps, edges).ok_or(TooLarge { steps, edges: edges.len() })?;
    let (width, height) = layout.size;
    let (width, height) = ((width + 2.0 * MARGIN).max(420.0), height + HEAD + 2.0 * MARGIN);
    let about = format!(
        "{}: {}, {} between them",
        plan.workflow.name,
        counted(steps, "step"),
        if edges.len() == 1 {
            "1 dependency".to_owned()
        } else {
            format!("{} dependencies", edges.len())
        },
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>{title}</title>\n<desc>{about}</desc>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#57606a\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"36\">{title}</text>\n\
         <text class=\"about\" x=\"{MARGIN}\" y=\"56\">{about}</text>\n\
         <g transform=\"translate({MARGIN} {top})\">\n",
        title = text(title(plan), 120),
        about = text(&about, 160),
        top = MARGIN + HEAD,
    );
    for edge in 0..edges.len() {
        arrow(plan, edge, &layout, &mut out);
    }
    for step in 0..steps {
        step_box(plan, step, layout.steps[step], &mut out);
    }
    out.push_str("</g>\n</svg>\n");
    Ok(out)
}

fn step_box(plan: &Plan, step: usize, (x, y): Point, out: &mut String) {
    let id = &heading(plan, step);
    let [agent, selected] = below(plan, step);
    let whole = text(&format!("{id}: {agent} ({selected})"), 500);
    let lines =
        [("id", 20, id), ("agent", 36, &agent), ("by", 50, &selected)].map(|(class, y, line)| {
            let line = text(line, MAX_LINE);
            format!("<text class=\"{class}\" x=\"10\" y=\"{y}\">{line}</text>")
        });
    let (width, height) = STEP;
    // An `svg` of its own, so that no text, however wide its letters are, goes beyond the box.
    out.push_str(&format!(
        "<svg x=\"{:.1}\" y=\"{:.1}\" width=\"{width}\" height=\"{height}\"><title>{whole}</title>\
         <rect class=\"box\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>{}</svg>\n",
        x - width / 2.0,
        y - height / 2.0,
        width - 1.0,
        height - 1.0,
        lines.concat(),
    ));
}

fn arrow(plan: &Plan, at: usize, layout: &Layout, out: &mut String) {
    let edge = &plan.edges()[at];
    let why = why(plan, edge);
    let [from, to] = [edge.from, edge.to].map(|step| &plan.workflow.steps[step].id);
    let points = points(layout, at, edge.from, edge.to);
    out.push_str(&format!(
        "<path class=\"edge\" d=\"{}\" marker-end=\"url(#arrow)\"><title>{}</title></path>\n",
        curve(&points, layout.is_sideways),
        text(&format!("{to} waits for {from}: {why}"), 500),
    ));
    if plan.edges().len() <= MAX_REASONS {
        // Beside the end: where several arrows leave one step, only their ends are apart.
        let [.., before, end] = points[..] else { return };
        let place = (before.0 + (end.0 - before.0) * 0.62, before.1 + (end.1 - before.1) * 0.62);
        out.push_str(&format!(
            "<text class=\"why\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            place.0,
            place.1,
            text(&kinds(plan, at), MAX_LINE),
        ));
    }
}

/// What makes a step wait, without the lines, for which there is no room.
fn kinds(plan: &Plan, edge: usize) -> String {
    let reasons = &plan.edges()[edge].reasons;
    reasons.iter().map(|reason| reason.kind.to_string()).collect::<Vec<_>>().join(", ")
}

/// From the edge of one step through the layers between to the edge of the other.
fn points(layout: &Layout, edge: usize, from: usize, to: usize) -> Vec<Point> {
    let half = |(x, y): Point, sign: f64| match layout.is_sideways {
        true => (x + sign * STEP.0 / 2.0, y),
        false => (x, y + sign * STEP.1 / 2.0),
    };
    let mut points = vec![half(layout.steps[from], 1.0)];
    points.extend(&layout.passes[edge]);
    points.push(half(layout.steps[to], -1.0));
    points
}

/// A smooth line that passes its points in the direction in which layers follow each other.
fn curve(points: &[Point], is_sideways: bool) -> String {
    let (x, y) = points[0];
    let mut path = format!("M{x:.1} {y:.1}");
    for pair in points.windows(2) {
        let [(x, y), (next_x, next_y)] = [pair[0], pair[1]];
        let (first, second) = match is_sideways {
            true => {
                let middle = f64::midpoint(x, next_x);
                ((middle, y), (middle, next_y))
            }
            false => {
                let middle = f64::midpoint(y, next_y);
                ((x, middle), (next_x, middle))
            }
        };
        path.push_str(&format!(
            "C{:.1} {:.1} {:.1} {:.1} {next_x:.1} {next_y:.1}",
            first.0, first.1, second.0, second.1
        ));
    }
    path
}

/// Text as XML can take it, no longer than so many characters: a card is data from a stranger.
fn text(of: &str, max_chars: usize) -> String {
    document::brief(of, max_chars)
        .chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            '\'' => "&#39;".to_owned(),
            // No text of XML holds them.
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}'.to_string(),
            c => c.to_string(),
        })
        .collect()
}
