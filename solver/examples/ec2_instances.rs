//! Plans every instance of `benches/instances/ec2` and prints cost against bound, best known and Karpenter.
//!
//! `cargo run --release -p dovetail-solver --example ec2_instances [NAME PART]`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::cast_precision_loss,
    reason = "a tool that reads files, looks at the clock and prints"
)]

#[path = "../tests/support/ec2.rs"]
mod ec2;

use std::time::{Duration, Instant};

use dovetail_solver::{PlanOptions, Quota, plan};

struct Clock(Instant);

impl Quota for Clock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn is_exhausted(&self) -> bool {
        self.0.elapsed() > Duration::from_secs(60)
    }
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!(
        "instance                      pods seconds   cost        /file bound  /own bound  /best   /karpenter  phases"
    );
    for instance in ec2::instances()
        .iter()
        .filter(|instance| instance.name.contains(&wanted))
    {
        let clock = Clock(Instant::now());
        let result = plan(&instance.snapshot, &PlanOptions::default(), &clock).unwrap();
        let seconds = clock.elapsed().as_secs_f64();
        let cost = result.cost.objective.micros() as f64;
        let over = |other: i64| (cost / other as f64 - 1.0) * 100.0;
        let phases: Vec<String> = result
            .work
            .phases
            .iter()
            .map(|phase| {
                format!(
                    "{} {} {:.3}s",
                    phase.name,
                    phase.cost,
                    phase.seconds.as_secs_f64()
                )
            })
            .collect();
        println!(
            "{:27} {:6} {seconds:7.3} {:>10} {:10.2}% {:10.2}% {:8.2}% {:9.2}%  {}",
            instance.name,
            instance.pods,
            result.cost.objective.to_string(),
            over(instance.lower_bound),
            over(result.cost.lower_bound.micros().max(1)),
            over(instance.best_known),
            over(instance.karpenter),
            phases.join(", "),
        );
    }
}
