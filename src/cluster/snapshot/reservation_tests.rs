//! Which capacity reservations a node class may launch into, and what is said of the others.

use super::tests::{CLASS, node, pool, read_bytes, said};
use super::*;
use dovetail_solver::model::offering::Supply;

const NOW: &str = "2026-03-01T10:00:00Z";

fn catalogue(reservations: &str) -> String {
    format!(
        "apiVersion: dovetail.sh/v1alpha1\nkind: Catalog\nmetadata: {{name: c}}\nspec:\n  zones: [us-east-1a, us-east-1b]\n  instanceTypes: [{{name: m7i.large, capacity: {{cpu: 2, memory: 8Gi, pods: 29}}, onDemand: 0.1}}]\n  reservations: [{reservations}]\n---\n"
    )
}

fn reservation(id: &str, more: &str) -> String {
    format!("{{id: {id}, instanceType: m7i.large, zone: us-east-1a, limit: 3{more}}}")
}

fn class(terms: &str, status: &str) -> String {
    let terms = format!("spec: {{capacityReservationSelectorTerms: [{terms}], ");
    CLASS
        .replace("spec: {", &terms)
        .replace("---\n", &format!("status: {{{status}}}\n---\n"))
}

fn listed(id: &str, more: &str) -> String {
    format!(
        "{{id: {id}, availabilityZone: us-east-1a, instanceType: m7i.large, instanceMatchCriteria: targeted, ownerID: '012345678901'{more}}}"
    )
}

fn frozen(documents: &[String]) -> Frozen {
    let read = read_bytes("input", documents.concat().as_bytes(), &[]).unwrap();
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let now: jiff::Timestamp = NOW.parse().unwrap();
    let options = FreezeOptions {
        now: Timestamp(now.as_second()),
        ..FreezeOptions::default()
    };
    freeze(&read.index, &options).unwrap()
}

/// Ids that the pool's class may launch into.
fn open(frozen: &Frozen) -> Vec<String> {
    let types = frozen
        .snapshot
        .node_classes
        .values()
        .flat_map(|class| &class.instance_types);
    let offerings = types.flat_map(|instance_type| &instance_type.offerings);
    let open = offerings.filter(|offering| offering.available);
    open.filter_map(|offering| offering.reservation_id().map(str::to_owned))
        .collect()
}

fn planned(catalogue_of: &[&str], class: &str) -> (Vec<String>, Vec<String>) {
    let frozen = frozen(&[
        catalogue(&catalogue_of.join(", ")),
        class.to_owned(),
        pool("default", "default", ""),
    ]);
    (open(&frozen), said(&frozen))
}

#[test]
fn the_class_status_says_which_may_be_used() {
    let both = [&*reservation("cr-1", ""), &*reservation("cr-2", "")];
    let (open, said) = planned(
        &both,
        &class(
            "{tags: {team: ml}}",
            &format!("capacityReservations: [{}]", listed("cr-1", "")),
        ),
    );
    assert_eq!(open, ["cr-1"]);
    assert!(
        said.len() == 1 && said[0].contains("doesn't select cr-2"),
        "{said:?}"
    );

    let resolved = "conditions: [{type: CapacityReservationsReady, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}]";
    let (open, _) = planned(&both, &class("{tags: {team: ml}}", resolved));
    assert!(open.is_empty(), "no term selects any");

    let (open, _) = planned(&both, &class("{id: cr-2}", ""));
    assert_eq!(
        open,
        ["cr-2"],
        "no controller has been there yet: the terms' ids count"
    );

    let (open, said) = planned(&both, CLASS);
    assert_eq!(open, ["cr-1", "cr-2"]);
    assert!(said.len() == 1 && said[0].contains("isn't said"), "{said:?}");
}

#[test]
fn what_the_catalogue_does_not_know_is_asked_for() {
    let status = format!("capacityReservations: [{}]", listed("cr-9", ""));
    let (open, said) = planned(&[], &class("{id: cr-9}", &status));
    assert!(open.is_empty());
    let wanted = "spec.reservations: [{id: cr-9, instanceType: m7i.large, zone: us-east-1a, limit: …}]";
    assert!(said.len() == 1 && said[0].contains(wanted), "{said:?}");

    let elsewhere = "{id: cr-9, instanceType: m7i.large, zone: us-east-1b, limit: 3}";
    let (open, said) = planned(&[elsewhere], &class("{id: cr-9}", &status));
    assert!(open.is_empty());
    assert!(said.len() == 1 && said[0].contains("in us-east-1b"), "{said:?}");
}

