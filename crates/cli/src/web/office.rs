//! The files of the web view: opened once, kept open as long as they are used, asked by many.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anthill_classify::Tree;
use anthill_heap::Progress;
use anthill_server::{Answers, Board, Event, Job, Question, Refusal, Reply};
use anthill_session::{IndexFolder, Layers, Options, Session};
use anthill_structures::Definitions;
use anthill_trace::{Point, is_trace};
use serde::Serialize;

use super::description;
use super::question;
use super::recent::Recent;
use super::reporter::{Reporter, Reporting, Working};
use crate::failure::Failure;

/// Heap states that stay open, and trees of each.
const MOST_OPEN: usize = 4;
const MOST_TREES: usize = 6;
/// Layers over time that are kept: each took a look into many states.
const MOST_LAYERS: usize = 6;
/// Answers that are kept, and how long one may be at most.
const MOST_ANSWERS: usize = 64;
const LONGEST_ANSWER: usize = 1 << 20;

pub type Trees = Mutex<Recent<String, Arc<Tree>>>;

pub struct Office {
    files: Vec<PathBuf>,
    definitions: Definitions,
    board: Board,
    open: Mutex<Recent<String, Arc<OpenHeap>>>,
    /// One heap is opened after the other: each takes all cores.
    opening: Mutex<()>,
    answers: Mutex<Recent<String, Arc<Vec<u8>>>>,
    layers: Mutex<Recent<String, Arc<Layers>>>,
    status: Mutex<Vec<Status>>,
    /// What reads the files.
    reading: Vec<Arc<Job>>,
}

/// A heap that is open.
pub struct OpenHeap {
    pub session: Arc<Session>,
    pub trees: Arc<Trees>,
    reporter: Arc<Reporter>,
}

#[derive(Clone, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Status {
    Waiting,
    Reading,
    Ready,
    Failed { reason: String, advice: String },
    Cancelled,
}

#[derive(Serialize)]
struct SourceJson<'a> {
    id: usize,
    name: String,
    path: String,
    kind: &'a str,
    bytes: u64,
    /// Cancels the reading.
    job: &'a str,
    #[serde(flatten)]
    status: Status,
}

impl Office {
    pub fn new(files: Vec<PathBuf>, definitions: Definitions, board: Board) -> Arc<Self> {
        let status = vec![Status::Waiting; files.len()];
        let reading = (0..files.len()).map(|source| Job::new(format!("reading-{source}")));
        Arc::new(Office {
            reading: reading.collect(),
            files,
            definitions,
            board,
            open: Mutex::new(Recent::new(MOST_OPEN)),
            opening: Mutex::new(()),
            answers: Mutex::new(Recent::new(MOST_ANSWERS)),
            layers: Mutex::new(Recent::new(MOST_LAYERS)),
            status: Mutex::new(status),
        })
    }

    pub fn file(&self, source: usize) -> Option<&Path> {
        self.files.get(source).map(PathBuf::as_path)
    }

    /// Opens all files one after the other, so that the first question finds its heap ready.
    pub fn read_all(self: &Arc<Self>) {
        for (source, job) in self.reading.iter().enumerate() {
            self.set(source, Status::Reading);
            let status = match self.read(source, job) {
                Ok(()) => Status::Ready,
                Err(_) if job.is_cancelled() => Status::Cancelled,
                Err(Failure::Unusable { reason, advice }) => Status::Failed { reason, advice },
                Err(_) => Status::Failed {
                    reason: "it could not be opened".to_owned(),
                    advice: String::new(),
                },
            };
            self.set(source, status);
        }
    }

    fn read(&self, source: usize, job: &Arc<Job>) -> Result<(), Failure> {
        let heap = self.heap(source, &self.files[source], Options::default(), job)?;
        let _working = heap.reporter.work_for(job);
        heap.session.analysis()?;
        Ok(())
    }

    fn set(&self, source: usize, status: Status) {
        lock(&self.status)[source] = status;
        self.board.put(Event::Sources);
    }

    fn heap(
        &self,
        source: usize,
        file: &Path,
        options: Options,
        job: &Arc<Job>,
    ) -> Result<Arc<OpenHeap>, Failure> {
        let key = key_of(file, &options);
        let known = || lock(&self.open).get(&key);
        if let Some(heap) = known() {
            return Ok(heap);
        }
        let _one_by_one = lock(&self.opening);
        if let Some(heap) = known() {
            return Ok(heap);
        }
        let reporter = Reporter::new(source, self.board.clone());
        let _working = reporter.work_for(job);
        let session = Session::open(file, options, Box::new(Reporting(reporter.clone())))?;
        let heap = Arc::new(OpenHeap {
            session: Arc::new(session.with_definitions(self.definitions.clone())),
            trees: Arc::new(Mutex::new(Recent::new(MOST_TREES))),
            reporter,
        });
        lock(&self.open).put(key, heap.clone());
        Ok(heap)
    }
}

/// What makes it another heap. Which state a point stands for changes while a recording grows,
/// except for numbers of states.
fn key_of(file: &Path, options: &Options) -> String {
    let point = match &options.at {
        Some(Point::State(number)) => format!("#{number}"),
        point => format!("{point:?} of {}", length(file)),
    };
    format!(
        "{} {point} {:?} {}",
        file.display(),
        options.dump,
        options.convention
    )
}

