//! The page itself, from top to bottom: figures, launches, existing nodes, pods without a place, warnings.

use std::collections::BTreeMap;
use std::io::{self, Write};

use dovetail_solver::model::plan::{NodeAction, ProofKind};
use dovetail_solver::model::resources::ResourceName;

use super::super::summary::{
    bound_is_known, no_fix, node_counts, objective, proof, recounted, refused, uses_spot,
};
use super::super::{Loudness, Report, counted, dollars, percent, thousands};
use super::packing::{Bar, Block, Part, existing, launches};
use super::{css_percent, escape};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let new = launches(report);
    let (changing, unchanged) = existing(report);
    let drawing = Drawing::of([&new, &changing, &unchanged]);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Dovetail plan</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    )?;
    figures(report, out)?;
    if !new.is_empty() || !changing.is_empty() || !unchanged.is_empty() {
        switches(out)?;
    }
    let launched = report.plan.launch.len();
    let title = format!(
        "Launch {} for {}/h",
        counted(launched, "node", "nodes"),
        dollars(report.plan.cost.launched.micros())
    );
    let title = if launched == 0 {
        "Nothing to launch".to_owned()
    } else {
        title
    };
    drawing.section(&title, &new, out)?;
    let taking: usize = changing.iter().map(|bar| bar.count).sum();
    let title = format!(
        "{} that take pods or change",
        counted(taking, "existing node", "existing nodes")
    );
    if taking > 0 {
        drawing.section(&title, &changing, out)?;
    }
    unplaced(report, out)?;
    let kept: usize = unchanged.iter().map(|bar| bar.count).sum();
    if kept > 0 {
        let title = counted(kept, "node that stays as it is", "nodes that stay as they are");
        writeln!(out, "<details><summary><h2>{title}</h2></summary>")?;
        drawing.bars(&unchanged, out)?;
        out.write_all(b"</details>\n")?;
    }
    remarks(report, out)?;
    write!(
        out,
        "</main>\n<div id=\"hint\" role=\"tooltip\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

fn figures(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (plan, cost) = (report.plan, report.plan.cost);
    let (before, after) = node_counts(report.snapshot, plan);
    let placed = plan.work.pods.saturating_sub(plan.unschedulable.len());
    let region = escape(&report.snapshot.region);
    let reason = escape(&report.origin.region_reason);
    let spot = if report.origin.spot_is_estimated && uses_spot(plan) {
        "; spot prices are estimates"
    } else {
        ""
    };
    write!(
        out,
        "<header><h1>Dovetail plan</h1><p>{region} <span class=\"faint\">({reason}{spot})</span></p></header>\n\
         <section class=\"figures\">\n<div class=\"card wide\"><h2>Cost per hour</h2>\n"
    )?;
    let most = cost.before.micros().max(cost.after.micros()).max(1);
    let rows = [
        ("before", cost.before.micros(), "before"),
        ("after", cost.after.micros(), "after"),
    ];
    for (name, micros, class) in rows {
        let width = u64::try_from(i128::from(micros.max(0)) * 1_000_000 / i128::from(most)).unwrap_or(0);
        writeln!(
            out,
            "<div class=\"money\"><span>{name}</span><span class=\"track\"><i class=\"{class}\" style=\"width:{}%\"></i></span><b>{}</b></div>",
            css_percent(width),
            dollars(micros)
        )?;
    }
    let change = cost.after - cost.before;
    let sign = if change.micros() > 0 { "+" } else { "" };
    let gap = if bound_is_known(plan) {
        percent(cost.gap.0)
    } else {
        "?".to_owned()
    };
    for weighed in objective(plan)
        .map(|it| format!("Objective {it}"))
        .into_iter()
        .chain(recounted(plan))
    {
        writeln!(out, "<p class=\"faint\">{}</p>", escape(&weighed))?;
    }
    write!(
        out,
        "<p class=\"faint\">{sign}{} per hour</p></div>\n<div class=\"card\"><h2>Above the lower bound</h2><p class=\"big {}\">{}</p><p class=\"faint\">{}</p></div>\n",
        dollars(change.micros()),
        if plan.proof.kind == ProofKind::Heuristic {
            ""
        } else {
            "good"
        },
        gap,
        escape(&proof(plan))
    )?;
    writeln!(
        out,
        "<div class=\"card\"><h2>Nodes</h2><p class=\"big\">{} → {}</p><p class=\"faint\">{} launched</p></div>",
        thousands(before as u64),
        thousands(after as u64),
        thousands(plan.launch.len() as u64)
    )?;
    let (class, left) = match plan.unschedulable.len() {
        0 => ("good", "every pending pod has a place".to_owned()),
        left => ("bad", format!("no place for {}", counted(left, "pod", "pods"))),
    };
    write!(
        out,
        "<div class=\"card\"><h2>Pods placed</h2><p class=\"big\">{} <small>of {}</small></p><p class=\"{class}\">{left}</p></div>\n</section>\n",
        thousands(placed as u64),
        thousands(plan.work.pods as u64)
    )
}

fn switches(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(
        b"<form class=\"switches\" aria-label=\"How to draw\">\n\
          <fieldset><legend>Draw by</legend>\
          <label><input type=\"radio\" name=\"by\" id=\"by-cpu\" checked><span>CPU</span></label>\
          <label><input type=\"radio\" name=\"by\" id=\"by-memory\"><span>Memory</span></label></fieldset>\n\
          <fieldset><legend>Width</legend>\
          <label><input type=\"radio\" name=\"width\" id=\"width-same\" checked><span>Same for all</span></label>\
          <label><input type=\"radio\" name=\"width\" id=\"width-size\"><span>By size</span></label></fieldset>\n\
          <ul class=\"legend\"><li><i class=\"placed\"></i>placed by the plan</li><li><i class=\"running\"></i>running</li>\
          <li><i class=\"daemon\"></i>DaemonSets</li><li><i class=\"free\"></i>free</li></ul>\n</form>\n",
    )
}

/// What all bars share: a colour for each workload, the size of the largest node.
struct Drawing {
    hues: BTreeMap<String, usize>,
    most_cpu: u64,
    most_memory: u64,
}

impl Drawing {
    fn of(bars: [&[Bar]; 3]) -> Self {
        let all = || bars.iter().flat_map(|bars| bars.iter());
        let most = |name: ResourceName| {
            all()
                .map(|bar| bar.allocatable.get(&name).get())
                .max()
                .unwrap_or(1)
                .max(1)
        };
        let mut hues: BTreeMap<String, usize> = BTreeMap::new();
        for block in all()
            .flat_map(|bar| &bar.blocks)
            .filter(|block| block.part != Part::Daemon)
        {
            let next = hues.len();
            hues.entry(block.workload.clone()).or_insert(next);
        }
        Self {
            hues,
            most_cpu: most(ResourceName::Cpu),
            most_memory: most(ResourceName::Memory),
        }
    }

    fn section(&self, title: &str, bars: &[Bar], out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<section><h2>{}</h2>", escape(title))?;
        self.bars(bars, out)?;
        out.write_all(b"</section>\n")
    }

    fn bars(&self, bars: &[Bar], out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"<ol class=\"bars\">\n")?;
        for bar in bars {
            self.bar(bar, out)?;
        }
        out.write_all(b"</ol>\n")
    }

    fn bar(&self, bar: &Bar, out: &mut dyn Write) -> io::Result<()> {
        let times = if bar.count > 1 {
            format!("<b class=\"times\">× {}</b> ", thousands(bar.count as u64))
        } else {
            String::new()
        };
        let action = match bar.action {
            Some(NodeAction::Delete) => " <b class=\"bad\">deleted</b>",
            Some(NodeAction::Replace) => " <b class=\"bad\">replaced</b>",
            Some(NodeAction::Keep) | None => "",
        };
        let details: Vec<&str> = [&bar.capacity_type, &bar.zone, &bar.node_pool]
            .into_iter()
            .map(String::as_str)
            .chain(bar.only_name())
            .filter(|detail| !detail.is_empty())
            .collect();
        let name = if bar.instance_type.is_empty() {
            "node"
        } else {
            &bar.instance_type
        };
        let (cpu, memory) = bar.fill();
        let rounded = |millionths: u64| (millionths + 5_000) / 10_000;
        let size = |name: ResourceName, most: u64| {
            let millionths = u128::from(bar.allocatable.get(&name).get()) * 1_000_000 / u128::from(most);
            css_percent(u64::try_from(millionths).unwrap_or(0))
        };
        write!(
            out,
            "<li><div class=\"head\"><div class=\"what\" title=\"{}\">{times}<b>{}</b>{action} <span class=\"faint\">{}</span></div>\
             <div class=\"price\">{}<span class=\"faint\">/h{}</span></div></div>\n\
             <div class=\"node\" role=\"img\" aria-label=\"{}: CPU {} %, memory {} % used\" style=\"--sc:{};--sm:{}\">",
            escape(&bar.hint),
            escape(name),
            escape(&details.join(" · ")),
            dollars(bar.micros),
            if bar.count > 1 { " each" } else { "" },
            escape(name),
            rounded(cpu),
            rounded(memory),
            size(ResourceName::Cpu, self.most_cpu),
            size(ResourceName::Memory, self.most_memory),
        )?;
        for block in &bar.blocks {
            self.block(block, out)?;
        }
        write!(
            out,
            "</div>\n<div class=\"fill\"><span class=\"cpu\">{} %</span><span class=\"memory\">{} %</span></div></li>\n",
            rounded(cpu),
            rounded(memory)
        )
    }

    fn block(&self, block: &Block, out: &mut dyn Write) -> io::Result<()> {
        /// Steps of the golden angle: neighbours in the list are far apart in colour.
        const GOLDEN_ANGLE: usize = 137;
        let class = match block.part {
            Part::Placed => "placed",
            Part::Running => "running",
            Part::Daemon => "daemon",
        };
        let hue = self
            .hues
            .get(&block.workload)
            .map_or(0, |rank| (210 + rank * GOLDEN_ANGLE) % 360);
        let label = match block.workload.rsplit_once('/') {
            Some((_, name)) => name,
            None => &block.workload,
        };
        let (many, number) = if block.count > 1 {
            (" many", format!(";--n:{}", block.count))
        } else {
            ("", String::new())
        };
        let count = if block.count > 1 {
            format!(" × {}", block.count)
        } else {
            String::new()
        };
        write!(
            out,
            "<span class=\"{class}{many}\" style=\"--h:{hue};--c:{};--m:{}{number}\" title=\"{}\"><b>{}{count}</b></span>",
            css_percent(block.cpu),
            css_percent(block.memory),
            escape(&block.hint),
            escape(label)
        )
    }
}

