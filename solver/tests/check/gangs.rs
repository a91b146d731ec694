//! Gangs: all or none, and none before there are enough.

use super::*;

use dovetail_solver::model::pod::PodSpec;
use dovetail_solver::model::rules::Gang;

const A: (&str, &str, CapacityType) = ("m", "zone-a", OnDemand);

fn train(size: Option<u32>) -> impl Fn(&mut PodSpec) {
    move |spec| {
        spec.rules.gang = Some(Gang {
            name: "train".to_owned(),
            size,
        });
    }
}

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("m", "8", "16Gi", "0.1"))
        .pool("p")
}

#[test]
fn a_gang_is_placed_whole_or_not_at_all() {
    let snapshot = cluster()
        .pods_with("x", 2, "1", "1Gi", train(None))
        .pods_with("y", 1, "2", "1Gi", train(None))
        .pods("z", 1, "1", "1Gi")
        .freeze();
    let draft = || Draft::new(&snapshot);
    let all = ["default/x-0", "default/x-1", "default/y-0", "default/z-0"];
    accepted(&snapshot, draft().launch("p", &[A], &all));
    let none = all[..3].iter().fold(draft(), |draft, pod| draft.refuse(pod));
    accepted(&snapshot, none.launch("p", &[A], &all[3..]));
    let without_one = draft().launch("p", &[A], &["default/x-0", "default/x-1", "default/z-0"]);
    refused(&snapshot, without_one.refuse("default/y-0"), Rule::Gang);
    // Another namespace's is another gang.
    let mut parts = snapshot.clone().into_parts();
    parts.pods[2].name = PodName::new("other", "y-0");
    let apart = parts.freeze().unwrap();
    let without_one = Draft::new(&apart).launch("p", &[A], &["default/x-0", "default/x-1", "default/z-0"]);
    accepted(&apart, without_one.refuse("other/y-0"));
}

#[test]
fn pods_that_run_and_stay_count_for_the_size() {
    let with = |size| {
        cluster()
            .node("n", "p", "m", "zone-a")
            .bound_with("old", "n", "1", "1Gi", train(None))
            .pods_with("x", 2, "1", "1Gi", train(size))
    };
    let both = ["default/x-0", "default/x-1"];
    let enough = with(Some(3)).freeze();
    accepted(&enough, Draft::new(&enough).launch("p", &[A], &both));
    let short = with(Some(4)).freeze();
    refused(&short, Draft::new(&short).launch("p", &[A], &both), Rule::Gang);
    refused(&short, Draft::new(&short).on_node("n", &both), Rule::Gang);
    let mut going = with(Some(3));
    going.parts.pods[0].place = PodPlace::Terminating("n".into());
    let going = going.freeze();
    refused(&going, Draft::new(&going).launch("p", &[A], &both), Rule::Gang);
}

#[test]
fn who_is_of_no_gang_is_not_kept_out_for_one() {
    let with = |edit: fn(&mut PodSpec)| {
        let snapshot = cluster().pods_with("x", 1, "1", "1Gi", edit).freeze();
        let mut body = Draft::new(&snapshot).refuse("default/x-0").body();
        body.unschedulable[0].reasons[0].constraint = Constraint::Gang;
        broken(&snapshot, body)
    };
    assert_eq!(with(|_| {}), [Rule::Honesty]);
    assert_eq!(with(|spec| train(None)(spec)), []);
}
