//! What the catalogue sells, and how many of what is limited in number are in use: offers of one capacity reservation share
//! its number, as those of one commitment do.

use std::collections::BTreeMap;

use serde_json::Value;

use super::input::{Input, list, number, text};
use super::machine::{Node, Offer, zones};

/// One way to buy an instance type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sale {
    pub(crate) instance_type: String,
    pub(crate) zone: String,
    pub(crate) capacity_type: String,
    pub(crate) price: f64,
    /// Empty: none.
    pub(crate) reservation: String,
    pub(crate) kind: String,
    pub(crate) interruptible: bool,
    pub(crate) available: bool,
    /// Empty: none that is known.
    ends: String,
    limit: Option<f64>,
    commitment: String,
}

/// Everything that the catalogue sells, whether or not it can be had now. Nothing is given away but what is reserved.
pub(crate) fn all_sales(input: &Input) -> impl Iterator<Item = Sale> + '_ {
    sold(input, |_| true)
}

/// The same of some instance types.
fn sold<'a>(
    input: &'a Input,
    is_wanted: impl Fn(&str) -> bool + Copy + 'a,
) -> impl Iterator<Item = Sale> + 'a {
    let types = input
        .kind("Catalog")
        .flat_map(|catalogue| list(catalogue, "/spec/instanceTypes"))
        .filter(move |found| is_wanted(text(found, "/name")));
    let of_types = types.flat_map(move |found| {
        let everywhere = zones(input).into_iter().flat_map(|zone| {
            let short = [("/onDemand", "on-demand"), ("/spot", "spot")];
            let priced = short.into_iter().filter_map(|(field, capacity_type)| {
                let by_zone = found.pointer(field)?;
                let price = by_zone
                    .as_f64()
                    .or_else(|| number(by_zone, &format!("/{zone}")))?;
                Some(serde_json::json!({"zone": zone, "capacityType": capacity_type, "price": price}))
            });
            priced.collect::<Vec<_>>()
        });
        let long = list(found, "/offerings").iter().cloned();
        let name = text(found, "/name");
        everywhere
            .chain(long)
            .map(move |offer| sale(name, &offer, "/reservationID"))
    });
    let reserved = input
        .kind("Catalog")
        .flat_map(|catalogue| list(catalogue, "/spec/reservations"))
        .filter(move |one| is_wanted(text(one, "/instanceType")));
    let reserved = reserved.map(|one| Sale {
        capacity_type: "reserved".to_owned(),
        ..sale(text(one, "/instanceType"), one, "/id")
    });
    let is_sold = |sale: &Sale| sale.price > 0.0 || sale.capacity_type == "reserved";
    of_types.chain(reserved).filter(is_sold)
}

fn sale(name: &str, offer: &Value, id: &str) -> Sale {
    Sale {
        instance_type: name.to_owned(),
        zone: text(offer, "/zone").to_owned(),
        capacity_type: text(offer, "/capacityType").to_owned(),
        price: number(offer, "/price").unwrap_or(0.0),
        reservation: text(offer, id).to_owned(),
        kind: text(offer, "/reservationType").to_owned(),
        interruptible: offer.pointer("/interruptible") == Some(&Value::Bool(true)),
        available: offer.pointer("/available") != Some(&Value::Bool(false)),
        ends: text(offer, "/endTime").to_owned(),
        limit: number(offer, "/limit"),
        commitment: text(offer, "/commitment").to_owned(),
    }
}

/// All sales of a type, zone and capacity type, the cheapest first.
pub(crate) fn sales(input: &Input, name: &str, zone: &str, capacity_type: &str) -> Vec<Sale> {
    let of_type = sold(input, |found| found == name);
    let mut sales: Vec<Sale> = of_type
        .filter(|sale| sale.zone == zone && sale.capacity_type == capacity_type)
        .collect();
    sales.sort_by(|one, two| one.price.total_cmp(&two.price));
    sales
}

impl Sale {
    /// What its number is counted under; `None`: there are any number.
    fn counted_as(&self) -> Option<String> {
        self.limit?;
        Some(match (&*self.reservation, &*self.commitment) {
            ("", "") => format!("{self:?}"),
            ("", name) => format!("commitment {name}"),
            (id, _) => format!("reservation {id}"),
        })
    }

    /// Whether an offer of a plan can mean it.
    pub(crate) fn is_meant(&self, offer: &Offer) -> bool {
        let Self {
            instance_type,
            zone,
            capacity_type,
            price,
            reservation,
            ..
        } = self;
        (price - offer.price).abs() < 1e-6
            && (instance_type, zone, capacity_type, reservation)
                == (
                    &offer.instance_type,
                    &offer.zone,
                    &offer.capacity_type,
                    &offer.reservation,
                )
    }

