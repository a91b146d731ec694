//! `dovetail catalog list`.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::money::Price;
use dovetail_solver::model::offering::CapacityType;
use dovetail_solver::model::resources::{ResourceName, Unit};

use super::{catalogue, class, marked, table};
use crate::api::labels;
use crate::args::catalog::{ListArgs, ListOutput, Sort};
use crate::cloud::catalog::{Catalogue, PriceSource};

/// A line of the list.
struct Row {
    found: InstanceType,
    on_demand: Option<Price>,
    on_demand_is_estimate: bool,
    spot: Option<Price>,
    spot_is_estimate: bool,
    zones: Vec<String>,
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<String> {
    let catalogue = catalogue(&args.source)?;
    let types = catalogue.instance_types(&class(&args.source));
    let mut rows: Vec<Row> = types
        .into_iter()
        .filter(|found| wanted(args, found))
        .map(|found| row(&catalogue, found))
        .collect();
    if rows.is_empty() {
        bail!("{}", nothing(args, &catalogue));
    }
    if args.sort == Sort::Price {
        // Types that aren't sold on demand come last.
        rows.sort_by_key(|row| (row.on_demand.is_none(), row.on_demand));
    }
    match args.output {
        ListOutput::Json => {
            let rows: Vec<serde_json::Value> = rows.iter().map(json).collect();
            let text = serde_json::to_string_pretty(&rows).context("writing the list as JSON")?;
            Ok(text + "\n")
        }
        ListOutput::Table | ListOutput::Wide => Ok(for_people(args, &catalogue, &rows)),
    }
}

fn wanted(args: &ListArgs, found: &InstanceType) -> bool {
    let is = |key: &str, wanted: &[String]| {
        let value = found.labels.get(key);
        wanted.is_empty() || value.is_some_and(|value| wanted.contains(value))
    };
    is(labels::ARCH, args.arch.as_slice())
        && is("karpenter.k8s.aws/instance-family", &args.family)
        && is("karpenter.k8s.aws/instance-category", &args.category)
}

/// Why nothing is listed.
fn nothing(args: &ListArgs, catalogue: &Catalogue) -> String {
    let filters = [
        ("architecture", args.arch.as_slice()),
        ("family", &args.family),
        ("category", &args.category),
    ];
    let named: Vec<String> = filters
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(what, values)| format!("{what} {}", values.join(" or ")))
        .collect();
    format!(
        "no instance type of {} has {}",
        catalogue.region(),
        named.join(" and ")
    )
}

fn row(catalogue: &Catalogue, found: InstanceType) -> Row {
    let cheapest = |capacity_type| {
        let offerings = found.offerings.iter();
        let of_kind = offerings.filter(|offering| offering.capacity_type == capacity_type);
        of_kind.map(|offering| offering.price).min()
    };
    let zones: BTreeSet<String> = found
        .offerings
        .iter()
        .map(|offering| offering.zone.to_string())
        .collect();
    Row {
        on_demand: cheapest(CapacityType::OnDemand),
        on_demand_is_estimate: catalogue.price_source(found.name.as_str()) == Some(PriceSource::Derived),
        spot: cheapest(CapacityType::Spot),
        spot_is_estimate: catalogue.spot_is_estimated(),
        zones: zones.into_iter().collect(),
        found,
    }
}

fn label<'a>(found: &'a InstanceType, name: &str) -> &'a str {
    let key = format!("{}/{name}", labels::KARPENTER_AWS_DOMAIN);
    found.labels.get(&key).map_or("-", String::as_str)
}

/// The memory that EC2 reports, as people call it.
fn memory(found: &InstanceType) -> String {
    match label(found, "instance-memory").parse::<u64>() {
        Err(_) => "-".to_owned(),
        Ok(mebibytes) if mebibytes % 1_024 == 0 => format!("{}Gi", mebibytes / 1_024),
        Ok(mebibytes) => format!("{mebibytes}Mi"),
    }
}

