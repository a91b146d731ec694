//! Fills one node: a pattern of groups that is worth much and fits.
//!
//! Several orders are tried, since none is best everywhere: largest first, most valuable for its share of the node
//! first, CPU-heavy first, memory-heavy first, and one that looks at what the room left over has most of.

use super::float;
use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;

use super::Filling;
use super::effort::Effort;
use super::side::node::OnNode;
use super::side::verdict::on_node_penalty;
use super::stranding;

/// The largest number of groups for which the order by value for the share is made for each kind of node.
const MOST_SORTED: usize = 400;

/// What pods are worth, and orders of groups by it.
#[derive(Clone)]
pub struct Filler<'a> {
    problem: &'a Problem<'a>,
    /// Micro-dollars that a pod of each group is worth.
    pub values: Vec<f64>,
    /// Rank of each group in each fixed order.
    ranks: Vec<Vec<usize>>,
    rules: OnNode<'a>,
}

/// The groups at hand in each of the fixed orders.
#[derive(Debug, Default)]
pub struct Orders(Vec<Vec<usize>>);

impl Orders {
    /// Drops the groups that are used up, which is quicker than sorting the others again.
    pub fn retain(&mut self, is_left: impl Fn(usize) -> bool) {
        for order in &mut self.0 {
            order.retain(|group| is_left(*group));
        }
    }
}

impl<'a> Filler<'a> {
    /// With these values; `scale` says what a unit of each resource is worth where nothing else tells sizes apart.
    #[must_use]
    pub fn new(problem: &'a Problem<'a>, values: Vec<f64>, scale: &[f64]) -> Self {
        let size = |group: usize, column: usize| float(problem.request(group)[column]) * scale[column];
        let volume = |group: usize| (0..scale.len()).map(|column| size(group, column)).sum::<f64>();
        let widest = |group: usize| {
            (0..scale.len())
                .map(|column| size(group, column))
                .fold(0.0, f64::max)
        };
        let lean = |group: usize| size(group, 0) / (volume(group) + f64::MIN_POSITIVE);
        let keys: [Vec<f64>; 4] = [
            (0..values.len()).map(|group| -volume(group)).collect(),
            (0..values.len()).map(|group| -widest(group)).collect(),
            (0..values.len()).map(|group| -lean(group)).collect(),
            (0..values.len()).map(lean).collect(),
        ];
        let ranks = keys.iter().map(|key| ranks(key)).collect();
        Self {
            problem,
            values,
            ranks,
            rules: OnNode::new(problem),
        }
    }

    /// The groups at hand in all fixed orders.
    #[must_use]
    pub fn orders(&self, groups: &[usize]) -> Orders {
        let sorted = |rank: &Vec<usize>| {
            let mut sorted = groups.to_vec();
            sorted.sort_unstable_by_key(|group| rank[*group]);
            sorted
        };
        Orders(self.ranks.iter().map(sorted).collect())
    }

    fn is_usable(&self, group: usize, place: Place) -> bool {
        match place {
            Place::Kind(kind) => self.problem.usable[group].contains(kind),
            Place::Room(room) => {
                let profile = self.problem.groups[group].profile;
                self.problem.rooms[room].profiles.contains(profile)
            }
        }
    }

    /// How many pods of a group alone a place takes.
    #[must_use]
    pub fn copies(&self, group: usize, place: Place) -> u64 {
        if self.is_usable(group, place) {
            resources::copies(self.problem.request(group), self.problem.room_of(place)).min(self.rules.most(
                group,
                place,
                &[],
            ))
        } else {
            0
        }
    }

    /// The most valuable filling found for a place, and its value.
    pub fn best(
        &self,
        place: Place,
        left: &[u64],
        orders: &Orders,
        effort: &mut Effort<'_>,
    ) -> (f64, Filling) {
        let mut best = (0.0, Filling::new());
        let mut consider = |filling: Filling| {
            let value = self.value(place, &filling);
            if value > best.0 {
                best = (value, filling);
            }
        };
        for order in &orders.0 {
            consider(self.in_order(place, left, order, effort));
        }
        let groups = &orders.0[0];
        if groups.len() <= MOST_SORTED {
            let order = self.by_share(self.problem.room_of(place), groups);
            consider(self.in_order(place, left, &order, effort));
        }
        best
    }

