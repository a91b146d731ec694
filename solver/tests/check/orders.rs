//! The criteria for spread and affinity against the orders themselves: on every small case, the check accepts exactly if
//! some order of admission exists, looked for pod by pod as kube-scheduler would judge them.

use super::*;

use std::collections::BTreeMap;

use dovetail_solver::model::instance_type::{HOSTNAME_LABEL, ZONE_LABEL};
use dovetail_solver::testing::rules::{affinity, app, spread};

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

fn cluster() -> Cluster {
    let mut machine = machine("m", "100", "100Gi", "0.1");
    let third = Offering {
        zone: ZONES[2].into(),
        ..machine.offerings[0].clone()
    };
    machine.offerings.push(third);
    Cluster::new().instance_type(machine).pool("p")
}

/// Pods of one zone: running, to come and bound by the spread, to come and only counted.
type Zone = [usize; 3];

/// Whether the rest can come in some order, where zones have so many now.
fn spreads(
    now: [usize; 3],
    rest: [(usize, usize); 3],
    known: &mut BTreeMap<[(usize, usize); 3], bool>,
) -> bool {
    if rest == [(0, 0); 3] {
        return true;
    }
    if let Some(known) = known.get(&rest) {
        return *known;
    }
    let least = now.into_iter().min().unwrap();
    let found = (0..3).any(|zone| {
        let (mut then, mut left) = (now, rest);
        then[zone] += 1;
        let bound = rest[zone].0 > 0 && then[zone] <= least + 1 && {
            left[zone].0 -= 1;
            spreads(then, left, known)
        };
        left = rest;
        bound
            || rest[zone].1 > 0 && {
                left[zone].1 -= 1;
                spreads(then, left, known)
            }
    });
    known.insert(rest, found);
    found
}

fn accepts_spread(zones: [Zone; 3]) -> bool {
    let mut cluster = cluster();
    for (at, zone) in ZONES.iter().enumerate() {
        let name = format!("n{at}");
        cluster = cluster.node(&name, "p", "m", zone);
        for number in 0..zones[at][0] {
            let pod = format!("old-{at}-{number}");
            cluster = cluster.bound_with(&pod, &name, "1", "1Gi", |spec| app(spec, "web"));
        }
        cluster = cluster.pods_with(&format!("bound-{at}"), zones[at][1], "1", "1Gi", |spec| {
            app(spec, "web");
            spread(spec, ZONE_LABEL, 1, "web");
        });
        cluster = cluster.pods_with(&format!("free-{at}"), zones[at][2], "1", "1Gi", |spec| {
            app(spec, "web");
        });
    }
    let snapshot = cluster.freeze();
    let mut draft = Draft::new(&snapshot);
    for (at, [_, bound, free]) in zones.into_iter().enumerate() {
        let bound = (0..bound).map(|number| format!("default/bound-{at}-{number}"));
        let free = (0..free).map(|number| format!("default/free-{at}-{number}"));
        let pods: Vec<String> = bound.chain(free).collect();
        let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
        draft = draft.on_node(&format!("n{at}"), &pods);
    }
    let rules = broken(&snapshot, draft.body());
    assert!(rules.is_empty() || rules == [Rule::TopologySpread], "{rules:?}");
    rules.is_empty()
}

#[test]
fn a_spread_is_accepted_exactly_if_an_order_exists() {
    let zone = |at: usize| -> Zone { [at % 3, at / 3 % 3, at / 9] };
    let (mut accepted, mut refused) = (0, 0);
    for (one, two, three) in multisets(18) {
        let zones = [zone(one), zone(two), zone(three)];
        let rest = zones.map(|[_, bound, free]| (bound, free));
        let exists = spreads(zones.map(|[running, ..]| running), rest, &mut BTreeMap::new());
        assert_eq!(
            accepts_spread(zones),
            exists,
            "running, bound, free by zone: {zones:?}"
        );
        *(if exists { &mut accepted } else { &mut refused }) += 1;
    }
    assert!(accepted > 100 && refused > 100, "{accepted} and {refused}");
}

