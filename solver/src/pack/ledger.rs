//! What limits, subnets and limited offers still allow while a packing grows.

use crate::lower::Problem;
use crate::lower::rules::resources;

use super::Launched;

/// Counters of all accounts and supplies.
#[derive(Clone, Debug)]
pub struct Ledger {
    accounts: Vec<Vec<u64>>,
    supplies: Vec<u64>,
}

impl Ledger {
    /// With nothing launched yet.
    #[must_use]
    pub fn new(problem: &Problem<'_>) -> Self {
        Self {
            accounts: problem.accounts.left.clone(),
            supplies: problem.supplies.clone(),
        }
    }

    /// With these launches booked, which limits and supplies admit.
    #[must_use]
    pub fn with(problem: &Problem<'_>, launched: &[Launched]) -> Self {
        let mut ledger = Self::new(problem);
        for launched in launched {
            ledger.open(problem, launched.kind, launched.count);
        }
        ledger
    }

    /// What is left of each limited offer.
    #[must_use]
    pub fn supplies(&self) -> &[u64] {
        &self.supplies
    }

    /// How many more nodes of a kind may be launched.
    #[must_use]
    pub fn allowed(&self, problem: &Problem<'_>, kind: usize) -> u64 {
        let kind = &problem.kinds[kind];
        let by_limits = resources::copies(&kind.usage, &self.accounts[kind.account]);
        match kind.supply {
            Some(supply) => by_limits.min(self.supplies[supply]),
            None => by_limits,
        }
    }

    /// Books launches that [`Ledger::allowed`] admits.
    pub fn open(&mut self, problem: &Problem<'_>, kind: usize, count: u64) {
        let kind = &problem.kinds[kind];
        resources::take(&mut self.accounts[kind.account], &kind.usage, count);
        if let Some(supply) = kind.supply {
            self.supplies[supply] -= count;
        }
    }

    /// Gives launches back.
    pub fn close(&mut self, problem: &Problem<'_>, kind: usize, count: u64) {
        let kind = &problem.kinds[kind];
        resources::give(&mut self.accounts[kind.account], &kind.usage, count);
        if let Some(supply) = kind.supply {
            self.supplies[supply] += count;
        }
    }

    /// Whether a node of one kind may become one of another.
    #[must_use]
    pub fn may_swap(&mut self, problem: &Problem<'_>, from: usize, to: usize) -> bool {
        self.close(problem, from, 1);
        let allowed = self.allowed(problem, to) > 0;
        self.open(problem, from, 1);
        allowed
    }

    /// Takes so much from an account's counters, if all of it is there.
    pub fn reserve(&mut self, account: usize, more: &[u64]) -> bool {
        let enough = resources::fits(more, &self.accounts[account]);
        if enough {
            resources::take(&mut self.accounts[account], more, 1);
        }
        enough
    }
}
