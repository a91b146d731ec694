//! The command line of the bench.

use anyhow::{Context, Result, bail, ensure};

use super::sets::{Case, SETS};

/// What `--help` says.
pub(crate) const HELP: &str = "\
cargo bench --bench quality -- [OPTIONS]

  --budgets S,S,…   time budgets in seconds (default: 0.05,0.3,1; the full range is 0.05,0.3,1,5,30)
  --set NAME,…      only these sets: ec2, vectorpack, vpsolver, caprara-toth, karpenter-mix
  --only TEXT       only instances whose set/name has TEXT in it, whether in the sample or not
  --all             every instance of the chosen sets, not the sample alone
  --every N         of the chosen ones the first, then every N-th
  --jobs N          so many instances at a time (default: 1; more disturb each other's seconds)
  --save [NAME]     keep the figures as a baseline, after the difference to the one before (default name: default)
  --against NAME    the baseline to show the difference to (default: the one named default, if there is one)
  --topology-rules  write the topology rules of karpenter-mix, which this version reads but doesn't weigh
  --list            name the chosen instances and end
";

/// What `--save` and `--against` mean without a name.
pub(crate) const USUAL_BASELINE: &str = "default";

/// What to run, and what to do with the figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    /// Seconds.
    pub(crate) budgets: Vec<f64>,
    /// Empty: all.
    pub(crate) sets: Vec<String>,
    pub(crate) only: Option<String>,
    pub(crate) all: bool,
    pub(crate) every: usize,
    pub(crate) jobs: usize,
    pub(crate) save: Option<String>,
    pub(crate) against: Option<String>,
    pub(crate) topology_rules: bool,
    pub(crate) list: bool,
    pub(crate) help: bool,
    /// A process for one instance alone: its `set/name`. Not for people.
    pub(crate) one: Option<String>,
}

impl Default for Options {
    /// A few minutes: the sample, at budgets up to that of `dovetail plan`.
    fn default() -> Self {
        Self {
            budgets: vec![0.05, 0.3, 1.0],
            sets: Vec::new(),
            only: None,
            all: false,
            every: 1,
            jobs: 1,
            save: None,
            against: None,
            topology_rules: false,
            list: false,
            help: false,
            one: None,
        }
    }
}

impl Options {
    /// Reads the words behind the program's name.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                // What cargo itself says to a bench.
                "--bench" => {}
                "--budgets" | "--budget" => options.budgets = budgets(&value()?)?,
                "--set" => options.sets = value()?.split(',').map(str::to_owned).collect(),
                "--only" => options.only = Some(value()?),
                "--one" => options.one = Some(value()?),
                "--against" => options.against = Some(name(value()?)?),
                "--jobs" => options.jobs = count(&word, &value()?)?,
                "--every" => options.every = count(&word, &value()?)?,
                "--save" => {
                    let named = words.next_if(|word| !word.starts_with("--"));
                    options.save = Some(name(named.unwrap_or_else(|| USUAL_BASELINE.to_owned()))?);
                }
                "--all" => options.all = true,
                "--topology-rules" => options.topology_rules = true,
                "--list" => options.list = true,
                "--help" => options.help = true,
                other => bail!("{other}: no such option\n\n{HELP}"),
            }
        }
        for set in &options.sets {
            ensure!(
                SETS.contains(&set.as_str()),
                "{set}: no such set; there are {}",
                SETS.join(", ")
            );
        }
        Ok(options)
    }

    /// The instances that are to run.
    pub(crate) fn choose<'a>(&self, cases: &'a [Case]) -> Vec<&'a Case> {
        cases
            .iter()
            .filter(|case| self.takes(case))
            .step_by(self.every)
            .collect()
    }

    fn takes(&self, case: &Case) -> bool {
        let in_set = self.sets.is_empty() || self.sets.iter().any(|set| set == case.set);
        let by_name = self.only.as_ref().map(|text| case.path().contains(text));
        in_set && by_name.unwrap_or(self.all || case.in_sample)
    }
}

/// One or more.
fn count(word: &str, text: &str) -> Result<usize> {
    let count = text.parse().with_context(|| format!("{word}: \"{text}\""))?;
    ensure!(count > 0, "{word}: expected 1 or more");
    Ok(count)
}

/// Ascending, each once.
fn budgets(text: &str) -> Result<Vec<f64>> {
    let mut budgets = Vec::new();
    for word in text.split(',') {
        let seconds: f64 = word
            .trim()
            .parse()
            .with_context(|| format!("--budgets: \"{word}\""))?;
        ensure!(
            seconds > 0.0 && seconds <= 3_600.0,
            "--budgets: {word}: expected seconds, an hour at most"
        );
        budgets.push(seconds);
    }
    budgets.sort_by(f64::total_cmp);
    budgets.dedup();
    Ok(budgets)
}

/// A baseline's name becomes that of a file.
fn name(name: String) -> Result<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    ensure!(
        !name.is_empty() && !name.starts_with('.') && name.chars().all(plain),
        "{name}: a baseline's name has letters, digits, '-', '_' and '.'"
    );
    Ok(name)
}