/// Three of so many, in ascending order.
fn multisets(of: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..of).flat_map(move |one| (one..of).flat_map(move |two| (two..of).map(move |three| (one, two, three))))
}

/// A pod of an app, what it wants to be near to, and where it is: two hosts of one zone and one of another.
#[derive(Clone, Copy, Debug)]
struct Friend {
    app: &'static str,
    near: Option<(&'static str, &'static str)>,
    place: usize,
}

const APPS: [&str; 2] = ["a", "b"];
const NEAR: [Option<(&str, &str)>; 4] = [
    None,
    Some((ZONE_LABEL, "a")),
    Some((ZONE_LABEL, "b")),
    Some((HOSTNAME_LABEL, "a")),
];

impl Friend {
    fn number(at: usize) -> Self {
        Self {
            app: APPS[at % 2],
            near: NEAR[at / 2 % 4],
            place: at / 8,
        }
    }

    /// Whether it may come when these are there.
    fn may_come(&self, there: &[Self]) -> bool {
        let Some((key, app)) = self.near else {
            return true;
        };
        let domain = |place: usize| if key == HOSTNAME_LABEL { place } else { place / 2 };
        let mut matches = there.iter().filter(|other| other.app == app).peekable();
        match matches.peek() {
            None => self.app == app,
            Some(_) => matches.any(|other| domain(other.place) == domain(self.place)),
        }
    }
}

fn come(there: &mut Vec<Friend>, rest: &[Friend]) -> bool {
    rest.is_empty()
        || (0..rest.len()).any(|at| {
            rest[at].may_come(there) && {
                let left = [&rest[..at], &rest[at + 1..]].concat();
                there.push(rest[at]);
                let found = come(there, &left);
                there.pop();
                found
            }
        })
}

fn accepts_friends(friends: [Friend; 3], has_running: bool) -> bool {
    let mut cluster = cluster()
        .node("n0", "p", "m", ZONES[0])
        .node("n1", "p", "m", ZONES[0])
        .node("n2", "p", "m", ZONES[1]);
    if has_running {
        cluster = cluster.bound_with("old", "n0", "1", "1Gi", |spec| app(spec, "a"));
    }
    for (at, friend) in friends.iter().enumerate() {
        cluster = cluster.pods_with(&format!("x{at}"), 1, "1", "1Gi", |spec| {
            app(spec, friend.app);
            if let Some((key, name)) = friend.near {
                affinity(spec, key, name);
            }
        });
    }
    let snapshot = cluster.freeze();
    let mut draft = Draft::new(&snapshot);
    for place in 0..3 {
        let here = (0..3).filter(|at| friends[*at].place == place);
        let here: Vec<String> = here.map(|at| format!("default/x{at}-0")).collect();
        let here: Vec<&str> = here.iter().map(String::as_str).collect();
        draft = draft.on_node(&format!("n{place}"), &here);
    }
    let rules = broken(&snapshot, draft.body());
    assert!(rules.is_empty() || rules == [Rule::Affinity], "{rules:?}");
    rules.is_empty()
}

#[test]
fn affinity_is_accepted_exactly_if_an_order_exists() {
    let (mut accepted, mut refused) = (0, 0);
    for (one, two, three) in multisets(24) {
        let friends = [one, two, three].map(Friend::number);
        for has_running in [false, true] {
            let old = Friend {
                app: "a",
                near: None,
                place: 0,
            };
            let mut there: Vec<Friend> = if has_running { vec![old] } else { Vec::new() };
            let exists = come(&mut there, &friends);
            assert_eq!(
                accepts_friends(friends, has_running),
                exists,
                "{has_running} {friends:?}"
            );
            *(if exists { &mut accepted } else { &mut refused }) += 1;
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} and {refused}");
}
