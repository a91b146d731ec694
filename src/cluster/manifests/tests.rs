//! Manifests as people and hostile people write them.

use super::*;
use crate::cluster::diagnostics::Severity;

fn read_text(text: &str) -> Read {
    read_bytes("input.yaml", text.as_bytes(), &[]).unwrap()
}

fn messages(read: &Read) -> Vec<String> {
    read.diagnostics.notes().iter().map(ToString::to_string).collect()
}

fn pod(name: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c}}]}}\n")
}

#[test]
fn several_documents_windows_line_ends_and_a_byte_order_mark() {
    let text = format!("\u{feff}# pods\n---\n{}---\n{}", pod("a"), pod("b")).replace('\n', "\r\n");
    let read = read_text(&text);
    assert_eq!(read.index.pods().len(), 2, "{:?}", messages(&read));
    assert!(read.diagnostics.is_empty());
}

#[test]
fn json_values_one_after_the_other_and_lists_of_any_kind() {
    let read = read_text(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","managedFields":[1]},"spec":{}}
           {"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{}}],"kind":"List"}
           {"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"c"},"spec":{}}]}
           {"apiVersion":"v1","items":[{"metadata":{"name":"d"},"spec":{}}],"kind":"PodList"}
           [{"apiVersion":"v1","kind":"Pod","metadata":{"name":"e"},"spec":{}}]
           {"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"PodList","items":[
             {"apiVersion":"v1","kind":"Pod","metadata":{"name":"f"},"spec":{}}]}]}
           {"apiVersion":"v1","kind":"List","items":null}"#,
    );
    let names: Vec<String> = read.index.pods().keys().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "default/a",
            "default/b",
            "default/c",
            "default/d",
            "default/e",
            "default/f"
        ]
    );
    assert!(read.diagnostics.is_empty(), "{:?}", messages(&read));
}

#[test]
fn yaml_that_looks_like_json_and_a_list_in_yaml() {
    let read = read_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}\n---\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\n  spec: {}\nkind: List\n",
    );
    assert_eq!(read.index.pods().len(), 2, "{:?}", messages(&read));
}

#[test]
fn a_broken_document_is_named_and_the_rest_is_read() {
    let text = format!("{}---\nkind: [\n---\n{}", pod("a"), pod("b"));
    let read = read_text(&text);
    assert_eq!(read.index.pods().len(), 2);
    let said = messages(&read);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("input.yaml, document 2 (line 5): line "),
        "{said:?}"
    );
    assert_eq!(read.diagnostics.dropped()[&Reason::Syntax], 1);
}

#[test]
fn a_malformed_value_is_named_with_its_path() {
    let read = read_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\nspec: {containers: [{name: c, resources: {requests: {memory: 1gb}}}]}\n",
    );
    let said = messages(&read);
    assert!(
        said[0].contains("Pod shop/a: spec.containers[0].resources.requests.memory: ")
            && said[0].contains("\"gb\""),
        "{said:?}"
    );
    assert!(read.index.is_empty());
    assert_eq!(read.diagnostics.dropped()[&Reason::Malformed], 1);
}

#[test]
fn quantities_that_make_no_sense_are_refused() {
    for quantity in ["-1", "1e40", "9223372036854775808", "abc", "''", "true", "[1]"] {
        let read = read_text(&format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: a}}\nstatus: {{capacity: {{cpu: {quantity}}}}}\n"
        ));
        assert_eq!(
            read.diagnostics.dropped().get(&Reason::Malformed),
            Some(&1),
            "{quantity}"
        );
    }
}

#[test]
fn an_unknown_field_of_a_node_pool_is_a_warning() {
    let read = read_text(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec:\n  wieght: 5\n  template: {spec: {requirements: [{key: a, operator: In, values: [b], minvalues: 2}], nodeClassRef: {group: g, kind: k, name: n}}}\n",
    );
    let notes = read.diagnostics.notes();
    let mut paths: Vec<&str> = notes.iter().filter_map(|note| note.path.as_deref()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        ["spec.template.spec.requirements[0].minvalues", "spec.wieght"],
        "{notes:?}"
    );
    assert!(
        notes
            .iter()
            .all(|note| note.severity == Severity::Warning && note.reason == Reason::UnknownField)
    );
    assert_eq!(read.index.node_pools().len(), 1);
}

