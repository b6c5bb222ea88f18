//! Where the steps of a picture stand, and how its arrows go.

use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use rust_sugiyama::configure::{Config, RankingType};

use crate::dag::{self, Edge};

/// Width and height of a step.
pub(super) const STEP: (f64, f64) = (210.0, 58.0);
/// Between steps of a layer.
const GAP: f64 = 22.0;
/// Between layers, so that arrows can turn.
const LAYER_GAP: f64 = 64.0;
/// What an arrow takes in a layer that it passes.
const PASSING: f64 = 4.0;
/// The most steps, and places where arrows pass a layer, of one picture. Beyond, no one could follow it, and
/// the layout would take minutes.
const MAX_PLACES: usize = 3_000;

/// A place, in pixels from the top left.
pub(super) type Point = (f64, f64);

/// Where everything stands.
pub(super) struct Layout {
    /// The middle of each step.
    pub(super) steps: Vec<Point>,
    /// For each edge, the middles of the layers that it passes, its ends left out.
    pub(super) passes: Vec<Vec<Point>>,
    /// Whether layers are columns, from left to right, and not rows.
    pub(super) is_sideways: bool,
    /// Width and height of the whole.
    pub(super) size: Point,
}

/// Lays out steps in layers, each after those that it waits for; none when there are too many.
pub(super) fn layout(steps: usize, edges: &[Edge]) -> Option<Layout> {
    let layers = layers(steps, edges);
    let passing: usize = edges.iter().map(|edge| layers[edge.to] - layers[edge.from] - 1).sum();
    if steps + passing > MAX_PLACES {
        return None;
    }
    let is_sideways = is_sideways(&layers);
    let (graph, passes) = graph(steps, edges, &layers);
    let points = arrange(&graph, is_sideways);
    let turned = |(x, y): Point| if is_sideways { (y, x) } else { (x, y) };
    let point = |index: &NodeIndex| turned(points[index.index()]);
    let width = points.iter().map(|(x, _)| *x).fold(0.0, f64::max);
    let height = points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    let (width, height) = turned((width, height));
    Some(Layout {
        steps: (0..steps).map(|step| turned(points[step])).collect(),
        passes: passes.iter().map(|through| through.iter().map(point).collect()).collect(),
        is_sideways,
        size: (width + STEP.0 / 2.0, height + STEP.1 / 2.0),
    })
}

/// For each step, how many others come before it one after the other.
fn layers(steps: usize, edges: &[Edge]) -> Vec<usize> {
    let (dependencies, _) = dag::neighbours(steps, edges);
    let mut layers = vec![0; steps];
    for step in dag::order(steps, edges).expect("a checked workflow has no cycle") {
        let before = dependencies[step].iter().map(|from| layers[*from] + 1);
        layers[step] = before.max().unwrap_or(0);
    }
    layers
}

/// Whether layers are better columns: so of many steps side by side, one stands above the other, and a
/// long chain goes down.
fn is_sideways(layers: &[usize]) -> bool {
    let mut widths = vec![0_usize; layers.len() + 1];
    for layer in layers {
        widths[*layer] += 1;
    }
    let widest = widths.iter().max().copied().unwrap_or(0);
    let deepest = widths.iter().filter(|width| **width > 0).count();
    widest > deepest
}

/// The graph whose every edge goes to the next layer: an edge over several has a place in each that it
/// passes, so that it is led between the steps there and not through them.
fn graph(
    steps: usize,
    edges: &[Edge],
    layers: &[usize],
) -> (StableDiGraph<bool, ()>, Vec<Vec<NodeIndex>>) {
    let mut graph = StableDiGraph::new();
    for _ in 0..steps {
        graph.add_node(true);
    }
    let mut passes = Vec::with_capacity(edges.len());
    for edge in edges {
        let between = layers[edge.from] + 1..layers[edge.to];
        let through: Vec<NodeIndex> = between.map(|_| graph.add_node(false)).collect();
        let mut at = NodeIndex::new(edge.from);
        for next in through.iter().copied().chain([NodeIndex::new(edge.to)]) {
            graph.add_edge(at, next, ());
            at = next;
        }
        passes.push(through);
    }
    (graph, passes)
}