impl Answers for Office {
    fn sources(&self) -> Vec<u8> {
        let status = lock(&self.status).clone();
        let sources = self.files.iter().zip(status).enumerate();
        let sources: Vec<SourceJson> = sources
            .map(|(id, (file, status))| SourceJson {
                id,
                name: file
                    .file_name()
                    .unwrap_or(file.as_os_str())
                    .to_string_lossy()
                    .into_owned(),
                path: file.display().to_string(),
                kind: if is_trace(file) { "recording" } else { "dump" },
                bytes: length(file),
                job: &self.reading[id].name,
                status,
            })
            .collect();
        serde_json::to_vec(&serde_json::json!({ "sources": sources })).unwrap_or_default()
    }

    fn cancel(&self, job: &str) -> bool {
        let job = self.reading.iter().find(|reading| reading.name == job);
        job.inspect(|job| job.cancel()).is_some()
    }

    fn description(&self) -> Vec<u8> {
        serde_json::to_vec(&description::openapi()).unwrap_or_default()
    }

    fn answer(
        self: Arc<Self>,
        question: &Question,
        job: &Arc<Job>,
        mut reply: Reply,
    ) -> Result<(), Refusal> {
        // A recording may grow: what is asked then is another question.
        let lengths: Vec<u64> = self.files.iter().map(|file| length(file)).collect();
        let key = format!(
            "{} {} {:?} {lengths:?}",
            question.source, question.command, question.options
        );
        let known = lock(&self.answers).get(&key);
        if let Some(answer) = known {
            // Whoever went away does not miss it.
            let _ = reply.write_all(&answer);
            return Ok(());
        }
        let request = Arc::new(Request {
            office: self.clone(),
            source: question.source,
            job: job.clone(),
            working: Mutex::default(),
            reply: Mutex::new(Some(reply)),
            copy: Arc::default(),
        });
        match question::answer(&self, question, &request) {
            Ok(()) => {
                let copy = std::mem::take(&mut *lock(&request.copy));
                if copy.len() <= LONGEST_ANSWER {
                    lock(&self.answers).put(key, Arc::new(copy));
                }
                Ok(())
            }
            Err(_) if job.is_cancelled() => Err(Refusal::Cancelled),
            Err(failure) => Err(refusal(failure)),
        }
    }
}

fn length(file: &Path) -> u64 {
    file.metadata().map_or(0, |facts| facts.len())
}

fn refusal(failure: Failure) -> Refusal {
    match failure {
        Failure::Unusable { reason, advice } => Refusal::Unusable {
            message: reason,
            advice,
        },
        Failure::NothingFound(what) | Failure::Findings(what) => Refusal::NothingFound(what),
        Failure::Output(error) => Refusal::Failed(error.to_string()),
        Failure::Program(code) => Refusal::Failed(format!("a program ended with code {code}")),
    }
}

/// A question that is being answered.
pub struct Request {
    office: Arc<Office>,
    source: usize,
    job: Arc<Job>,
    /// The heaps that are worked on for it.
    working: Mutex<Vec<Working>>,
    reply: Mutex<Option<Reply>>,
    copy: Arc<Mutex<Vec<u8>>>,
}

impl Request {
    pub fn open(&self, file: &Path, options: Options) -> Result<Arc<OpenHeap>, Failure> {
        let options = Options {
            index: IndexFolder::Cache,
            ..options
        };
        let heap = self.office.heap(self.source, file, options, &self.job)?;
        lock(&self.working).push(heap.reporter.work_for(&self.job));
        Ok(heap)
    }

    /// A heap for a short look: one that is open, or one that does not stay so.
    pub fn glance(
        &self,
        file: &Path,
        options: Options,
        progress: Box<dyn Progress + Send>,
    ) -> Result<Arc<Session>, Failure> {
        let known = lock(&self.office.open).get(&key_of(file, &options));
        if let Some(heap) = known {
            lock(&self.working).push(heap.reporter.work_for(&self.job));
            return Ok(heap.session.clone());
        }
        let session = Session::open(file, options, progress)?;
        Ok(Arc::new(
            session.with_definitions(self.office.definitions.clone()),
        ))
    }

    /// Progress of work for this request that is about several heaps.
    pub fn progress(&self) -> Arc<Reporting> {
        let reporter = Reporter::new(self.source, self.office.board.clone());
        lock(&self.working).push(reporter.work_for(&self.job));
        Arc::new(Reporting(reporter))
    }

    /// Layers over time: those that were kept under this key, or new ones.
    pub fn layers(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Layers, Failure>,
    ) -> Result<Arc<Layers>, Failure> {
        let key = key.to_owned();
        if let Some(layers) = lock(&self.office.layers).get(&key) {
            return Ok(layers);
        }
        let layers = Arc::new(make()?);
        lock(&self.office.layers).put(key, layers.clone());
        Ok(layers)
    }

    /// Where the answer is written to; there is one answer.
    pub fn reply(&self) -> impl Write + use<> {
        Copying {
            reply: lock(&self.reply).take(),
            copy: self.copy.clone(),
        }
    }
}

/// Writes an answer and keeps a copy of it, as long as it is short.
struct Copying {
    reply: Option<Reply>,
    copy: Arc<Mutex<Vec<u8>>>,
}

impl Write for Copying {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut copy = lock(&self.copy);
        if copy.len() <= LONGEST_ANSWER {
            copy.extend_from_slice(bytes);
        }
        match &mut self.reply {
            Some(reply) => reply.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.reply.as_mut().map_or(Ok(()), Reply::flush)
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
