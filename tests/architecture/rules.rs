//! The rules themselves. Each is a function from the sources to its violations; a violation names file and line, and
//! says what to do.

use std::collections::BTreeSet;

use crate::source::{Source, crate_mentions, is_float, is_under, line_of, root_modules, words};

/// What may stand at the top; anything else needs a place below one of these.
const TOP_LEVEL: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "src",
    "solver",
    "benches",
    "fuzz",
    "tests",
    "deploy",
    "papers.md",
    "dev",
    "examples",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE",
    ".ci",
    ".gitignore",
    ".gitattributes",
    ".dockerignore",
    "clippy.toml",
    "deny.toml",
    "rustfmt.toml",
    "rust-toolchain.toml",
];

/// A file that is longer is two ideas; CONTRIBUTING.md asks for 400.
pub(crate) const LONGEST_FILE: usize = 600;

/// Crates that would let the solver touch the world.
const NOT_IN_SOLVER: &[&str] = &[
    "kube",
    "kube-client",
    "kube-core",
    "k8s-openapi",
    "tokio",
    "async-std",
    "mio",
    "hyper",
    "reqwest",
    "aws-config",
    "aws-types",
    "rustls",
    "clap",
    "anyhow",
    "tracing",
    "chrono",
    "jiff",
];

/// A name that belongs to some places only.
struct Ban {
    what: &'static str,
    /// The files that it is about.
    within: &'static [&'static str],
    /// The places in them where it is at home.
    except: &'static [&'static str],
    advice: &'static str,
}

const KUBERNETES: Ban = Ban {
    what: "Kubernetes' SDK",
    within: &["src", "solver", "benches"],
    except: &["src/api", "src/cluster", "src/controllers"],
    advice: "convert in src/cluster and pass the model's types on",
};
const AWS: Ban = Ban {
    what: "the AWS SDK",
    within: &["src", "solver", "benches"],
    except: &["src/cloud/aws"],
    advice: "go through the CloudProvider port",
};
const HIGHS: Ban = Ban {
    what: "an LP library",
    within: &["src", "solver", "benches", "tests"],
    except: &["solver/src/lp"],
    advice: "add what is needed to solver/src/lp, in the words of the problem",
};
const UNSAFE: Ban = Ban {
    what: "unsafe code",
    within: crate::CODE,
    except: &["solver/src/lp"],
    advice: "only the HiGHS wrapper in solver/src/lp needs it",
};
const CHECKED: Ban = Ban {
    what: "turns a plan into a checked one",
    within: crate::CODE,
    except: &["solver/src/check", "solver/src/model/plan.rs"],
    advice: "only the checker may say that a plan is checked",
};
const FLOATS: Ban = Ban {
    what: "a float",
    within: &[
        "solver/src/model",
        "solver/src/lower",
        "solver/src/check",
        "solver/src/lift.rs",
        "solver/src/lift",
        "solver/src/explain",
        "solver/src/plan.rs",
        "solver/src/options.rs",
        "solver/src/quota.rs",
    ],
    except: &[],
    advice: "integers are the truth here: milli-CPU, bytes, micro-dollars; floats live in pack/ and lp/",
};
const WORLD: Ban = Ban {
    what: "the world outside of the arguments",
    within: &["solver/src"],
    except: &[],
    advice: "the solver is a function of its arguments: ordered collections, a Quota for time, seeds for chance",
};

/// Floats that stand outside of pack/ and lp/ all the same, each with its reason. An entry that nothing needs fails.
pub(crate) const FLOATS_EXCUSED: &[(&str, &str)] = &[];

