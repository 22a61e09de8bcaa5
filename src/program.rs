//! The door to programs that are tried out or that notify: input in, everything they say out, within
//! a time limit.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// More than this is not kept of what a program prints.
const LONGEST_OUTPUT: u64 = 64 * 1024;

/// A program may leave others behind that hold its output open; they are not waited for.
const OUTPUT_LIMIT: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub struct Program {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// Variables on top of the ones cld has itself; nothing takes one away.
    pub environment: Vec<(&'static str, Option<OsString>)>,
    pub input: Vec<u8>,
    /// Where it runs, when that is not where cld does.
    pub directory: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Finished {
    /// Nothing for a program that was killed.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Program {
    pub fn new(program: impl AsRef<OsStr>, arguments: &[&str]) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: arguments.iter().map(OsString::from).collect(),
            ..Self::default()
        }
    }

    /// Runs it to its end; one that is not done in time is killed with all it has started.
    pub fn run(self, limit: Duration) -> io::Result<Finished> {
        let began = Instant::now();
        let mut child = self.command().spawn()?;
        let group = Pid::from_child(&child);
        let stdin = child.stdin.take();
        let input = self.input;
        thread::Builder::new().spawn(move || {
            // Whoever does not read all of its input has no use for the rest.
            stdin.map(|mut stdin| stdin.write_all(&input))
        })?;
        let out = read_aside(child.stdout.take())?;
        let err = read_aside(child.stderr.take())?;
        let (sender, ended) = mpsc::channel();
        thread::Builder::new().spawn(move || sender.send((child.wait(), Instant::now())))?;
        let Ok((status, end)) = ended.recv_timeout(limit) else {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
            return Err(io::ErrorKind::TimedOut.into());
        };
        Ok(Finished {
            code: status?.code(),
            out: out.recv_timeout(OUTPUT_LIMIT).unwrap_or_default(),
            err: err.recv_timeout(OUTPUT_LIMIT).unwrap_or_default(),
            took: end - began,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "this module is the door to other programs")]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).process_group(0);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn read_aside(stream: Option<impl Read + Send + 'static>) -> io::Result<Receiver<String>> {
    let (sender, read) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.map(|stream| stream.take(LONGEST_OUTPUT).read_to_end(&mut bytes));
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        read
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sh(script: &str) -> Program {
        Program::new("/bin/sh", &["-c", script])
    }

    #[test]
    fn input_output_and_exit_code_come_through() {
        let mut program = sh("cat; echo problem >&2; echo $X; exit 3");
        program.input = b"given ".to_vec();
        program.environment = vec![("X", Some("set".into()))];
        let finished = program.run(LONG).unwrap();
        assert_eq!(
            (finished.code, &*finished.out, &*finished.err),
            (Some(3), "given set\n", "problem\n")
        );
    }

    #[test]
    fn a_program_that_reads_nothing_does_not_hold_up() {
        let mut program = sh("exit 0");
        program.input = vec![b'x'; 1 << 20];
        assert_eq!(program.run(LONG).unwrap().code, Some(0));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_its_children() {
        let error = sh("sleep 1000 & sleep 1000").run(Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn what_it_leaves_running_is_not_waited_for() {
        assert_eq!(sh("echo said; sleep 5 & exit 0").run(LONG).unwrap().code, Some(0));
        assert!(Program::new("/nonexistent", &[]).run(LONG).is_err());
    }
}
