//! Runs the real program as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What one run of the program gave.
pub(crate) struct Run {
    /// Exit status; `None` when it had to be stopped.
    pub(crate) status: Option<i32>,
    /// Standard output.
    pub(crate) output: String,
    /// Standard error.
    pub(crate) errors: String,
    /// Wall time.
    pub(crate) seconds: f64,
    /// Peak resident memory, as seen by looking often.
    pub(crate) rss_mib: f64,
}

/// No input here may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

impl Run {
    /// `dovetail ARGS`, in the folder of the repository.
    pub(crate) fn of(args: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("dovetail-run-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let id = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "-");
        let (out, err) = (folder.join(format!("{id}out")), folder.join(format!("{id}err")));
        let started = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_dovetail"))
            .args(args)
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&out).unwrap())
            .stderr(std::fs::File::create(&err).unwrap())
            .spawn()
            .unwrap();
        let mut rss_mib: f64 = 0.0;
        let status = loop {
            rss_mib = rss_mib.max(peak_mib(child.id()).unwrap_or_default());
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if started.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let seconds = started.elapsed().as_secs_f64();
        let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        Self {
            status,
            output: read(&out),
            errors: read(&err),
            seconds,
            rss_mib,
        }
    }

    /// `dovetail plan -f FILE ARGS -o json`.
    pub(crate) fn plan(file: &Path, args: &[String]) -> Self {
        let file = file.to_str().unwrap();
        let mut all = vec!["plan", "-f", file];
        all.extend(args.iter().map(String::as_str));
        all.extend(["-o", "json"]);
        Self::of(&all)
    }

    /// The plan printed, or what went wrong.
    pub(crate) fn json(&self) -> Result<Value, String> {
        if self.status != Some(0) {
            return Err(format!("ended with {:?}: {}", self.status, self.errors.trim()));
        }
        serde_json::from_str(&self.output).map_err(|error| format!("prints no JSON: {error}"))
    }
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The plan without `work`, which depends on the machine.
pub(crate) fn without_work(mut plan: Value) -> Value {
    if let Some(plan) = plan.as_object_mut() {
        plan.remove("work");
    }
    plan
}

fn peak_mib(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