/// Files of the checker that compile to nothing in `lower/rules`, each with its reason. An entry that nothing needs fails.
pub(crate) const CHECKED_ONLY: &[(&str, &str)] = &[
    ("honesty", "lift gives the reasons for a refusal"),
    ("labels", "lower::variants chooses values for open keys"),
    ("money", "lift adds up the figures"),
    ("placement", "lift says which pod goes where"),
    ("admission", "no rule: the order in which pods near others come"),
    ("impossible", "lower::narrow leaves such a pod no place"),
    ("daemons", "no rule: which DaemonSet pods are still to come"),
    (
        "launchable",
        "no rule: what could be launched, as far as labels go",
    ),
    ("launches", "no rule: what each launch may become"),
    (
        "matching",
        "no rule: whether wants can all be served at once; the planner counts one number for each of its kinds",
    ),
    ("meetings", "no rule: which offers meet which pods"),
    ("prospect", "no rule: an offer as the node it would be"),
    ("sites", "no rule: where every pod is in the end"),
    ("topology", "no rule: domains of a topology key"),
    ("world", "no rule: the snapshot, indexed"),
];

/// Which modules at the root of a crate the files under a folder may name.
struct Layer {
    folder: &'static str,
    may: Names,
    advice: &'static str,
}
enum Names {
    Only(&'static [&'static str]),
    AnyBut(&'static [&'static str]),
}

const LAYERS: &[Layer] = &[
    Layer {
        folder: "solver/src/check",
        may: Names::Only(&["model", "check"]),
        advice: "the checker knows Kubernetes' rules and the model, so that it cannot share a mistake with the planner",
    },
    Layer {
        folder: "solver/src/model",
        may: Names::Only(&["model"]),
        advice: "the model is plain data: whatever works on it stands above it",
    },
    Layer {
        folder: "solver/src/lower",
        may: Names::AnyBut(&["pack", "lp", "lift", "check", "explain", "plan"]),
        advice: "lowering comes first and knows nothing of what follows",
    },
    Layer {
        folder: "solver/src/lp",
        may: Names::AnyBut(&["pack", "lift", "check", "explain", "plan"]),
        advice: "the LP wrapper serves the engines and does not know them",
    },
    Layer {
        folder: "solver/src/pack",
        may: Names::AnyBut(&["lift", "check", "explain", "plan"]),
        advice: "an engine works on the problem; names come back in lift, judgement is check's",
    },
    Layer {
        folder: "solver/src/lift.rs",
        may: Names::AnyBut(&["lp", "check", "explain", "plan"]),
        advice: "lifting gives names back to what was packed; judgement is check's",
    },
    Layer {
        folder: "solver/src/lift",
        may: Names::AnyBut(&["lp", "check", "explain", "plan"]),
        advice: "lifting gives names back to what was packed; judgement is check's",
    },
    Layer {
        folder: "solver/src/explain",
        may: Names::AnyBut(&["lower", "pack", "lp", "lift"]),
        advice: "a fix is found by planning again, not from the inside of a plan",
    },
    Layer {
        folder: "src/render",
        may: Names::AnyBut(&["cluster", "cloud", "commands", "controllers", "replay"]),
        advice: "an output is made from the plan alone",
    },
    Layer {
        folder: "src/api",
        may: Names::Only(&["api"]),
        advice: "custom resources and nothing else",
    },
    Layer {
        folder: "src/args",
        may: Names::Only(&["api", "args"]),
        advice: "the command line is grammar; what is done is the commands'",
    },
    Layer {
        folder: "src/cluster",
        may: Names::AnyBut(&["commands", "controllers", "replay"]),
        advice: "an adapter does not know who uses it",
    },
    Layer {
        folder: "src/cloud",
        may: Names::AnyBut(&["commands", "controllers", "replay"]),
        advice: "an adapter does not know who uses it",
    },
];

pub(crate) type Violations = Vec<String>;

fn violation(file: &Source, offset: usize, what: &str, advice: &str) -> String {
    format!("{}:{}: {what}; {advice}", file.path, line_of(&file.text, offset))
}

fn in_scope<'a>(sources: &'a [Source], ban: &'a Ban) -> impl Iterator<Item = &'a Source> {
    sources
        .iter()
        .filter(|file| file.is_under(ban.within) && !file.is_under(ban.except))
}