fn price(price: Option<Price>, is_estimate: bool) -> String {
    price.map_or_else(|| "-".to_owned(), |price| marked(&price.to_string(), is_estimate))
}

fn for_people(args: &ListArgs, catalogue: &Catalogue, rows: &[Row]) -> String {
    let wide = args.output == ListOutput::Wide;
    let mut header = vec![
        "TYPE",
        "VCPU",
        "MEMORY",
        "PODS",
        "ARCH",
        "ON-DEMAND",
        "SPOT",
        "ZONES",
    ];
    if wide {
        header.extend([
            "CPU-FOR-PODS",
            "MEMORY-FOR-PODS",
            "ACCELERATORS",
            "LOCAL-DISKS",
            "NETWORK",
        ]);
    }
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| cells(row, catalogue.region(), wide))
        .collect();
    let mut text = table(&header, &lines);
    let count = rows.len();
    let types = if count == 1 {
        "instance type"
    } else {
        "instance types"
    };
    text.push_str(&format!(
        "\n{count} {types} of {}; dollars per hour",
        catalogue.region()
    ));
    let spot = rows.iter().any(|row| row.spot_is_estimate && row.spot.is_some());
    let derived = rows.iter().any(|row| row.on_demand_is_estimate);
    text.push_str(match (spot, derived) {
        (true, true) => ", ~ is an estimate: spot from mean savings, on-demand from us-east-1",
        (true, false) => ", ~ is an estimate from mean savings of spot",
        (false, true) => ", ~ is an estimate from us-east-1",
        (false, false) => "",
    });
    text.push('\n');
    text
}

fn cells(row: &Row, region: &str, wide: bool) -> Vec<String> {
    let found = &row.found;
    let amount = |name: ResourceName| found.allocatable.get(&name).display(name.unit()).to_string();
    let arch = found.labels.get(labels::ARCH).map_or("-", String::as_str);
    // Zones of the region by their letters alone.
    let zones: Vec<&str> = row
        .zones
        .iter()
        .map(|zone| {
            zone.strip_prefix(region)
                .filter(|rest| !rest.is_empty())
                .unwrap_or(zone)
        })
        .collect();
    let mut cells = vec![
        found.name.to_string(),
        label(found, "instance-cpu").to_owned(),
        memory(found),
        amount(ResourceName::Pods),
        arch.to_owned(),
        price(row.on_demand, row.on_demand_is_estimate),
        price(row.spot, row.spot_is_estimate),
        zones.join(","),
    ];
    if wide {
        cells.extend([
            amount(ResourceName::Cpu),
            amount(ResourceName::Memory),
            accelerators(found),
        ]);
        for (name, unit) in [
            ("instance-local-nvme", "GB"),
            ("instance-network-bandwidth", "Mbit/s"),
        ] {
            let value = label(found, name);
            cells.push(if value == "-" {
                value.to_owned()
            } else {
                format!("{value} {unit}")
            });
        }
    }
    cells
}

/// `8 nvidia.com/gpu`; devices only, not what comes with the network.
fn accelerators(found: &InstanceType) -> String {
    let counted: Vec<String> = found
        .capacity
        .iter()
        .filter(|(name, _)| name.unit() == Unit::Count && **name != ResourceName::Pods)
        .filter(|(name, _)| !name.as_str().starts_with("vpc.amazonaws.com/"))
        .map(|(name, amount)| format!("{} {name}", amount.get()))
        .collect();
    if counted.is_empty() {
        "-".to_owned()
    } else {
        counted.join(", ")
    }
}

fn json(row: &Row) -> serde_json::Value {
    let found = &row.found;
    serde_json::json!({
        "instanceType": found.name,
        "arch": found.labels.get(labels::ARCH),
        "capacity": super::show::amounts(&found.capacity),
        "allocatable": super::show::amounts(&found.allocatable),
        "onDemand": row.on_demand,
        "onDemandIsEstimate": row.on_demand_is_estimate,
        "spot": row.spot,
        "spotIsEstimate": row.spot_is_estimate,
        "zones": row.zones,
    })
}
