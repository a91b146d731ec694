//! Every rule, shown a tree that breaks it: a scanner that finds nothing would otherwise look like a clean tree.

use crate::must_hold;
use crate::rules::*;
use crate::source::Source;

#[track_caller]
fn only(violations: &[String], place: &str) {
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert!(violations[0].starts_with(place), "{}", violations[0]);
}

fn one(path: &str, text: &str) -> Vec<Source> {
    vec![Source::new(path, text)]
}

#[test]
fn sdks() {
    only(
        &kubernetes_is_in_its_places(&one("src/commands/plan.rs", "//! A\nuse kube::Client;")),
        "src/commands/plan.rs:2:",
    );
    only(
        &kubernetes_is_in_its_places(&one("src/lib.rs", "fn a(b: k8s_openapi::X) {}")),
        "src/lib.rs:1:",
    );
    only(
        &kubernetes_is_in_its_places(&one("solver/src/lib.rs", "use kube_core::X;")),
        "solver/src/lib.rs:1:",
    );
    only(
        &aws_is_in_its_place(&one("src/cloud/mod.rs", "\nuse aws_sdk_ec2::Client;")),
        "src/cloud/mod.rs:2:",
    );
    only(
        &highs_is_in_its_place(&one("solver/src/pack/a.rs", "use good_lp::Solution;")),
        "solver/src/pack/a.rs:1:",
    );
    must_hold(&kubernetes_is_in_its_places(&one(
        "src/cluster/index.rs",
        "use kube::Client; // ok",
    )));
    must_hold(&aws_is_in_its_place(&one(
        "src/cloud/aws/fleet.rs",
        "use aws_sdk_ec2::Client;",
    )));
    must_hold(&kubernetes_is_in_its_places(&one(
        "src/commands/a.rs",
        "// use kube::Client;\nlet a = \"kube::x\";",
    )));
}

#[test]
fn unsafe_code() {
    only(
        &unsafe_is_in_its_place(&one("solver/src/pack/a.rs", "fn a() { unsafe { b() } }")),
        "solver/src/pack/a.rs:1:",
    );
    only(
        &unsafe_is_in_its_place(&one("tests/a.rs", "unsafe fn a() {}")),
        "tests/a.rs:1:",
    );
    must_hold(&unsafe_is_in_its_place(&one(
        "solver/src/lp/raw.rs",
        "unsafe extern \"C\" {}",
    )));
}

#[test]
fn saying_checked() {
    only(
        &only_check_says_checked(&one("solver/src/pack/a.rs", "plan.into_checked()")),
        "solver/src/pack/a.rs:1:",
    );
    must_hold(&only_check_says_checked(&one(
        "solver/src/check/mod.rs",
        "plan.into_checked()",
    )));
}

#[test]
fn floats() {
    let bad = one("solver/src/model/a.rs", "//! f64\n\npub fn a(b: u64) -> f64 {}");
    only(&floats_are_in_their_places(&bad, &[]), "solver/src/model/a.rs:3:");
    must_hold(&floats_are_in_their_places(
        &bad,
        &[("solver/src/model/a.rs", "a reason")],
    ));
    only(
        &floats_are_in_their_places(&one("solver/src/lift.rs", "let a = 0.5;"), &[]),
        "solver/src/lift.rs:1:",
    );
    only(
        &floats_are_in_their_places(&[], &[("solver/src/model/a.rs", "a reason")]),
        "solver/src/model/a.rs:",
    );
    must_hold(&floats_are_in_their_places(
        &one("solver/src/pack/a.rs", "let a = 0.5_f64;"),
        &[],
    ));
    must_hold(&floats_are_in_their_places(
        &one(
            "solver/src/check/a.rs",
            "#[cfg(test)]\nmod t { const A: f64 = 1.0; }",
        ),
        &[],
    ));
}

