//! `dovetail catalog show`.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::resources::Resources;

use super::{catalogue, class, marked, nearest, table};
use crate::args::catalog::{ShowArgs, ShowOutput};
use crate::cloud::catalog::{Catalogue, PriceSource, SpotAdvice};

pub(super) fn run(args: &ShowArgs) -> anyhow::Result<String> {
    let catalogue = catalogue(&args.source)?;
    let name = args.instance_type.as_str();
    let Some(found) = catalogue.instance_type(name, &class(&args.source)) else {
        let near = nearest::names(name, catalogue.names());
        let hint = if near.is_empty() {
            "dovetail catalog list shows all".to_owned()
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        bail!(
            "no instance type \"{name}\" with a price in {}; {hint}",
            catalogue.region()
        );
    };
    match args.output {
        ShowOutput::Json => {
            let text = serde_json::to_string_pretty(&json(&catalogue, &found));
            Ok(text.context("writing the instance type as JSON")? + "\n")
        }
        ShowOutput::Table => Ok(for_people(args, &catalogue, &found)),
    }
}

fn is_estimate(catalogue: &Catalogue, found: &InstanceType, offering: &Offering) -> bool {
    match offering.capacity_type {
        CapacityType::Spot => catalogue.spot_is_estimated(),
        CapacityType::OnDemand => catalogue.price_source(found.name.as_str()) == Some(PriceSource::Derived),
        CapacityType::Reserved => false,
    }
}

/// Amounts by name, as a manifest has them.
pub(super) fn amounts(resources: &Resources) -> BTreeMap<String, String> {
    resources
        .iter()
        .map(|(name, amount)| (name.to_string(), amount.display(name.unit()).to_string()))
        .collect()
}

fn json(catalogue: &Catalogue, found: &InstanceType) -> serde_json::Value {
    let choices: BTreeMap<&String, Vec<&String>> = found
        .choices
        .iter()
        .map(|(key, values)| (key, values.named_values().iter().collect()))
        .collect();
    let offerings: Vec<serde_json::Value> = found
        .offerings
        .iter()
        .map(|offering| {
            serde_json::json!({
                "zone": offering.zone,
                "zoneID": offering.zone_id,
                "capacityType": offering.capacity_type,
                "price": offering.price,
                "isEstimate": is_estimate(catalogue, found, offering),
                "available": offering.available,
                "limit": offering.limit,
                "reservationID": offering.reservation_id(),
                "commitment": offering.commitment,
            })
        })
        .collect();
    serde_json::json!({
        "instanceType": found.name,
        "region": catalogue.region(),
        "labels": found.labels,
        "choices": choices,
        "capacity": amounts(&found.capacity),
        "allocatable": amounts(&found.allocatable),
        "offerings": offerings,
    })
}

fn for_people(args: &ShowArgs, catalogue: &Catalogue, found: &InstanceType) -> String {
    let mut text = format!(
        "{} in {}, images of {:?}\n\n",
        found.name,
        catalogue.region(),
        args.source.ami_family
    );
    let mut labels: Vec<Vec<String>> = found
        .labels
        .iter()
        .map(|(key, value)| {
            vec![
                key.clone(),
                if value.is_empty() {
                    "\"\"".to_owned()
                } else {
                    value.clone()
                },
            ]
        })
        .collect();
    for (key, values) in &found.choices {
        let values: Vec<&str> = values.named_values().iter().map(String::as_str).collect();
        labels.push(vec![key.clone(), values.join(" or ")]);
    }
    text.push_str(&table(&["LABEL", "VALUE"], &labels));

    let resources: Vec<Vec<String>> = found
        .capacity
        .iter()
        .map(|(name, capacity)| {
            let allocatable = found.allocatable.get(name);
            let shown =
                |amount: dovetail_solver::model::resources::Amount| amount.display(name.unit()).to_string();
            vec![name.to_string(), shown(capacity), shown(allocatable)]
        })
        .collect();
    text.push('\n');
    text.push_str(&table(&["RESOURCE", "CAPACITY", "FOR PODS"], &resources));

    let offerings: Vec<Vec<String>> = found
        .offerings
        .iter()
        .map(|offering| offering_cells(catalogue, found, offering))
        .collect();
    text.push('\n');
    text.push_str(&table(
        &["ZONE", "ZONE-ID", "CAPACITY-TYPE", "$/HOUR", "AVAILABLE", "NOTE"],
        &offerings,
    ));
    text.push_str(&notes(catalogue, found));
    if format!("{:?}", args.source.ami_family).starts_with("Windows") {
        text.push_str("prices are those of Linux: Windows licences are not in them\n");
    }
    text
}

fn offering_cells(catalogue: &Catalogue, found: &InstanceType, offering: &Offering) -> Vec<String> {
    let mut note = Vec::new();
    if let Some(limit) = offering.limit {
        note.push(format!("at most {limit}"));
    }
    note.extend(offering.reservation_id().map(str::to_owned));
    note.extend(offering.commitment.clone());
    vec![
        offering.zone.to_string(),
        offering.zone_id.clone().unwrap_or_else(|| "-".to_owned()),
        offering.capacity_type.to_string(),
        marked(
            &offering.price.to_string(),
            is_estimate(catalogue, found, offering),
        ),
        if offering.available { "yes" } else { "no" }.to_owned(),
        note.join(", "),
    ]
}

/// Where estimates come from.
fn notes(catalogue: &Catalogue, found: &InstanceType) -> String {
    let mut text = String::new();
    if let Some(SpotAdvice {
        savings_percent,
        interruption_class,
    }) = catalogue.spot_advice(found.name.as_str())
    {
        let interrupted = ["below 5 %", "5 to 10 %", "10 to 15 %", "15 to 20 %", "above 20 %"];
        let interrupted = interrupted
            .get(usize::from(interruption_class))
            .unwrap_or(&"unknown");
        text.push_str(&format!(
            "\n~ spot is estimated: {savings_percent} % below on-demand on average (interrupted in a month: {interrupted})\n"
        ));
    } else if catalogue.spot_is_estimated() {
        text.push_str("\nno spot price is known here, so there is no spot offering\n");
    }
    if catalogue.price_source(found.name.as_str()) == Some(PriceSource::Derived) {
        text.push_str("~ on-demand is estimated from the price in us-east-1 and the family's usual ratio\n");
    }
    text
}