#[test]
fn what_has_ended_is_no_offer() {
    for (more, is_open) in [
        ("", true),
        (", endTime: '2026-03-01T10:00:00Z'", false),
        (", endTime: '2026-03-01T10:00:01Z'", true),
        (
            ", reservationType: capacity-block, endTime: '2026-03-01T10:40:00Z'",
            false,
        ),
        (
            ", reservationType: capacity-block, endTime: '2026-03-01T10:40:01Z'",
            true,
        ),
    ] {
        let of_status = format!("capacityReservations: [{}]", listed("cr-1", more));
        for (catalogue, class) in [
            (reservation("cr-1", more), class("{id: cr-1}", "")),
            (reservation("cr-1", ""), class("{id: cr-1}", &of_status)),
        ] {
            let (open, said) = planned(&[&catalogue], &class);
            assert_eq!(!open.is_empty(), is_open, "{more}: {said:?}");
            assert_eq!(said.is_empty(), is_open, "{more}: {said:?}");
        }
    }
    let expiring = format!("capacityReservations: [{}]", listed("cr-1", ", state: expiring"));
    let (open, said) = planned(&[&reservation("cr-1", "")], &class("{id: cr-1}", &expiring));
    assert!(open.is_empty() && said[0].contains("near its end"), "{said:?}");
}

#[test]
fn nodes_use_up_what_they_name_and_else_the_cheapest() {
    let labelled = |name: &str, more: &str| {
        node(name, "m7i.large", "").replace(
            "eu-west-1a",
            &format!("us-east-1a, karpenter.sh/capacity-type: reserved{more}"),
        )
    };
    let id = |id: &str| format!(", karpenter.k8s.aws/capacity-reservation-id: {id}");
    let cheap = reservation("cr-1", ", price: 0.01").replace("limit: 3", "limit: 1");
    let frozen = frozen(&[
        catalogue(&[cheap, reservation("cr-2", ", price: 0.02")].join(", ")),
        labelled("a-unnamed", ""),
        labelled("b-named", &id("cr-1")),
        labelled("c-unknown", &id("cr-3")),
    ]);
    let nodes: Vec<(Option<Supply>, u64)> = frozen
        .snapshot
        .nodes
        .iter()
        .map(|node| (node.supply.clone(), node.price.micros()))
        .collect();
    let of = |id: &str| Some(Supply::Reservation(id.to_owned()));
    assert_eq!(
        nodes,
        [(of("cr-2"), 20_000), (of("cr-1"), 10_000), (of("cr-3"), 0)]
    );
}

#[test]
fn reservations_may_stand_beside_the_built_in_types() {
    let text = catalogue(&reservation("cr-1", ""));
    let from = text.find("  instanceTypes").unwrap();
    let to = text.find("  reservations").unwrap();
    let frozen = frozen(&[
        text.replace(&text[from..to], ""),
        CLASS.to_owned(),
        pool("default", "default", ""),
    ]);
    assert!(frozen.spot_is_estimated && frozen.region_reason == "Catalog c");
    assert_eq!(open(&frozen), ["cr-1"]);
    let class = frozen.snapshot.node_classes.values().next().unwrap();
    assert!(class.instance_types.len() > 500);
}

#[test]
fn flaws_of_reservations_are_named_with_their_paths() {
    let wrong = [
        "{id: cr-1, instanceType: gone, zone: us-east-1a, limit: 1}",
        "{id: cr-1, instanceType: m7i.large, zone: us-west-1a, limit: 1}",
    ];
    let read = read_bytes("input", catalogue(&wrong.join(", ")).as_bytes(), &[]).unwrap();
    let said = freeze(&read.index, &FreezeOptions::default())
        .unwrap_err()
        .to_string();
    for flaw in [
        "spec.reservations[0].instanceType: the catalogue has no instance type of that name",
        "spec.reservations[1]: cr-1 is listed twice",
        "spec.reservations[1].zone: expected one of the zones us-east-1a, us-east-1b",
    ] {
        assert!(said.contains(flaw), "{said}");
    }
}