#[test]
fn a_wrong_value_or_version_of_a_node_pool_drops_it() {
    let wrong = read_text(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec: {template: {spec: {requirements: [{key: a, operator: Is}], nodeClassRef: {group: g, kind: k, name: n}}}}\n",
    );
    assert!(
        messages(&wrong)[0].contains("spec.template.spec.requirements[0].operator"),
        "{:?}",
        messages(&wrong)
    );
    let old =
        read_text("apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: default}\nspec: {}\n");
    assert!(
        messages(&old)[0].contains("expected karpenter.sh/v1"),
        "{:?}",
        messages(&old)
    );
    assert!(wrong.index.is_empty() && old.index.is_empty());
}

#[test]
fn two_objects_of_one_name_are_an_error_and_two_copies_are_not() {
    let other = pod("a").replace("name: c", "name: d");
    let read = read_text(&format!("{}---\n{}---\n{other}", pod("a"), pod("a")));
    let said = messages(&read);
    assert!(
        said.iter().any(
            |text| text.starts_with("input.yaml, document 3 (line 10): Pod default/a: ")
                && text.contains("input.yaml, document 1 (line 1)")
        ),
        "{said:?}"
    );
    assert_eq!(read.diagnostics.counts()[&Reason::IdenticalCopy], 1);
    assert_eq!(read.diagnostics.dropped()[&Reason::Duplicate], 1);
}

#[test]
fn unknown_kinds_are_counted_and_named_once() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n";
    let read = read_text(&format!(
        "{secret}{secret}apiVersion: x.io/v1\nkind: Pod\nmetadata: {{name: a}}\n"
    ));
    let notes = read.diagnostics.notes();
    assert_eq!(notes.len(), 2);
    assert_eq!(
        (notes[0].message.as_str(), notes[0].count),
        ("Pod.x.io isn't read by plan", 1)
    );
    assert_eq!(
        (notes[1].message.as_str(), notes[1].count),
        ("Secret isn't read by plan", 2)
    );
    assert!(!read.diagnostics.has_errors());
}

#[test]
fn what_is_no_object_says_what_it_is() {
    for (text, found) in [
        ("hello\n", "a text"),
        ("7\n", "a number"),
        ("a: 1\n", "[a]"),
        ("kind: Pod\n", "[kind]"),
    ] {
        let read = read_text(text);
        assert!(
            messages(&read)[0].contains(found),
            "{text}: {:?}",
            messages(&read)
        );
    }
    for text in [
        "apiVersion: v1\nkind: Pod\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a/b}\n",
    ] {
        assert!(messages(&read_text(text))[0].contains("metadata.name"), "{text}");
    }
    assert!(
        read_text("")
            .diagnostics
            .dropped()
            .values()
            .all(|count| *count == 0)
    );
}

#[test]
fn hostile_documents_end_in_a_message() {
    let deep_json = "[".repeat(200_000);
    let deep_yaml = format!("a: {}", "[".repeat(5_000));
    let deep_block: String = (0..2_000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = level - 1;
        bomb += &format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{before}"); 10].join(", ")
        );
    }
    for text in [
        deep_json,
        deep_yaml,
        deep_block,
        bomb,
        "a: *nothing\n".to_owned(),
        "a: \"\\x\"\n".to_owned(),
    ] {
        let read = read_text(&format!("{text}\n---\n{}", pod("a")));
        assert_eq!(
            read.diagnostics.dropped().get(&Reason::Syntax),
            Some(&1),
            "{}",
            &text[..40.min(text.len())]
        );
        assert_eq!(read.index.pods().len(), 1);
    }
    let read = read_bytes("x", b"a: \xff\xfe\n---\nkind: Pod\n", &[]).unwrap();
    assert_eq!(read.diagnostics.dropped().get(&Reason::Unreadable), Some(&1));
}

#[test]
fn a_long_list_states_its_kind_first() {
    let items = vec![r#"{"metadata":{"name":"a"},"spec":{}}"#; 10_001].join(",");
    let late = read_text(&format!(
        r#"{{"apiVersion":"v1","items":[{items}],"kind":"PodList"}}"#
    ));
    assert!(
        messages(&late)[0].contains("must stand before them"),
        "{:?}",
        messages(&late)
    );
    let early = read_text(&format!(
        r#"{{"apiVersion":"v1","kind":"PodList","items":[{items}]}}"#
    ));
    assert_eq!(early.diagnostics.counts()[&Reason::IdenticalCopy], 10_000);
}

#[test]
fn edits_change_what_they_name_and_nothing_else() {
    let deployment = |name: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{replicas: 1, template: {{spec: {{}}}}}}\n---\n"
        )
    };
    let text = deployment("web") + &deployment("web.v2");
    let edit = |text: &str| text.parse::<Edit>().unwrap();
    let edits = [
        edit("deployment/shop/web.v2.spec.replicas=7"),
        edit("deploy/web.spec.replicas=3"),
    ];
    let read = read_bytes("input.yaml", text.as_bytes(), &edits).unwrap();
    let replicas = |name: &str| {
        read.index
            .workload(Kind::Deployment, &ObjectName::new("shop", name))
            .unwrap()
            .spec
            .replicas
    };
    assert_eq!((replicas("web"), replicas("web.v2")), (Some(3), Some(7)));
    let nobody = read_bytes(
        "input.yaml",
        text.as_bytes(),
        &[edit("deploy/nobody.spec.replicas=3")],
    )
    .unwrap_err();
    assert!(
        nobody.to_string().contains("there are shop/web, shop/web.v2"),
        "{nobody}"
    );
    let twice = text.clone() + &deployment("web").replace("shop", "other");
    let unclear = read_bytes(
        "input.yaml",
        twice.as_bytes(),
        &[edit("deploy/web.spec.replicas=3")],
    )
    .unwrap_err();
    assert!(unclear.to_string().contains("other/web"), "{unclear}");
}

