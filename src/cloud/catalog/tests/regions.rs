//! Every built-in region is whole.

use std::collections::BTreeSet;

use dovetail_solver::model::money::Price;
use dovetail_solver::model::offering::CapacityType;

use crate::cloud::catalog::{Catalogue, CatalogueError, ClassSettings, SpotAdvice};

#[test]
fn every_region_is_whole() {
    for region in Catalogue::known_regions() {
        let catalogue = Catalogue::built_in(&region).unwrap();
        let zones: BTreeSet<_> = catalogue.zones().map(|zone| zone.name.clone()).collect();
        assert!(zones.len() >= 2, "{region}");
        let types = catalogue.instance_types(&ClassSettings::default());
        assert!(types.len() > 100, "{region}: {}", types.len());
        assert!(types.is_sorted_by(|one, two| one.name < two.name), "{region}");
        for found in &types {
            assert!(!found.offerings.is_empty(), "{region} {}", found.name);
            assert!(found.offerings.is_sorted_by_key(|offering| (
                &offering.zone,
                offering.capacity_type,
                offering.price
            )));
            for offering in &found.offerings {
                assert!(
                    zones.contains(&offering.zone) && offering.price.micros() > 0,
                    "{region} {}",
                    found.name
                );
                assert!(offering.zone_id.is_some());
            }
        }
    }
    let us_east_1 = Catalogue::built_in("us-east-1").unwrap();
    assert_eq!(us_east_1.instance_types(&ClassSettings::default()).len(), 1_340);
}

#[test]
fn prices_are_found_for_nodes_that_exist() {
    let catalogue = Catalogue::built_in("us-east-1").unwrap();
    let price = |capacity_type| catalogue.price_of("m5.large", "us-east-1a", capacity_type);
    assert_eq!(
        price(CapacityType::OnDemand),
        Some(Price::parse("0.096").unwrap())
    );
    let SpotAdvice { savings_percent, .. } = catalogue.spot_advice("m5.large").unwrap();
    let spot = price(CapacityType::Spot).unwrap();
    assert_eq!(spot.micros(), 960 * (100 - u64::from(savings_percent)));
    assert!(catalogue.spot_is_estimated());
    assert_eq!(
        catalogue.price_of("m5.huge", "us-east-1a", CapacityType::Spot),
        None
    );
    assert_eq!(
        catalogue.price_of("m5.large", "eu-west-1a", CapacityType::OnDemand),
        None
    );
}

#[test]
fn an_unknown_region_names_the_known_ones() {
    let error = Catalogue::built_in("mars-north-1").unwrap_err();
    assert!(matches!(error, CatalogueError::UnknownRegion { .. }));
    let message = error.to_string();
    assert!(
        message.contains("mars-north-1") && message.contains("eu-central-1"),
        "{message}"
    );
}

#[test]
fn every_table_is_compiled_in() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cloud/catalog/data/regions");
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.strip_suffix(".tsv.gz").unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(Catalogue::known_regions(), names);
}
