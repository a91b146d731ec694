//! A second reading of an input and of the plan printed for it, for tests of the program as a whole.
//!
//! Promises: reads the YAML and the JSON literally, from the rules of Kubernetes and of the input's own documents, and
//! calls none of the program's code, so that a mistake in ours isn't repeated here. What kube-scheduler filters is all
//! there; of the rest it covers what the scenarios beside it use and no more: allocatable is computed for AL2023 with the default kubelet only. Every finding is a sentence.
//!
//! Units: every amount is in thousandths of its Kubernetes unit; money in dollars per hour.

pub(crate) mod addresses;
pub(crate) mod cost;
pub(crate) mod dice;
pub(crate) mod gangs;
pub(crate) mod input;
pub(crate) mod machine;
pub(crate) mod numbers;
pub(crate) mod offers;
pub(crate) mod pods;
pub(crate) mod pools;
pub(crate) mod quantity;
pub(crate) mod run;
pub(crate) mod scheduler;
pub(crate) mod selection;
pub(crate) mod verify;
