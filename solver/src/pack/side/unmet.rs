//! What a packing leaves of the wishes, counted literally from the whole of it.

use crate::lower::Problem;
use crate::lower::side::Place;
use crate::lower::terms::Imbalance;
use crate::lower::wishes::{Company, Evenly, Present, Spot, Taste};
use crate::pack::{Filling, Packing};

use super::verdict::{nodes, of};

/// Micro-dollars per hour for all wishes that aren't met.
#[must_use]
pub fn unmet(problem: &Problem<'_>, packing: &Packing) -> u64 {
    preferences(problem, packing).saturating_add(imbalances(problem, packing))
}

/// The same for wishes of pods.
#[must_use]
pub fn preferences(problem: &Problem<'_>, packing: &Packing) -> u64 {
    let wishes = &problem.wishes;
    let tastes = wishes.tastes.iter().map(|taste| of_taste(taste, packing));
    let evenly = wishes.evenly.iter().map(|evenly| of_evenly(evenly, packing));
    let company = wishes.company.iter().map(|company| of_company(company, packing));
    tastes.chain(evenly).chain(company).fold(0, u64::saturating_add)
}

/// The same for zones that should be alike.
#[must_use]
pub fn imbalances(problem: &Problem<'_>, packing: &Packing) -> u64 {
    let imbalances = problem.wishes.imbalances.iter();
    let of_imbalance = |imbalance: &Imbalance| {
        let mut zones = imbalance.there.clone();
        for launched in &packing.launched {
            if let Some(zone) = imbalance.kinds[launched.kind] {
                let cpu = problem.kinds[launched.kind].in_zone.cpu;
                zones[zone] = zones[zone].saturating_add(cpu.saturating_mul(launched.count));
            }
        }
        imbalance.cost(&zones)
    };
    imbalances.map(of_imbalance).fold(0, u64::saturating_add)
}

fn of_taste(taste: &Taste, packing: &Packing) -> u64 {
    nodes(packing).fold(0, |sum, (place, filling, count)| {
        let pods = of(filling, &taste.groups) * count;
        sum.saturating_add(taste.cost(place).saturating_mul(pods))
    })
}

fn of_evenly(evenly: &Evenly, packing: &Packing) -> u64 {
    if nodes(packing).all(|(_, filling, _)| of(filling, &evenly.wishers) == 0) {
        return 0;
    }
    let mut levels: Vec<u64> = evenly.elsewhere.clone();
    let mut domains = evenly.there.clone();
    let mut is_domain = evenly.always.clone();
    for (place, filling, count) in nodes(packing).filter(|(_, _, count)| *count > 0) {
        let pods = of(filling, &evenly.counted);
        match evenly.domains.of(place) {
            Spot::Nowhere => {}
            Spot::OnNode => levels.push(evenly.there_on(place) + pods),
            Spot::In(domain) => {
                domains[domain] += pods * count;
                is_domain[domain] |= matches!(place, Place::Kind(_));
            }
        }
    }
    if !evenly.domains.by_node {
        let counted = domains
            .into_iter()
            .zip(is_domain)
            .filter(|(_, is_domain)| *is_domain);
        levels.extend(counted.map(|(pods, _)| pods));
    }
    let (most, least) = (levels.iter().max(), levels.iter().min());
    let steps = most
        .zip(least)
        .map_or(0, |(most, least)| evenly.steps(*most, *least));
    evenly.each.saturating_mul(steps)
}

fn present(company: &Company, filling: &Filling) -> Present {
    let mut present = Present::default();
    for (group, count) in filling {
        let (wishes, matches) = (
            company.wishers.contains(*group),
            company.matching.contains(*group),
        );
        present.own += if wishes && matches { *count } else { 0 };
        present.others += if wishes && !matches { *count } else { 0 };
        present.matching += if matches { *count } else { 0 };
    }
    present
}

fn of_company(company: &Company, packing: &Packing) -> u64 {
    let mut pods = 0_u64;
    let of_domain = |matching: &u64| Present {
        matching: *matching,
        ..Present::default()
    };
    let mut domains: Vec<Present> = company.there.iter().map(of_domain).collect();
    for (place, filling, count) in nodes(packing) {
        let here = present(company, filling);
        match company.domains.of(place) {
            Spot::Nowhere => pods += company.unmet_outside(here.own + here.others) * count,
            Spot::OnNode => {
                let matching = here.matching + company.there_on(place);
                pods += company.unmet(Present { matching, ..here }) * count;
            }
            Spot::In(domain) => {
                let sum = &mut domains[domain];
                sum.own += here.own * count;
                sum.others += here.others * count;
                sum.matching += here.matching * count;
            }
        }
    }
    if !company.domains.by_node {
        pods += domains.into_iter().map(|here| company.unmet(here)).sum::<u64>();
    }
    company.each.saturating_mul(pods)
}
