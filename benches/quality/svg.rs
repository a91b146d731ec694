//! A chart of curves over two logarithmic axes, as inline SVG.
//!
//! Values below an axis' lower end are drawn on it: a gap of nothing has no logarithm.

use std::fmt::Write;

/// Size of the drawing and of the margins for figures and words.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 40.0;

/// A polyline.
pub(crate) struct Curve {
    /// What it says when pointed at.
    pub(crate) title: String,
    pub(crate) colour: &'static str,
    pub(crate) style: Style,
    /// Seconds and percent.
    pub(crate) points: Vec<(f64, f64)>,
}

/// How a curve looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// One of many.
    Thin,
    /// A mean.
    Thick,
    /// A mean of few points, each marked.
    Marked,
    /// A mean of another kind.
    Dashed,
}

/// A logarithmic axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Axis {
    /// The whole decades that hold all of these values.
    pub(crate) fn around(values: impl Iterator<Item = f64>, floor: f64) -> Self {
        let (least, most) = values
            .filter(|value| value.is_finite())
            .map(|value| value.max(floor))
            .fold((f64::INFINITY, floor), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        let least = 10_f64.powf(least.min(most).log10().floor());
        let most = 10_f64.powf(most.log10().ceil()).max(least * 10.0);
        Self { least, most }
    }

    /// From 0 to 1.
    fn share(self, value: f64) -> f64 {
        let value = value.clamp(self.least, self.most);
        (value / self.least).log10() / (self.most / self.least).log10()
    }

    fn decades(self) -> impl Iterator<Item = f64> {
        let mut at = self.least;
        std::iter::from_fn(move || {
            let tick = at;
            at *= 10.0;
            (tick <= self.most * 1.000_001).then_some(tick)
        })
    }
}

/// Draws the curves; the thin ones below the others.
pub(crate) fn chart(title: &str, x: Axis, y: Axis, y_words: &str, curves: &[Curve]) -> String {
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{}</title><text class=\"title\" x=\"{LEFT}\" y=\"16\">{}</text>\n",
        escape(title),
        escape(title)
    );
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in x.decades() {
        let at = across(x, tick);
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/><text x=\"{at:.1}\" \
             y=\"{}\" text-anchor=\"middle\">{tick} s</text>",
            bottom + 16.0
        );
    }
    for tick in y.decades() {
        let at = down(y, tick);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{tick} %</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\">{}</text>",
        HEIGHT - 6.0,
        escape(y_words)
    );
    let is_thin = |curve: &&Curve| curve.style == Style::Thin;
    for curve in curves
        .iter()
        .filter(is_thin)
        .chain(curves.iter().filter(|curve| !is_thin(curve)))
    {
        svg += &polyline(curve, x, y);
    }
    svg + "</svg>\n"
}

fn polyline(curve: &Curve, x: Axis, y: Axis) -> String {
    let look = match curve.style {
        Style::Thin => "stroke-width=\"0.7\" stroke-opacity=\"0.35\"",
        Style::Thick | Style::Marked => "stroke-width=\"2.5\"",
        Style::Dashed => "stroke-width=\"1.8\" stroke-dasharray=\"6 4\"",
    };
    let points: Vec<String> = curve
        .points
        .iter()
        .map(|(seconds, percent)| format!("{:.1},{:.1}", across(x, *seconds), down(y, *percent)))
        .collect();
    let title = escape(&curve.title);
    let mut svg = format!(
        "<polyline fill=\"none\" stroke=\"{}\" {look} points=\"{}\"><title>{title}</title></polyline>\n",
        curve.colour,
        points.join(" ")
    );
    if curve.style == Style::Marked {
        for (point, value) in points.iter().zip(&curve.points) {
            let (at_x, at_y) = point.split_once(',').unwrap_or_default();
            let _ = writeln!(
                svg,
                "<circle cx=\"{at_x}\" cy=\"{at_y}\" r=\"3\" fill=\"{}\"><title>{title}: {:.3} % after {} s</title></circle>",
                curve.colour, value.1, value.0
            );
        }
    }
    svg
}

fn across(axis: Axis, seconds: f64) -> f64 {
    LEFT + axis.share(seconds) * (WIDTH - LEFT - RIGHT)
}

fn down(axis: Axis, percent: f64) -> f64 {
    HEIGHT - BOTTOM - axis.share(percent) * (HEIGHT - TOP - BOTTOM)
}

/// Text as it may stand in HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