fn unplaced(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let groups = refused(report.snapshot, report.plan);
    if groups.is_empty() {
        return Ok(());
    }
    let title = counted(report.plan.unschedulable.len(), "pod", "pods");
    write!(
        out,
        "<section><h2>No place for {title}</h2>\n<ul class=\"refused\">\n"
    )?;
    for group in groups {
        let names: Vec<String> = group.pods.iter().take(12).map(ToString::to_string).collect();
        write!(
            out,
            "<li><h3 title=\"{}\">{} <span class=\"faint\">{}</span></h3>\n<table>\n",
            escape(&names.join("\n")),
            escape(&group.workload),
            counted(group.pods.len(), "pod", "pods")
        )?;
        for reason in group.reasons {
            let place = match (&reason.node_pool, &reason.node) {
                (Some(pool), _) => pool.to_string(),
                (None, Some(node)) => format!("node {node}"),
                (None, None) => String::new(),
            };
            writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td><b class=\"tag\">{}</b></td><td>{}</td></tr>",
                escape(&place),
                reason.constraint,
                escape(&reason.detail)
            )?;
        }
        out.write_all(b"</table>\n")?;
        match group.fix {
            Some(fix) => writeln!(out, "<p class=\"fix\"><b>Smallest fix</b> {}</p>", escape(fix))?,
            None if group.reasons.is_empty() => writeln!(
                out,
                "<p class=\"faint\">there is no NodePool that could launch for it</p>"
            )?,
            None => writeln!(
                out,
                "<p class=\"faint\">{}</p>",
                no_fix(group.fix_search_cut_short)
            )?,
        }
        out.write_all(b"</li>\n")?;
    }
    out.write_all(b"</ul></section>\n")
}

/// So many warnings are listed; the table with `--verbose` has them all.
const WARNINGS_SHOWN: usize = 200;

fn remarks(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let all = &report.origin.warnings;
    let number = all.len();
    if number == 0 {
        return Ok(());
    }
    // What may make the plan wrong isn't hidden behind a click.
    let open = if all.iter().any(|remark| remark.loudness != Loudness::Note) {
        " open"
    } else {
        ""
    };
    write!(
        out,
        "<details{open}><summary><h2>{} about the input</h2></summary>\n<ul class=\"remarks\">\n",
        counted(number, "remark", "remarks")
    )?;
    for remark in all.iter().take(WARNINGS_SHOWN) {
        writeln!(
            out,
            "<li><b class=\"tag\">{}</b> {}</li>",
            remark.loudness.as_str(),
            escape(&remark.text)
        )?;
    }
    if number > WARNINGS_SHOWN {
        writeln!(out, "<li>and {} more</li>", number - WARNINGS_SHOWN)?;
    }
    out.write_all(b"</ul></details>\n")
}
