//! Confines a process to some folders with Landlock, if the kernel has it.
//!
//! This runs in the process that the supervisor starts, which restricts itself and then becomes the program. The
//! supervisor is not restricted, and its child cannot send signals to it.

use std::env::{self, ArgsOs};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};
use rustix::fs::Mode;
use rustix::process::umask;

use super::program::find_program;
use super::{Confinement, supervisor};

/// The name under which a program confines itself and becomes another.
pub(super) const NAME: &str = "toolwright-confined";

/// The version of Landlock whose restrictions are used. An older kernel enforces those that it has.
const VERSION: ABI = ABI::V6;

/// What programs of the system read: themselves, libraries, and facts about the machine and about themselves. Nothing
/// about other processes: root may read their environment.
const SYSTEM: &str = "/bin /lib /lib32 /lib64 /nix/store /proc/cpuinfo /proc/filesystems /proc/loadavg \
                      /proc/meminfo /proc/self /proc/stat /proc/sys /proc/uptime /proc/version /sbin \
                      /sys/devices/system /sys/fs/cgroup /sys/kernel/mm /usr";

/// What they read in `/etc`, where other files may have secrets.
const SETTINGS: &str = "alternatives ca-certificates crypto-policies fonts gai.conf group host.conf hostname \
                        hosts ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload locale.alias localtime magic \
                        mime.types nsswitch.conf os-release passwd pki/ca-trust pki/tls/cert.pem \
                        pki/tls/certs pki/tls/openssl.cnf protocols resolv.conf services ssl/cert.pem \
                        ssl/certs ssl/openssl.cnf timezone";

/// Devices without content.
const DEVICES: &str = "/dev/full /dev/null /dev/random /dev/urandom /dev/zero";

/// Whether the kernel has Landlock.
pub(super) fn is_supported() -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create).is_ok()
}

/// Returns the arguments with which the process confines itself, before the program.
pub(super) fn arguments(confinement: &Confinement) -> impl Iterator<Item = OsString> {
    let Confinement { read, write, hidden } = confinement;
    // The process starts in another folder.
    let path = |path| absolute(path).unwrap_or_default().into();
    let counts = [read.len(), write.len()].map(|count| count.to_string().into());
    counts.into_iter().chain(read.iter().chain(write).chain([hidden]).map(path))
}

fn read_arguments(arguments: &mut ArgsOs) -> Option<Confinement> {
    let mut count = || arguments.next()?.to_str()?.parse::<usize>().ok();
    let counts = (count()?, count()?);
    let mut paths = |count| arguments.by_ref().take(count).map(PathBuf::from).collect();
    let (read, write) = (paths(counts.0), paths(counts.1));
    Some(Confinement { read, write, hidden: arguments.next()?.into() })
}

/// Confines this process, and becomes the program of the arguments. Returns the exit code if it cannot.
pub(super) fn execute(mut arguments: ArgsOs) -> i32 {
    let confinement = read_arguments(&mut arguments).unwrap_or_default();
    let command: Vec<OsString> = arguments.collect();
    umask(Mode::RWXG | Mode::RWXO);
    let error = match (restrict(confinement, &command), command.split_first()) {
        (Err(error), _) => io::Error::other(error),
        (_, None) => io::ErrorKind::InvalidInput.into(),
        (_, Some((program, arguments))) => Command::new(program).args(arguments).exec(),
    };
    supervisor::report(supervisor::start_failure(error))
}

fn restrict(confinement: Confinement, command: &[OsString]) -> Result<(), RulesetError> {
    let Confinement { mut read, mut write, hidden } = confinement;
    read.extend(SYSTEM.split(' ').map(PathBuf::from));
    read.extend(SETTINGS.split(' ').map(|name| Path::new("/etc").join(name)));
    read.extend(installations(command, &hidden));
    write.extend(DEVICES.split(' ').map(PathBuf::from));
    let open = |paths: Vec<PathBuf>| {
        let paths = paths.into_iter().filter_map(|path| path.canonicalize().ok());
        paths.flat_map(|path| without(path, &hidden)).collect::<Vec<_>>()
    };
    Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .scope(Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(open(read), AccessFs::from_read(VERSION)))?
        .add_rules(path_beneath_rules(open(write), AccessFs::from_all(VERSION)))?
        .restrict_self()
        .map(drop)
}

/// Returns paths that have everything of a path but `hidden`.
fn without(path: PathBuf, hidden: &Path) -> Vec<PathBuf> {
    if !hidden.starts_with(&path) {
        return vec![path];
    }
    let is_other = |entry: &PathBuf| entry != hidden && path != hidden;
    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
    let entries = entries.map(|entry| entry.path()).filter(is_other);
    entries.flat_map(|entry| without(entry, hidden)).collect()
}

/// Returns where the programs that a command finds with `PATH` are installed. A script that is run directly also needs
/// the interpreter of its first line.
fn installations(command: &[OsString], hidden: &Path) -> Vec<PathBuf> {
    let folder = env::current_dir().unwrap_or_default();
    let script = command.first().and_then(|program| File::open(program).ok());
    let line = script.and_then(|script| BufReader::new(script).lines().next()?.ok());
    let interpreter = line.as_deref().and_then(|line| line.strip_prefix("#!")).unwrap_or_default();
    let names = command.iter().filter_map(|word| word.to_str());
    let names = names.chain(interpreter.split_ascii_whitespace());
    let programs = names
        .filter(|name| !name.contains('/'))
        .filter_map(|name| find_program(&folder, name))
        .flat_map(|program| [program.canonicalize().ok(), Some(program)]);
    programs.flatten().filter_map(|program| installation(&program, hidden)).collect()
}

/// Returns the folder above the program's `bin` folder, or that folder alone if programs of all kinds share it, or if
/// the folder above has more than programs.
fn installation(program: &Path, hidden: &Path) -> Option<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let ends_with = |path: &Path, names: &[&str]| names.iter().any(|name| path.ends_with(name));
    let folder = program.parent()?;
    let above = folder.parent().filter(|above| {
        ends_with(folder, &["bin", "sbin", "shims"]) && !ends_with(above, &[".cargo", ".local"])
    });
    let mut candidates = [above, Some(folder), Some(program)].into_iter().flatten();
    let found = candidates.find(|path| !home.starts_with(path) && !hidden.starts_with(path));
    found.map(Path::to_owned)
}
