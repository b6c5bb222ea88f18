use super::*;

const STEPS: &str = "agents: {x: {url: \"http://127.0.0.1:1\"}}\nsteps: {a: {agent: x}}\n";

/// A folder in which a test writes.
struct Desk {
    folder: tempfile::TempDir,
    written: std::cell::Cell<u64>,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), written: std::cell::Cell::new(0) }
    }

    fn open(&self) -> Folder {
        Folder::open(self.folder.path()).unwrap()
    }

    /// Writes a file, later than every one before.
    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        self.written.set(self.written.get() + 1);
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(self.written.get());
        std::fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
    }

    fn workflow(&self, file: &str, name: &str, title: &str) {
        self.write(file, &format!("convoke: 1\nname: {name}\ntitle: {title}\n{STEPS}"));
    }
}

/// The workflows by name and title.
fn offered(folder: &Folder) -> Vec<(String, String)> {
    let workflows = folder.workflows();
    let both = |it: &Arc<Workflow>| (it.name.clone(), it.title.clone().unwrap_or_default());
    workflows.iter().map(both).collect()
}

fn pair(name: &str, title: &str) -> (String, String) {
    (name.to_owned(), title.to_owned())
}

fn broken(folder: &Folder) -> Vec<String> {
    let workflows = folder.workflows();
    let name =
        |it: &Problems| it.source_file.name().rsplit('/').next().unwrap_or_default().to_owned();
    workflows.broken.iter().map(name).collect()
}

#[test]
fn a_broken_file_is_left_out_and_the_rest_is_there() {
    let desk = Desk::new();
    desk.workflow("a.yaml", "one", "A");
    desk.write("b.yaml", "convoke: 1\nname: two\n");
    desk.workflow("c.yaml", "one", "C");
    desk.write("d.txt", "no workflow");
    let folder = desk.open();
    assert_eq!(offered(&folder), [pair("one", "A")]);
    assert_eq!(broken(&folder), ["b.yaml", "c.yaml"]);
    let workflows = folder.workflows();
    assert!(workflows.broken[1].to_string().contains("the name `one` is taken by"));
    assert_eq!(workflows.unknown("ones"), "there is no workflow `ones`; did you mean `one`?");
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    assert!(Folder::open("/there/is/no/such/folder").is_err());
}

#[test]
fn files_come_change_and_go() {
    let desk = Desk::new();
    desk.workflow("a.yaml", "one", "A");
    let mut folder = desk.open();
    assert!(!folder.look(), "nothing has changed");
    desk.workflow("b.yaml", "two", "B");
    assert!(folder.look());
    assert_eq!(offered(&folder), [pair("one", "A"), pair("two", "B")]);
    desk.workflow("a.yaml", "one", "C");
    assert!(folder.look(), "of the same length, but newer");
    assert_eq!(offered(&folder), [pair("one", "C"), pair("two", "B")]);
    std::fs::remove_file(desk.folder.path().join("a.yaml")).unwrap();
    assert!(folder.look());
    assert_eq!(offered(&folder), [pair("two", "B")]);
    assert!(!folder.look());
}

#[test]
fn a_file_that_breaks_gives_what_it_gave_before_and_is_named() {
    let desk = Desk::new();
    desk.workflow("a.yaml", "one", "A");
    let mut folder = desk.open();
    desk.write("a.yaml", "convoke: 1\nname: one\n");
    assert!(folder.look());
    assert_eq!(offered(&folder), [pair("one", "A")]);
    assert_eq!(broken(&folder), ["a.yaml"]);
    desk.workflow("a.yaml", "one", "B");
    assert!(folder.look());
    assert_eq!(offered(&folder), [pair("one", "B")]);
    assert!(broken(&folder).is_empty());
}

#[test]
fn a_name_that_is_free_again_is_taken_by_the_next_file() {
    let desk = Desk::new();
    desk.workflow("a.yaml", "one", "A");
    desk.workflow("b.yaml", "one", "B");
    let mut folder = desk.open();
    assert_eq!(
        (offered(&folder), broken(&folder)),
        (vec![pair("one", "A")], vec!["b.yaml".to_owned()])
    );
    std::fs::remove_file(desk.folder.path().join("a.yaml")).unwrap();
    assert!(folder.look());
    assert_eq!((offered(&folder), broken(&folder)), (vec![pair("one", "B")], vec![]));
}

#[test]
fn a_folder_that_vanishes_leaves_everything_as_it_is() {
    let desk = Desk::new();
    desk.workflow("a.yaml", "one", "A");
    let mut folder = desk.open();
    let elsewhere = desk.folder.path().with_extension("away");
    std::fs::rename(desk.folder.path(), &elsewhere).unwrap();
    assert!(folder.look());
    assert!(!folder.look(), "it is said once");
    let workflows = folder.workflows();
    assert_eq!(workflows.len(), 1);
    assert!(workflows.unreadable.unwrap().contains("cannot be read"));
    std::fs::rename(&elsewhere, desk.folder.path()).unwrap();
    assert!(folder.look());
    assert_eq!(folder.workflows().unreadable, None);
}

#[test]
fn a_lock_holds_for_the_workflow_beside_it_and_is_none_itself() {
    let desk = Desk::new();
    desk.workflow("a.yaml", "one", "A");
    let mut folder = desk.open();
    let lock = |folder: &Folder| {
        let workflows = folder.workflows();
        workflows.get("one").and_then(|it| it.lock.as_ref().map(|lock| lock.size()))
    };
    assert_eq!(lock(&folder), None);
    desk.write("a.lock.yaml", "convoke_lock: 1\nworkflow: one\nsteps: {}\nagents: {}\n");
    assert!(folder.look(), "a lock that came is a change");
    assert_eq!(offered(&folder), [pair("one", "A")]);
    assert_eq!(lock(&folder), Some((0, 0)));
    desk.write("a.lock.yaml", "convoke_lock: 1\nworkflow: two\nsteps: {}\nagents: {}\n");
    assert!(folder.look());
    assert_eq!(broken(&folder), ["a.lock.yaml"], "it is of another workflow");
    assert_eq!(lock(&folder), Some((0, 0)), "what was good stays");
    std::fs::remove_file(desk.folder.path().join("a.lock.yaml")).unwrap();
    assert!(folder.look(), "a lock that went is a change");
    assert_eq!((lock(&folder), broken(&folder)), (None, Vec::new()));
}