#[test]
fn the_world() {
    let bad = |text: &str| solver_touches_nothing(&one("solver/src/pack/a.rs", text));
    only(&bad("use std::collections::HashMap;"), "solver/src/pack/a.rs:1:");
    only(
        &bad("\nlet a = std::time::Instant::now();"),
        "solver/src/pack/a.rs:2:",
    );
    only(&bad("let a = std::env::var(b);"), "solver/src/pack/a.rs:1:");
    only(&bad("use std::{cmp::Ordering, fs};"), "solver/src/pack/a.rs:1:");
    must_hold(&bad(
        "use std::collections::BTreeMap; const A: &str = env!(\"B\"); let net = 1; // Instant",
    ));
    must_hold(&solver_touches_nothing(&one(
        "src/commands/plan.rs",
        "use std::time::Instant;",
    )));
}

#[test]
fn layers() {
    let bad = |path: &str, text: &str| layers_hold(&one(path, text));
    only(
        &bad(
            "solver/src/check/a.rs",
            "use crate::model::A;\nuse crate::lower::B;",
        ),
        "solver/src/check/a.rs:2:",
    );
    only(
        &bad("solver/src/check/mod.rs", "use crate::{model::A, pack};"),
        "solver/src/check/mod.rs:1:",
    );
    only(
        &bad("solver/src/check/a.rs", "use super::super::lift::A;"),
        "solver/src/check/a.rs:1:",
    );
    only(
        &bad("solver/src/model/a.rs", "fn a(b: crate::check::C) {}"),
        "solver/src/model/a.rs:1:",
    );
    only(
        &bad("solver/src/explain/a.rs", "use crate::pack::A;"),
        "solver/src/explain/a.rs:1:",
    );
    only(
        &bad("solver/src/lift.rs", "use crate::check::check;"),
        "solver/src/lift.rs:1:",
    );
    only(&bad("src/api/a.rs", "use crate::cluster::A;"), "src/api/a.rs:1:");
    only(
        &bad("src/cluster/mod.rs", "use super::commands::A;"),
        "src/cluster/mod.rs:1:",
    );
    must_hold(&bad(
        "solver/src/check/a.rs",
        "use super::report::A; use crate::check::b; #[cfg(test)] use crate::pack::C;",
    ));
}

#[test]
fn shape() {
    let rule = Source::new("solver/src/lower/rules/taints.rs", "//! A");
    let module = Source::new("solver/src/lower/rules/mod.rs", "//! A");
    only(
        &rules_have_twins(&[module, rule], &[]),
        "solver/src/lower/rules/taints.rs:",
    );
    let twins = ["solver/src/lower/rules/taints.rs", "solver/src/check/taints.rs"];
    let twins = twins.map(|path| Source::new(path, "//! A"));
    must_hold(&rules_have_twins(&twins, &[]));
    only(
        &rules_have_twins(&twins, &[("taints", "a reason")]),
        "solver/src/check/taints.rs: needs no excuse",
    );
    let alone = one("solver/src/check/world.rs", "//! A");
    only(&rules_have_twins(&alone, &[]), "solver/src/check/world.rs: no ");
    must_hold(&rules_have_twins(&alone, &[("world", "a reason")]));
    only(
        &rules_have_twins(&[], &[("world", "a reason")]),
        "solver/src/check/world.rs: needs no excuse",
    );
    only(
        &files_say_what_they_are(&one("src/a.rs", "// A\nfn a() {}")),
        "src/a.rs:1:",
    );
    must_hold(&files_say_what_they_are(&one("src/a.rs", "//! A")));
    only(
        &files_are_short(&one("src/a.rs", &"\n".repeat(LONGEST_FILE + 1))),
        "src/a.rs:601:",
    );
    must_hold(&files_are_short(&one("src/a.rs", &"\n".repeat(LONGEST_FILE))));
    only(
        &top_level_is_known(["src/lib.rs", "notes.txt"].into_iter()),
        "notes.txt:",
    );
}

#[test]
fn manifests() {
    only(
        &solver_depends_on_no_world(["serde", "aws-sdk-ec2"].into_iter()),
        "dovetail-solver depends on aws-sdk-ec2",
    );
    only(
        &solver_depends_on_no_world(["kube-core", "ndarray"].into_iter()),
        "dovetail-solver depends on kube-core",
    );
}