/// The middle of everything, layers as rows. Parts that nothing connects stand side by side, in rows.
fn arrange(graph: &StableDiGraph<bool, ()>, is_sideways: bool) -> Vec<Point> {
    let (along, across) = if is_sideways { (STEP.1, STEP.0) } else { STEP };
    let size = |_: NodeIndex, is_step: &bool| match is_step {
        true => (along + GAP, across + LAYER_GAP),
        false => (PASSING + GAP, LAYER_GAP),
    };
    let config = Config {
        vertex_spacing: 0.0,
        dummy_vertices: false,
        ranking_type: RankingType::Up,
        ..Config::default()
    };
    let mut parts: Vec<Vec<(usize, Point)>> = rust_sugiyama::from_graph(graph, &size, &config)
        .into_iter()
        .map(|(part, _, _)| part.into_iter().map(|(at, point)| (at.index(), point)).collect())
        .collect();
    parts.sort_by_key(|part| part.iter().map(|(at, _)| *at).min());
    let mut shelf = Shelf::new(&parts, along + GAP, across + LAYER_GAP);
    let mut points = vec![(0.0, 0.0); graph.node_count()];
    for part in &parts {
        let (left, top) = shelf.place(part);
        let ((least_x, least_y), (width, _)) = (least(part), extent(part));
        let is_backwards = is_backwards(part);
        for (at, (x, y)) in part {
            let along = if is_backwards { least_x + width - x } else { x - least_x };
            points[*at] = (left + along, top + y - least_y);
        }
    }
    points
}

/// Whether what comes first in the file stands last in the layers, where the layout left it open.
fn is_backwards(part: &[(usize, Point)]) -> bool {
    let count = f64::from(u32::try_from(part.len()).unwrap_or(u32::MAX));
    let index = |at: usize| f64::from(u32::try_from(at).unwrap_or(u32::MAX));
    let mean_index = part.iter().map(|(at, _)| index(*at)).sum::<f64>() / count;
    let mean_x = part.iter().map(|(_, (x, _))| *x).sum::<f64>() / count;
    part.iter().map(|(at, (x, _))| (index(*at) - mean_index) * (x - mean_x)).sum::<f64>() < 0.0
}

/// Puts parts side by side until a row is full.
struct Shelf {
    x: f64,
    y: f64,
    row: f64,
    full: f64,
    step: Point,
}

impl Shelf {
    fn new(parts: &[Vec<(usize, Point)>], along: f64, across: f64) -> Shelf {
        let sizes = parts.iter().map(|part| extent(part));
        let area: f64 =
            sizes.clone().map(|(width, height)| (width + along) * (height + across)).sum();
        let widest = sizes.map(|(width, _)| width).fold(0.0, f64::max);
        let full = (area * 1.5).sqrt().max(widest);
        Shelf { x: 0.0, y: 0.0, row: 0.0, full, step: (along, across) }
    }

    /// The middle of the first step of a part.
    fn place(&mut self, part: &[(usize, Point)]) -> Point {
        let (width, height) = extent(part);
        if self.x > 0.0 && self.x + width > self.full {
            (self.x, self.y, self.row) = (0.0, self.y + self.row, 0.0);
        }
        let at = (self.x + (self.step.0 - GAP) / 2.0, self.y + (self.step.1 - LAYER_GAP) / 2.0);
        self.x += width + self.step.0;
        self.row = self.row.max(height + self.step.1);
        at
    }
}

fn least(part: &[(usize, Point)]) -> Point {
    let least = |of: fn(&Point) -> f64| part.iter().map(|(_, at)| of(at)).fold(f64::MAX, f64::min);
    (least(|at| at.0), least(|at| at.1))
}

/// From the first middle to the last.
fn extent(part: &[(usize, Point)]) -> Point {
    let most = |of: fn(&Point) -> f64| part.iter().map(|(_, at)| of(at)).fold(f64::MIN, f64::max);
    let (x, y) = least(part);
    (most(|at| at.0) - x, most(|at| at.1) - y)
}
