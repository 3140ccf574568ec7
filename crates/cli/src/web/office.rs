//! The files of the web view: opened once, kept open as long as they are used, asked by many.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anthill_classify::Tree;
use anthill_heap::{Progress, Shared};
use anthill_server::{Answers, Board, Event, Job, Question, Refusal, Reply};
use anthill_session::{IndexFolder, Layers, Options, Session};
use anthill_structures::Definitions;
use anthill_trace::{Point, is_trace};
use serde::Serialize;

use super::ahead;
use super::description;
use super::making::{Makings, Turn};
use super::question;
use super::recent::Recent;
use super::reporter::{Reporter, Reporting};
use crate::failure::Failure;

/// Heap states that stay open, and trees of each.
const MOST_OPEN: usize = 4;
const MOST_TREES: usize = 6;
/// Layers over time that are kept: each took a look into many states.
const MOST_LAYERS: usize = 6;
/// Answers that are kept, and how long one may be at most.
const MOST_ANSWERS: usize = 64;
const LONGEST_ANSWER: usize = 1 << 20;

pub type Trees = Mutex<Recent<String, Arc<Shared<Arc<Tree>>>>>;

pub struct Office {
    files: Vec<PathBuf>,
    definitions: Definitions,
    board: Board,
    open: Mutex<Recent<String, OpenHeap>>,
    /// One heap is opened after the other: each takes all cores.
    opening: Mutex<()>,
    answers: Mutex<Recent<String, Arc<Vec<u8>>>>,
    layers: Mutex<Recent<String, Arc<Layers>>>,
    making: Makings,
    status: Mutex<Vec<Status>>,
    /// What reads the files.
    reading: Vec<Arc<Job>>,
}

/// A heap that is open.
#[derive(Clone)]
pub struct OpenHeap {
    pub session: Arc<Session>,
    pub trees: Arc<Trees>,
}

