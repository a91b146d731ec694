//! New nodes: which pool and part they are of, and which kinds they may become.

use crate::lower::rules::resources;
use crate::lower::side::Place;

use super::beside::Spot;
use super::nodes::{Open, State};

impl State<'_> {
    /// Opens a node of the first pool that can take the group; which it is, and how many of the group fit.
    pub(super) fn launch(&mut self, group: usize, tier: usize, part: Option<usize>) -> Option<(usize, u64)> {
        if !self.admits(group, Spot::Elsewhere) {
            return None;
        }
        let known = self.fresh.get(&(tier, part)).copied();
        let shape = match known.filter(|_| !self.restricted && !self.across.has_sums()) {
            Some(shape) => shape,
            None => self.new_shape(group, tier, part, known)?,
        };
        self.fresh.insert((tier, part), shape);
        let booked = *self.shapes.kinds(shape).first()?;
        let part = self.across.parts.part(Place::Kind(booked));
        let open = Open {
            state: shape,
            booked,
            booked_before: booked,
            part,
            pods: 0,
            added: 0,
        };
        let capacity = self.capacity(&open, group);
        if capacity == 0 {
            return None;
        }
        self.ledger.open(self.problem, booked, 1);
        self.across.launch(part, 1);
        let at = self.open.len();
        self.live[part].push(at);
        self.open.push(open);
        Some((at, capacity))
    }

    /// What a new node is like; the one that is known if that is still so.
    fn new_shape(
        &mut self,
        group: usize,
        tier: usize,
        part: Option<usize>,
        known: Option<usize>,
    ) -> Option<usize> {
        let problem = self.problem;
        let mut kinds = self.candidates(group, tier, part);
        // Among pools of one weight Karpenter takes the last by name.
        let pool = kinds.iter().map(|kind| problem.kinds[*kind].pool).max()?;
        kinds.retain(|kind| problem.kinds[*kind].pool == pool);
        if part.is_none() && self.across.parts.count() > 1 {
            // Where nothing says which part it is: the one that is the cheapest for the group.
            let cheapest = kinds.iter().min_by_key(|kind| self.cost_of_each(group, **kind))?;
            let part = self.across.parts.part(Place::Kind(*cheapest));
            kinds.retain(|kind| self.across.parts.part(Place::Kind(*kind)) == part);
        }
        match known.filter(|known| self.shapes.kinds(*known) == kinds) {
            Some(known) => Some(known),
            None => Some(self.shapes.empty(kinds)),
        }
    }

    /// Kinds that may be launched for a group.
    fn candidates(&self, group: usize, tier: usize, part: Option<usize>) -> Vec<usize> {
        let problem = self.problem;
        let parts = 0..self.across.parts.count();
        let may_launch: Vec<bool> = parts.map(|part| self.across.may_launch(part)).collect();
        let kinds = problem.usable[group].ones().filter(|kind| {
            let of_kind = self.across.parts.part(Place::Kind(*kind));
            problem.kinds[*kind].tier == tier
                && part.is_none_or(|part| part == of_kind)
                && may_launch[of_kind]
                && self.ledger.allowed(problem, *kind) > 0
        });
        kinds.collect()
    }

    /// What a pod of a group costs on a full node of a kind, and the kind.
    pub(super) fn cost_of_each(&self, group: usize, kind: usize) -> (u64, usize) {
        let problem = self.problem;
        let copies = resources::copies(problem.request(group), problem.room(kind));
        let most = self.rules.most(group, Place::Kind(kind), &[]);
        (problem.kinds[kind].cost / copies.min(most).max(1), kind)
    }

    /// The most pods of a group that a new node of a part takes.
    pub(super) fn largest_new(&self, group: usize, tier: usize, part: usize) -> u64 {
        let problem = self.problem;
        if !self.admits(group, Spot::Elsewhere) {
            return 0;
        }
        let kinds = self.candidates(group, tier, Some(part)).into_iter();
        let capacity = |kind: usize| {
            let copies = resources::copies(problem.request(group), problem.room(kind));
            copies.min(self.rules.most(group, Place::Kind(kind), &[]))
        };
        kinds.map(capacity).max().unwrap_or(0)
    }
}
