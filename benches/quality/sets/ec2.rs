//! The EC2-shaped set: 24 instances with certified bounds, best plans known and what Karpenter 1.15.0 decides.
//!
//! `benches/instances/ec2/SOURCE.txt` says what the files are.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::common::{deployment, pool};
use super::{Case, Known, number, read, table};

/// Name of the set and of its folder.
pub(crate) const SET: &str = "ec2";

/// All instances.
pub(crate) fn cases() -> Result<Vec<Case>> {
    let (bounds, karpenter) = (read(SET, "bounds.tsv")?, read(SET, "karpenter-1.15.0.tsv")?);
    let rivals: BTreeMap<&str, f64> = table(&karpenter)
        .iter()
        .filter_map(|row| Some((row["instance"], number(row, "usd_per_hour").ok()??)))
        .collect();
    table(&bounds)
        .iter()
        .map(|row| {
            let name = row["instance"].to_owned();
            let pods: u64 = row["pods"].parse().context("pods")?;
            let size = if pods < 1_000 { "n = 100" } else { "n ≥ 1 000" };
            let cap = if row["max_vcpu"].is_empty() {
                "uncapped"
            } else {
                "nodes ≤ 64 vCPU"
            };
            Ok(Case {
                set: SET,
                classes: vec![cap.to_owned(), size.to_owned()],
                pods,
                known: Known {
                    lower_bound: number(row, "lower_bound")?,
                    best: number(row, "best_known")?,
                    best_is_optimum: false,
                    rival: rivals.get(name.as_str()).copied(),
                },
                in_sample: true,
                text: {
                    let name = name.clone();
                    Box::new(move || manifests(&name))
                },
                name,
            })
        })
        .collect()
}

/// An instance as a Catalog, a NodePool and Deployments.
fn manifests(name: &str) -> Result<String> {
    let document: Value = serde_json::from_str(&read(SET, &format!("{name}.json"))?)?;
    let mut text = pool("      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}\n");
    text += "---\napiVersion: dovetail.sh/v1alpha1\nkind: Catalog\nmetadata: {name: ec2}\nspec:\n  region: us-east-1\n  \
             zones: [us-east-1a]\n  instanceTypes:\n";
    let most = document["max_vcpu"].as_u64().map_or(u64::MAX, |most| most * 1000);
    for line in read(SET, "catalog.csv")?.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, milli, mib, pods, price] = cells[..] else {
            anyhow::bail!("catalog.csv: {line}");
        };
        if milli.parse::<u64>().context("catalog.csv")? <= most {
            let size = format!("{{cpu: {milli}m, memory: {mib}Mi, pods: {pods}}}");
            writeln!(
                text,
                "  - {{name: {name}, labels: {{kubernetes.io/arch: amd64}}, capacity: {size}, allocatable: {size}, onDemand: {price}}}"
            )?;
        }
    }
    for (index, item) in document["items"].as_array().context("items")?.iter().enumerate() {
        let number = |at: usize| item[at].as_u64().context("a number of an item");
        let requests = format!("cpu: {}m, memory: {}Mi", number(0)?, number(1)?);
        text += &deployment(&format!("app-{index}"), &requests, number(2)?);
    }
    Ok(text)
}