impl OpenHeap {
    /// The same for those who listen to a reporter.
    fn reporting_to(&self, reporter: &Arc<Reporter>) -> Self {
        let progress = Arc::new(Reporting(reporter.clone()));
        OpenHeap {
            session: Arc::new(self.session.reporting_to(progress)),
            trees: self.trees.clone(),
        }
    }
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
            making: Makings::default(),
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
            let is_ready = matches!(status, Status::Ready);
            self.set(source, status);
            // People look at the first file first.
            if is_ready && source == 0 {
                let office = self.clone();
                thread::spawn(move || ahead::prepare(&office, source));
            }
        }
    }

    fn read(&self, source: usize, job: &Arc<Job>) -> Result<(), Failure> {
        let reporter = Reporter::new(source, self.board.clone());
        let _working = reporter.work_for(job);
        let heap = self.heap(&self.files[source], Options::default(), &reporter)?;
        heap.session.analysis()?;
        Ok(())
    }

    fn set(&self, source: usize, status: Status) {
        lock(&self.status)[source] = status;
        self.board.put(Event::Sources);
    }

    fn heap(
        &self,
        file: &Path,
        options: Options,
        reporter: &Arc<Reporter>,
    ) -> Result<OpenHeap, Failure> {
        let key = key_of(file, &options);
        let known = || Some(lock(&self.open).get(&key)?.reporting_to(reporter));
        if let Some(heap) = known() {
            return Ok(heap);
        }
        let _one_by_one = lock(&self.opening);
        if let Some(heap) = known() {
            return Ok(heap);
        }
        let session = Session::open(file, options, Box::new(Reporting(reporter.clone())))?;
        let heap = OpenHeap {
            session: Arc::new(session.with_definitions(self.definitions.clone())),
            trees: Arc::new(Mutex::new(Recent::new(MOST_TREES))),
        };
        lock(&self.open).put(key, heap.clone());
        Ok(heap)
    }

    /// What a question is about. A recording may grow: what is asked then is another question.
    fn key(&self, question: &Question) -> String {
        let lengths: Vec<u64> = self.files.iter().map(|file| length(file)).collect();
        let Question {
            source,
            command,
            options,
        } = question;
        format!("{source} {command} {options:?} {lengths:?}")
    }

    /// Answers a question that nobody asked yet, so that whoever does need not wait.
    pub fn prepare(self: &Arc<Self>, question: &Question) {
        let job = Job::new("");
        // Whoever asks the same hears what went wrong.
        let _ = self.tell(question, &job, None);
    }

    /// Whether a question is being answered.
    pub fn is_busy(&self) -> bool {
        !self.making.is_empty()
    }

    /// Answers a question, or waits for the answer if somebody asked the same before.
    fn tell(
        self: &Arc<Self>,
        question: &Question,
        job: &Arc<Job>,
        reply: Option<Reply>,
    ) -> Result<(), Refusal> {
        let key = self.key(question);
        let answer = loop {
            let known = lock(&self.answers).get(&key);
            if let Some(answer) = known {
                break answer;
            }
            let reporter = || Reporter::new(question.source, self.board.clone());
            match self.making.begin(&key, job, reply.is_none(), reporter) {
                Turn::Mine(making) => {
                    let answer = self.make(question, job, reply, making.reporter())?;
                    if let Some(answer) = &answer {
                        lock(&self.answers).put(key.clone(), answer.clone());
                    }
                    making.end(answer);
                    return Ok(());
                }
                Turn::Others(making) => {
                    let made = making.wait_for(job);
                    if job.is_cancelled() {
                        return Err(Refusal::Cancelled);
                    }
                    // Otherwise it went wrong, or is too long to be kept.
                    if let Some(answer) = made {
                        break answer;
                    }
                }
            }
        };
        if let Some(mut reply) = reply {
            // Whoever went away does not miss it.
            let _ = reply.write_all(&answer);
        }
        Ok(())
    }

    /// Answers a question; what is kept of the answer, unless it is long.
    fn make(
        self: &Arc<Self>,
        question: &Question,
        job: &Arc<Job>,
        reply: Option<Reply>,
        reporter: &Arc<Reporter>,
    ) -> Result<Option<Arc<Vec<u8>>>, Refusal> {
        let request = Arc::new(Request {
            office: self.clone(),
            reporter: reporter.clone(),
            reply: Mutex::new(reply),
            copy: Arc::default(),
        });
        match question::answer(self, question, &request) {
            Ok(()) => {
                let copy = std::mem::take(&mut *lock(&request.copy));
                Ok((copy.len() <= LONGEST_ANSWER).then(|| Arc::new(copy)))
            }
            Err(_) if job.is_cancelled() => Err(Refusal::Cancelled),
            Err(failure) => Err(refusal(failure)),
        }
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
        reply: Reply,
    ) -> Result<(), Refusal> {
        self.tell(question, job, Some(reply))
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
    reporter: Arc<Reporter>,
    /// Nobody may want to know yet.
    reply: Mutex<Option<Reply>>,
    copy: Arc<Mutex<Vec<u8>>>,
}

impl Request {
    pub fn open(&self, file: &Path, options: Options) -> Result<OpenHeap, Failure> {
        let options = Options {
            index: IndexFolder::Cache,
            ..options
        };
        self.office.heap(file, options, &self.reporter)
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
            let progress = Arc::from(progress);
            return Ok(Arc::new(heap.session.reporting_to(progress)));
        }
        let session = Session::open(file, options, progress)?;
        Ok(Arc::new(
            session.with_definitions(self.office.definitions.clone()),
        ))
    }

    /// Progress of work for this request that is about several heaps.
    pub fn progress(&self) -> Arc<Reporting> {
        Arc::new(Reporting(self.reporter.clone()))
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
            reporter: self.reporter.clone(),
        }
    }
}

/// Writes an answer and keeps a copy of it, as long as it is short.
struct Copying {
    reply: Option<Reply>,
    copy: Arc<Mutex<Vec<u8>>>,
    reporter: Arc<Reporter>,
}

impl Copying {
    /// Whoever asked first may have gone away while others still wait for the same answer.
    fn unless_others_wait(&mut self, written: io::Result<()>) -> io::Result<()> {
        match written {
            Err(_) if self.reporter.is_wanted() => {
                self.reply = None;
                Ok(())
            }
            written => written,
        }
    }
}

impl Write for Copying {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        {
            let mut copy = lock(&self.copy);
            if copy.len() <= LONGEST_ANSWER {
                copy.extend_from_slice(bytes);
            }
        }
        let reply = self.reply.as_mut();
        let written = reply.map_or(Ok(()), |reply| reply.write_all(bytes));
        self.unless_others_wait(written)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.reply.as_mut().map_or(Ok(()), Reply::flush);
        self.unless_others_wait(flushed)
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