fn banned_crates(sources: &[Source], ban: &Ban, is_banned: impl Fn(&str) -> bool) -> Violations {
    in_scope(sources, ban)
        .flat_map(|file| {
            crate_mentions(&file.code, &is_banned)
                .into_iter()
                .map(|(offset, name)| {
                    violation(file, offset, &format!("names {name}, {}", ban.what), ban.advice)
                })
        })
        .collect()
}

pub(crate) fn kubernetes_is_in_its_places(sources: &[Source]) -> Violations {
    banned_crates(sources, &KUBERNETES, |name| {
        name == "kube" || name == "k8s_openapi" || name.starts_with("kube_")
    })
}

pub(crate) fn aws_is_in_its_place(sources: &[Source]) -> Violations {
    banned_crates(sources, &AWS, |name| name.starts_with("aws_"))
}

pub(crate) fn highs_is_in_its_place(sources: &[Source]) -> Violations {
    banned_crates(sources, &HIGHS, |name| {
        matches!(name, "good_lp" | "highs_sys" | "highs" | "microlp")
    })
}

pub(crate) fn unsafe_is_in_its_place(sources: &[Source]) -> Violations {
    banned_word(sources, &UNSAFE, "unsafe")
}

pub(crate) fn only_check_says_checked(sources: &[Source]) -> Violations {
    banned_word(sources, &CHECKED, "into_checked")
}

fn banned_word(sources: &[Source], ban: &Ban, banned: &str) -> Violations {
    in_scope(sources, ban)
        .flat_map(|file| {
            words(&file.code)
                .into_iter()
                .filter(|(_, word)| *word == banned)
                .map(|(offset, _)| violation(file, offset, ban.what, ban.advice))
        })
        .collect()
}

pub(crate) fn floats_are_in_their_places(sources: &[Source], excused: &[(&str, &str)]) -> Violations {
    let mut used = BTreeSet::new();
    let mut found = Violations::new();
    for file in in_scope(sources, &FLOATS) {
        for (offset, word) in words(&file.shipped)
            .into_iter()
            .filter(|(_, word)| is_float(word))
        {
            if excused.iter().any(|(path, _)| *path == file.path) {
                used.insert(file.path.as_str());
            } else {
                found.push(violation(
                    file,
                    offset,
                    &format!("{} ({word})", FLOATS.what),
                    FLOATS.advice,
                ));
            }
        }
    }
    for (path, _) in excused.iter().filter(|(path, _)| !used.contains(path)) {
        found.push(format!(
            "{path}: excused from the ban on floats and has none; drop it from FLOATS_EXCUSED"
        ));
    }
    found
}

pub(crate) fn solver_touches_nothing(sources: &[Source]) -> Violations {
    const TYPES: &[&str] = &[
        "HashMap",
        "HashSet",
        "RandomState",
        "DefaultHasher",
        "Instant",
        "SystemTime",
        "ThreadRng",
        "OsRng",
    ];
    const STD_MODULES: &[&str] = &["env", "fs", "net", "process"];
    in_scope(sources, &WORLD)
        .flat_map(|file| {
            let all = words(&file.shipped);
            let hits: Vec<String> = all
                .iter()
                .enumerate()
                .filter(|(index, (start, word))| {
                    // `std::env`, or `env` inside `use std::{…}`; `env!` is the compiler's and harmless.
                    let of_std = STD_MODULES.contains(word)
                        && (file.shipped[..*start].ends_with("std::")
                            || statement_before(&file.shipped, *start).contains("std::{"));
                    TYPES.contains(word) || (of_std && *index > 0)
                })
                .map(|(_, (start, word))| {
                    violation(file, *start, &format!("{} ({word})", WORLD.what), WORLD.advice)
                })
                .collect();
            hits
        })
        .collect()
}

/// From the end of the statement before.
fn statement_before(code: &str, offset: usize) -> &str {
    let before = &code[..offset];
    &before[before.rfind(';').map_or(0, |at| at + 1)..]
}

