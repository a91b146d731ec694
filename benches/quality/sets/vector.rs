//! Vector packing problems: their two text formats, their volume bound, and how they read as manifests.
//!
//! `.vbp`: dimensions; capacities; kinds of items; a line for each kind, its sizes and how many. `.mvp`: dimensions; types
//! of bins; a line for each: capacities, cost, how many there are (−1: any number); kinds of items; for each a line
//! "options copies" and the sizes of each option. An item with several options is refused: a pod asks for one amount of
//! each resource. Sizes are whole and never negative.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use super::super::common::{deployment, pool};

/// A type of bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bin {
    /// Its size in each dimension.
    pub(crate) capacity: Vec<u64>,
    /// What one costs.
    pub(crate) price: u64,
    /// How many there are; `None`: any number.
    pub(crate) available: Option<u64>,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Types of bins.
    pub(crate) bins: Vec<Bin>,
    /// Kinds of items with how many there are of each; kinds of the same sizes are one.
    pub(crate) items: BTreeMap<Vec<u64>, u64>,
}

impl Problem {
    /// Items to be packed into as few equal bins as possible.
    pub(crate) fn equal_bins(capacity: Vec<u64>, items: impl IntoIterator<Item = Vec<u64>>) -> Self {
        let mut counts = BTreeMap::new();
        for sizes in items {
            *counts.entry(sizes).or_default() += 1;
        }
        Self {
            bins: vec![Bin {
                capacity,
                price: 1,
                available: None,
            }],
            items: counts,
        }
    }

    /// Reads a `.vbp`.
    pub(crate) fn parse_vbp(text: &str) -> Result<Self> {
        let mut numbers = Numbers::of(text);
        let dimensions = numbers.next()?;
        let capacity = numbers.take(dimensions)?;
        let kinds: usize = numbers.next()?;
        let mut problem = Self::equal_bins(capacity, []);
        for _ in 0..kinds {
            let sizes = numbers.take(dimensions)?;
            problem.add(sizes, numbers.next()?);
        }
        numbers.end()?;
        Ok(problem)
    }

    /// Reads a `.mvp`.
    pub(crate) fn parse_mvp(text: &str) -> Result<Self> {
        let mut numbers = Numbers::of(text);
        let dimensions = numbers.next()?;
        let types: usize = numbers.next()?;
        let mut problem = Self {
            bins: Vec::new(),
            items: BTreeMap::new(),
        };
        for _ in 0..types {
            problem.bins.push(Bin {
                capacity: numbers.take(dimensions)?,
                price: numbers.next()?,
                available: u64::try_from(numbers.next::<i64>()?).ok(),
            });
        }
        let kinds: usize = numbers.next()?;
        for kind in 0..kinds {
            let (options, copies): (usize, u64) = (numbers.next()?, numbers.next()?);
            ensure!(
                options == 1,
                "item {kind} has {options} options: a pod has one size"
            );
            problem.add(numbers.take(dimensions)?, copies);
        }
        numbers.end()?;
        Ok(problem)
    }

    fn add(&mut self, sizes: Vec<u64>, copies: u64) {
        *self.items.entry(sizes).or_default() += copies;
    }

    /// How many items, copies counted.
    pub(crate) fn copies(&self) -> u64 {
        self.items.values().sum()
    }

    /// So many equal bins are needed for the volume of some dimension; `None` where bins differ.
    pub(crate) fn volume_bound(&self) -> Option<u64> {
        let [bin] = &self.bins[..] else { return None };
        let volume = |at: usize| {
            self.items
                .iter()
                .map(|(sizes, copies)| sizes[at] * copies)
                .sum::<u64>()
        };
        (0..bin.capacity.len())
            .map(|at| volume(at).div_ceil(bin.capacity[at].max(1)))
            .max()
    }

    /// A Catalog with an instance type for each type of bin, a NodePool, and a Deployment for each kind of item.
    ///
    /// The first dimension is CPU in thousandths, the second memory in MiB, the others are extended resources; every
    /// bin has a slot for every item. A price is in dollars.
    pub(crate) fn manifests(&self) -> Result<String> {
        let mut text = pool("      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}\n");
        text += "---\napiVersion: dovetail.sh/v1alpha1\nkind: Catalog\nmetadata: {name: bins}\nspec:\n  region: us-east-1\n  \
                 zones: [us-east-1a]\n  instanceTypes:\n";
        for (index, bin) in self.bins.iter().enumerate() {
            let mut size = resources(&bin.capacity);
            if bin.capacity.len() < 2 {
                // A Catalog wants memory of every type, a problem of one dimension has none.
                size += ", memory: 1Mi";
            }
            write!(size, ", pods: {}", self.copies())?;
            let limit = bin
                .available
                .map_or_else(String::new, |most| format!(", limit: {most}"));
            writeln!(
                text,
                "  - {{name: bin-{index}, capacity: {{{size}}}, allocatable: {{{size}}}, offerings: [{{zone: us-east-1a, \
                 capacityType: on-demand, price: {}{limit}}}]}}",
                bin.price
            )?;
        }
        for (index, (sizes, copies)) in self.items.iter().enumerate() {
            text += &deployment(&format!("item-{index}"), &resources(sizes), *copies);
        }
        Ok(text)
    }
}

/// Sizes as the resources of a manifest.
fn resources(sizes: &[u64]) -> String {
    let written = sizes.iter().enumerate().map(|(at, size)| match at {
        0 => format!("cpu: {size}m"),
        1 => format!("memory: {size}Mi"),
        _ => format!("bench.dovetail.sh/size-{at}: {size}"),
    });
    written.collect::<Vec<_>>().join(", ")
}

/// The numbers of a text one after the other, line breaks being nothing but space.
struct Numbers<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Numbers<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.split_whitespace().peekable())
    }

    fn next<T: FromStr<Err = std::num::ParseIntError>>(&mut self) -> Result<T> {
        let word = self.0.next().context("the text ends too early")?;
        word.parse().with_context(|| format!("\"{word}\""))
    }

    fn take(&mut self, count: usize) -> Result<Vec<u64>> {
        (0..count).map(|_| self.next()).collect()
    }

    fn end(&mut self) -> Result<()> {
        match self.0.peek() {
            None => Ok(()),
            Some(word) => bail!("\"{word}\" after the end"),
        }
    }
}