#[test]
fn folders_are_read_in_order_and_other_files_are_not() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    std::fs::write(folder.path().join("b/two.yml"), pod("two")).unwrap();
    std::fs::write(folder.path().join("a.JSON"), pod("one")).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "hello").unwrap();
    let read = read(&[Source::Path(folder.path().to_owned())], &[]).unwrap();
    assert_eq!(read.index.pods().len(), 2);
    assert!(read.diagnostics.is_empty());
    let missing = super::read(&[Source::Path(folder.path().join("no.yaml"))], &[]).unwrap_err();
    assert!(missing.to_string().contains("no.yaml"));
    assert!(matches!(
        super::read(&[Source::Stdin, Source::Stdin], &[]),
        Err(ReadError::StdinTwice)
    ));
}

#[test]
fn a_file_of_a_folder_that_cannot_be_opened_is_counted_and_the_rest_is_read() {
    let folder = std::env::temp_dir().join(format!("dovetail-unreadable-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("a.yaml"),
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("nowhere.yaml", folder.join("b.yaml")).unwrap();
    std::os::unix::fs::symlink("c.yaml", folder.join("c.yaml")).unwrap();
    let read = read(&[Source::Path(folder.clone())], &[]);
    let named = super::read(&[Source::Path(folder.join("b.yaml"))], &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let read = read.unwrap();
    assert!(!read.index.is_empty());
    assert_eq!(
        read.diagnostics.dropped(),
        BTreeMap::from([(Reason::Unreadable, 2)])
    );
    assert!(
        read.diagnostics.notes()[0]
            .to_string()
            .contains("b.yaml: opening it: ")
    );
    assert!(named.is_err(), "what is named itself must be there");
}

#[test]
fn messages_speak_of_manifests_and_not_of_the_reader() {
    let deep = format!("a: {}{}", "[".repeat(100), "]".repeat(100));
    let json = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let pod = |spec: &str| format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {spec}\n");
    for (text, expected) in [
        (deep.as_str(), "nested too deeply"),
        (json.as_str(), "nested too deeply"),
        ("a: &a [*a]\n", "an alias stands inside"),
        ("a: .nan\n", "a number that isn't finite"),
        ("a: 1\na: 2\n", "duplicate mapping key: a (expected"),
        (
            &pod("foo"),
            "spec: invalid type: string \"foo\", expected a mapping",
        ),
        (
            &pod("{tolerations: {}}"),
            "spec.tolerations: invalid type: mapping, expected a list",
        ),
        (
            &pod("{nodeSelector: {a: 5}}"),
            "spec.nodeSelector.a: invalid type: integer `5`, expected a text",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n",
            "metadata.name: expected a name, found a number",
        ),
        (
            "apiVersion: v1\nkind: List\nitems: {a: 1}\n",
            "items: expected a list of objects",
        ),
    ] {
        let read = read_bytes("input", text.as_bytes(), &[]).unwrap();
        let note = read.diagnostics.notes()[0].to_string();
        assert!(note.contains(expected), "{note}");
        assert_eq!(read.diagnostics.dropped().values().sum::<u64>(), 1, "{note}");
    }
}

#[test]
fn an_edit_of_endless_depth_is_refused() {
    let pool = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";
    for step in [".b", "[0]"] {
        let edit: Edit = format!("namespace/a.spec{}=1", step.repeat(50_000))
            .parse()
            .unwrap();
        let error = read_bytes("input", pool.as_bytes(), &[edit]).unwrap_err();
        assert!(error.to_string().ends_with("the path has more than 64 steps"));
    }
    assert!(
        format!("namespace/a.spec={}", "[".repeat(1_000))
            .parse::<Edit>()
            .is_err()
    );
}
