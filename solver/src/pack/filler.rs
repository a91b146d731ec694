//! Fills one node: a pattern of groups that is worth much and fits.
//!
//! Several orders are tried, since none is best everywhere: largest first, most valuable for its share of the node
//! first, CPU-heavy first, memory-heavy first, and one that looks at what the room left over has most of.

use crate::lower::Problem;
use crate::lower::rules::resources;

use super::Filling;
use super::effort::Effort;

/// The largest number of groups for which the order by value for the share is made for each kind of node.
const MOST_SORTED: usize = 400;

/// What pods are worth, and orders of groups by it.
pub struct Filler<'a> {
    problem: &'a Problem<'a>,
    /// Micro-dollars that a pod of each group is worth.
    pub values: Vec<f64>,
    /// Rank of each group in each fixed order.
    ranks: Vec<Vec<usize>>,
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

#[expect(
    clippy::cast_precision_loss,
    reason = "guidance only: what fits is decided in integers"
)]
fn float(amount: u64) -> f64 {
    amount as f64
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

    /// The most valuable filling found for a room, and its value. `usable` says which groups may go there.
    pub fn best(
        &self,
        room: &[u64],
        usable: impl Fn(usize) -> bool,
        left: &[u64],
        orders: &Orders,
        effort: &mut Effort<'_>,
    ) -> (f64, Filling) {
        let mut best = (0.0, Filling::new());
        let mut consider = |filling: Filling| {
            let value = self.value(&filling);
            if value > best.0 {
                best = (value, filling);
            }
        };
        for order in &orders.0 {
            consider(self.in_order(room, &usable, left, order, effort));
        }
        let groups = &orders.0[0];
        if groups.len() <= MOST_SORTED {
            consider(self.in_order(room, &usable, left, &self.by_share(room, groups), effort));
        }
        best
    }

    /// The same by looking at what is left of the room before each pod; slower.
    pub fn balanced(
        &self,
        room: &[u64],
        usable: impl Fn(usize) -> bool,
        left: &[u64],
        groups: &[usize],
        effort: &mut Effort<'_>,
    ) -> (f64, Filling) {
        let problem = self.problem;
        let mut rest = room.to_vec();
        let mut filling = Filling::new();
        let mut taken = vec![0; groups.len()];
        let mut open: Vec<usize> = (0..groups.len()).filter(|at| usable(groups[*at])).collect();
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
            let copies =
                resources::copies(problem.request(groups[at]), &rest).min(left[groups[at]] - taken[at]);
            // A quarter at a time: one by one would cost as many rounds as there are pods.
            let count = copies.div_ceil(4);
            resources::take(&mut rest, problem.request(groups[at]), count);
            taken[at] += count;
        }
        for (at, group) in groups.iter().enumerate() {
            if taken[at] > 0 {
                filling.push((*group, taken[at]));
            }
        }
        filling.sort_unstable();
        (self.value(&filling), filling)
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

    fn in_order(
        &self,
        room: &[u64],
        usable: impl Fn(usize) -> bool,
        left: &[u64],
        order: &[usize],
        effort: &mut Effort<'_>,
    ) -> Filling {
        let mut rest = room.to_vec();
        let mut filling = Filling::new();
        let mut looked = 0;
        for group in order {
            looked += 1;
            let request = self.problem.request(*group);
            let count = resources::copies(request, &rest).min(left[*group]);
            if count > 0 && usable(*group) {
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

    fn value(&self, filling: &Filling) -> f64 {
        filling
            .iter()
            .map(|(group, count)| self.values[*group] * float(*count))
            .sum()
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
