//! Which files a source means: the file itself, or all manifests of a folder and of the folders in it.
//!
//! What of a folder can't be looked at (no permission, a link that leads nowhere) is handed back beside the rest, so that
//! it can be named and counted. Nothing is read here.

use std::io;
use std::path::{Path, PathBuf};

use super::ReadError;

/// The manifests of a source, in order of their paths, and what of a folder can't be looked at.
#[derive(Default)]
pub(super) struct Files {
    pub(super) found: Vec<PathBuf>,
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
}

/// The file itself, or all manifests of a folder.
///
/// # Errors
/// When the source itself can't be opened, or is a folder without manifests.
pub(super) fn files(path: &Path) -> Result<Files, ReadError> {
    let open = |error| ReadError::Open {
        path: path.display().to_string(),
        error,
    };
    let mut files = Files::default();
    if !std::fs::metadata(path).map_err(open)?.is_dir() {
        files.found.push(path.to_owned());
        return Ok(files);
    }
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == path => return Err(open(error)),
            Err(error) => {
                files.unreadable.push((folder, error));
                continue;
            }
        };
        for entry in entries {
            let entry = entry.map_err(open)?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let entry_path = entry.path();
            // Links to folders are not followed: they may lead in a circle.
            if entry.file_type().map_err(open)?.is_dir() {
                folders.push(entry_path);
            } else if is_manifest(&entry_path) {
                match std::fs::metadata(&entry_path) {
                    Ok(what) if what.is_file() => files.found.push(entry_path),
                    Ok(_) => {}
                    Err(error) => files.unreadable.push((entry_path, error)),
                }
            }
        }
    }
    if files.found.is_empty() && files.unreadable.is_empty() {
        return Err(ReadError::EmptyFolder(path.display().to_string()));
    }
    files.found.sort();
    files.unreadable.sort_by(|(one, _), (two, _)| one.cmp(two));
    Ok(files)
}

fn is_manifest(path: &Path) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    matches!(extension.as_deref(), Some("yaml" | "yml" | "json"))
}
