//! The catalogue against what Karpenter publishes, against scenarios, and against its own promises.

mod classes;
mod documents;
mod laws;
mod published;
mod regions;

use std::collections::BTreeMap;

use dovetail_solver::model::money::Price;

use super::Zone;
use super::data::{self, PriceSource, Sale};
use super::machine::Machine;
use super::shape::Shape;

/// All shapes, priced or not, at a made-up price.
fn all_machines() -> BTreeMap<String, Machine> {
    let zones = [Zone {
        name: "us-east-1a".into(),
        id: None,
    }];
    let machine = |shape: Shape| {
        let sale = Sale {
            instance_type: shape.name.clone(),
            zone_letters: "a".to_owned(),
            on_demand: Price::from_micros(1),
            source: PriceSource::Derived,
            spot: None,
        };
        (
            shape.name.clone(),
            Machine::built_in("us-east-1", &zones, shape, &sale),
        )
    };
    data::shapes(|_| true).into_iter().map(machine).collect()
}