    /// The same by looking at what is left of the room before each pod; slower.
    pub fn balanced(
        &self,
        place: Place,
        left: &[u64],
        groups: &[usize],
        effort: &mut Effort<'_>,
    ) -> (f64, Filling) {
        let (problem, room) = (self.problem, self.problem.room_of(place));
        let mut rest = room.to_vec();
        let mut filling = Filling::new();
        let mut taken = vec![0; groups.len()];
        let mut open: Vec<usize> = (0..groups.len())
            .filter(|at| self.is_usable(groups[*at], place))
            .collect();
        // One over the square of the room: both the request and the rest count as shares of it.
        let inverse: Vec<f64> = room
            .iter()
            .map(|room| 1.0 / (float(*room) * float(*room)).max(1.0))
            .collect();
        loop {
            effort.spend(u64::try_from(open.len()).unwrap_or(u64::MAX));
            let weight: Vec<f64> = rest
                .iter()
                .zip(&inverse)
                .map(|(rest, inverse)| float(*rest) * inverse)
                .collect();
            // What doesn't fit now won't fit later.
            open.retain(|at| {
                left[groups[*at]] > taken[*at] && resources::fits(problem.request(groups[*at]), &rest)
            });
            let mut best: Option<(f64, usize)> = None;
            for at in &open {
                let request = problem.request(groups[*at]).iter().zip(&weight);
                let fit: f64 = request.map(|(request, weight)| float(*request) * weight).sum();
                if best.is_none_or(|(most, _)| fit > most) {
                    best = Some((fit, *at));
                }
            }
            let Some((_, at)) = best else { break };
            let copies = resources::copies(problem.request(groups[at]), &rest)
                .min(left[groups[at]] - taken[at])
                .min(self.rules.most(groups[at], place, &filling));
            if copies == 0 {
                // Nor later: what stands against it stays.
                open.retain(|other| *other != at);
                continue;
            }
            // A quarter at a time: one by one would cost as many rounds as there are pods.
            let count = copies.div_ceil(4);
            resources::take(&mut rest, problem.request(groups[at]), count);
            taken[at] += count;
            match filling.iter_mut().find(|(group, _)| *group == groups[at]) {
                Some((_, there)) => *there += count,
                None => filling.push((groups[at], count)),
            }
        }
        filling.sort_unstable();
        (self.value(place, &filling), filling)
    }

    fn by_share(&self, room: &[u64], groups: &[usize]) -> Vec<usize> {
        let share = |group: usize| -> f64 {
            let request = self.problem.request(group);
            let parts = request.iter().zip(room).filter(|(_, room)| **room > 0);
            parts.map(|(request, room)| float(*request) / float(*room)).sum()
        };
        let mut keyed: Vec<(f64, usize)> = groups
            .iter()
            .map(|group| (-self.values[*group] / (share(*group) + f64::MIN_POSITIVE), *group))
            .collect();
        keyed.sort_unstable_by(|one, two| one.0.total_cmp(&two.0).then(one.1.cmp(&two.1)));
        keyed.into_iter().map(|(_, group)| group).collect()
    }

    fn in_order(&self, place: Place, left: &[u64], order: &[usize], effort: &mut Effort<'_>) -> Filling {
        let mut rest = self.problem.room_of(place).to_vec();
        let mut filling = Filling::new();
        let mut looked = 0;
        for group in order {
            looked += 1;
            let request = self.problem.request(*group);
            let mut count = resources::copies(request, &rest).min(left[*group]);
            if count > 0 && self.is_usable(*group, place) {
                count = count.min(self.rules.most(*group, place, &filling));
                if count == 0 {
                    continue;
                }
                resources::take(&mut rest, request, count);
                filling.push((*group, count));
                if rest[0] == 0 {
                    break;
                }
            }
        }
        effort.spend(looked);
        filling.sort_unstable();
        filling
    }

    /// What the pods are worth, less what they strand and what isn't as wished.
    fn value(&self, place: Place, filling: &Filling) -> f64 {
        let parts = filling.iter();
        let value: f64 = parts
            .map(|(group, count)| self.values[*group] * float(*count))
            .sum();
        let value = value - float(stranding::on_node(self.problem, place, filling));
        if self.problem.side.is_empty() {
            value
        } else {
            value - float(on_node_penalty(&self.problem.side, place, filling))
        }
    }
}

fn ranks(keys: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|one, two| keys[*one].total_cmp(&keys[*two]).then(one.cmp(two)));
    let mut ranks = vec![0; keys.len()];
    for (rank, group) in order.into_iter().enumerate() {
        ranks[group] = rank;
    }
    ranks
}