    /// Why a node class can't launch it now.
    pub(crate) fn refused_by(&self, class: &Value, now: Option<jiff::Timestamp>) -> Option<String> {
        if !self.available {
            return Some("it can't be had now".to_owned());
        }
        if self.reservation.is_empty() {
            return None;
        }
        let listed = list(class, "/status/capacityReservations");
        let own = listed.iter().find(|one| text(one, "/id") == self.reservation);
        let said = |field: &str, of_sale: &str| {
            let of_class = own.map_or("", |own| text(own, field));
            if of_class.is_empty() { of_sale } else { of_class }.to_owned()
        };
        let (kind, ends) = (said("/reservationType", &self.kind), said("/endTime", &self.ends));
        if let (Some(now), Ok(ends)) = (now, ends.parse::<jiff::Timestamp>()) {
            let minutes = if kind == "capacity-block" { 40 } else { 0 };
            if now.as_second() >= ends.as_second() - minutes * 60 {
                return Some(format!("reservation {} ends at {ends}", self.reservation));
            }
        }
        match own {
            None if listed.is_empty() => None,
            None => Some(format!(
                "the node class doesn't list reservation {}",
                self.reservation
            )),
            Some(own) => {
                let is_the_same = text(own, "/instanceType") == self.instance_type
                    && text(own, "/availabilityZone") == self.zone
                    && text(own, "/state") != "expiring";
                (!is_the_same).then(|| format!("reservation {} isn't that, or ends", self.reservation))
            }
        }
    }
}

/// How many are left of everything that is limited, and what each existing node costs.
pub(crate) struct Numbers {
    left: BTreeMap<String, f64>,
    /// By position of the node.
    pub(crate) prices: Vec<f64>,
}

impl Numbers {
    /// With the nodes that are there: those that name a reservation use it up, the others take the cheapest sale that is left,
    /// the cheapest first.
    pub(crate) fn of(input: &Input, nodes: &[Node]) -> Self {
        let mut left: BTreeMap<String, f64> = BTreeMap::new();
        for sale in all_sales(input) {
            if let (Some(key), Some(limit)) = (sale.counted_as(), sale.limit) {
                let least = left.entry(key).or_insert(limit);
                *least = limit.min(*least);
            }
        }
        let mut numbers = Self {
            left,
            prices: vec![0.0; nodes.len()],
        };
        let mut ways: Vec<(f64, String, usize, Sale)> = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let label = |key: &str| node.labels.get(key).map_or("", String::as_str);
            let capacity_type = label("karpenter.sh/capacity-type");
            let mut own = sales(
                input,
                label("node.kubernetes.io/instance-type"),
                label("topology.kubernetes.io/zone"),
                if capacity_type.is_empty() {
                    "on-demand"
                } else {
                    capacity_type
                },
            );
            let id = label("karpenter.k8s.aws/capacity-reservation-id");
            if !id.is_empty() && capacity_type == "reserved" {
                numbers
                    .left
                    .entry(format!("reservation {id}"))
                    .and_modify(|left| *left -= 1.0);
                own.retain(|sale| sale.reservation == id || sale.reservation.is_empty());
                numbers.prices[at] = own.first().map_or(0.0, |sale| sale.price);
                continue;
            }
            numbers.prices[at] = own.last().map_or(0.0, |sale| sale.price);
            ways.extend(
                own.into_iter()
                    .map(|sale| (sale.price, node.name.clone(), at, sale)),
            );
        }
        ways.sort_by(|one, two| one.0.total_cmp(&two.0).then_with(|| one.1.cmp(&two.1)));
        let mut settled = vec![false; nodes.len()];
        for (price, _, at, sale) in ways {
            if !settled[at] && numbers.has(&sale) {
                numbers.take(&sale);
                (settled[at], numbers.prices[at]) = (true, price);
            }
        }
        numbers
    }

    fn has(&self, sale: &Sale) -> bool {
        sale.counted_as()
            .is_none_or(|key| self.left.get(&key).is_some_and(|left| *left > 0.0))
    }

    fn take(&mut self, sale: &Sale) {
        if let Some(key) = sale.counted_as() {
            self.left.entry(key).and_modify(|left| *left -= 1.0);
        }
    }

    /// Takes what the plan launches, where its words leave one number to take it from.
    pub(crate) fn after(mut self, input: &Input, plan: &Value) -> Self {
        for launch in list(plan, "/launch") {
            let offer = &Offer::all(launch)[0];
            let all = sales(input, &offer.instance_type, &offer.zone, &offer.capacity_type);
            let mut meant = all.iter().filter(|sale| sale.is_meant(offer));
            if let (Some(one), None) = (meant.next(), meant.next()) {
                self.take(one);
            }
        }
        self
    }

    /// Whether one more can be launched.
    pub(crate) fn has_one_more(&self, input: &Input, offer: &Offer) -> bool {
        let all = sales(input, &offer.instance_type, &offer.zone, &offer.capacity_type);
        all.iter().any(|sale| sale.is_meant(offer) && self.has(sale))
    }

    /// What is used more often than it is there, and was not so before: `before` is without the plan.
    pub(crate) fn findings(&self, before: &Self) -> Vec<String> {
        let used = self
            .left
            .iter()
            .filter(|(key, left)| **left < before.left[*key].min(0.0));
        used.map(|(key, left)| format!("{key}: {left} are left after the plan"))
            .collect()
    }
}
