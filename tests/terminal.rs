//! What users wrote never steers the terminal of whoever reads it, in errors that end the program either.

use std::process::{Command, Stdio};

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/shop.yaml");

#[test]
fn an_error_that_quotes_its_input_does_not_steer_the_terminal() {
    for arguments in [
        &["plan", "-f", SHOP, "--set", "nodepool/\u{1b}[31mmars.spec=1"][..],
        &["plan", "-f", "\u{1b}]0;nowhere\u{7}.yaml"],
        &["explain", "pod", "\u{1b}[2J\u{202e}x", "-f", SHOP],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_dovetail"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("\\u{1b}") && !said.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{said:?}"
        );
    }
}