pub(crate) fn layers_hold(sources: &[Source]) -> Violations {
    let mut found = Violations::new();
    for layer in LAYERS {
        for file in sources.iter().filter(|file| is_under(&file.path, layer.folder)) {
            for (offset, module) in root_modules(&file.path, &file.shipped) {
                let named = module.as_str();
                // A lower-case name is a module; a type or constant that the root re-exports is judged where it lives.
                if !named.starts_with(|first: char| first.is_lowercase()) {
                    continue;
                }
                let fine = match layer.may {
                    Names::Only(names) => names.contains(&named),
                    Names::AnyBut(names) => !names.contains(&named),
                };
                if !fine {
                    found.push(violation(
                        file,
                        offset,
                        &format!("names crate::{named}"),
                        layer.advice,
                    ));
                }
            }
        }
    }
    found
}

pub(crate) fn rules_have_twins(sources: &[Source], checked_only: &[(&str, &str)]) -> Violations {
    let names = |folder: &str| -> BTreeSet<String> {
        sources
            .iter()
            .filter_map(|file| file.path.strip_prefix(folder)?.strip_prefix('/'))
            .map(|inside| {
                inside
                    .split('/')
                    .next()
                    .unwrap()
                    .trim_end_matches(".rs")
                    .to_owned()
            })
            .filter(|name| name != "mod" && name != "tests")
            .collect()
    };
    let (compiled, checked) = (names("solver/src/lower/rules"), names("solver/src/check"));
    let excused: BTreeSet<String> = checked_only.iter().map(|(name, _)| (*name).to_owned()).collect();
    let unchecked = compiled.difference(&checked).map(|name| {
        format!(
            "solver/src/lower/rules/{name}.rs: no solver/src/check/{name}.rs; verify the rule from the model alone"
        )
    });
    let uncompiled = checked
        .difference(&compiled)
        .filter(|name| !excused.contains(*name));
    let uncompiled = uncompiled.map(|name| {
        format!(
            "solver/src/check/{name}.rs: no solver/src/lower/rules/{name}.rs; compile the rule, or say in \
             CHECKED_ONLY why there is nothing to compile"
        )
    });
    let needless = excused
        .iter()
        .filter(|name| !checked.contains(*name) || compiled.contains(*name));
    let needless = needless
        .map(|name| format!("solver/src/check/{name}.rs: needs no excuse; drop it from CHECKED_ONLY"));
    unchecked.chain(uncompiled).chain(needless).collect()
}

pub(crate) fn files_say_what_they_are(sources: &[Source]) -> Violations {
    sources
        .iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| {
            violation(
                file,
                0,
                "no `//!` on the first line",
                "say what it is, promises and leaves to others",
            )
        })
        .collect()
}

pub(crate) fn files_are_short(sources: &[Source]) -> Violations {
    sources
        .iter()
        .filter_map(|file| {
            let lines = file.text.lines().count();
            (lines > LONGEST_FILE).then(|| {
                format!(
                    "{}:{lines}: over {LONGEST_FILE} lines; one idea per file",
                    file.path
                )
            })
        })
        .collect()
}

pub(crate) fn top_level_is_known<'a>(tracked: impl Iterator<Item = &'a str>) -> Violations {
    let top: BTreeSet<&str> = tracked
        .filter_map(|path| path.split('/').next())
        .filter(|name| !name.is_empty())
        .collect();
    top.difference(&TOP_LEVEL.iter().copied().collect())
        .map(|name| {
            format!("{name}: not a top-level name of ARCHITECTURE.md; find its place below one of those")
        })
        .collect()
}

pub(crate) fn solver_depends_on_no_world<'a>(packages: impl Iterator<Item = &'a str>) -> Violations {
    packages
        .filter(|name| NOT_IN_SOLVER.contains(name) || name.starts_with("aws-"))
        .map(|name| {
            format!("dovetail-solver depends on {name}; `cargo tree -p dovetail-solver -i {name}` says how")
        })
        .collect()
}
