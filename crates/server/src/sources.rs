//! The files of the web view: opened once, kept open as long as they are used, asked by many.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anthill_api::recent::Recent;
use anthill_api::registry::Parsed;
use anthill_api::{Definitions, Error as QuestionError, Heap, HeapOptions, Series};
use anthill_graph::Convention;
use anthill_heap::Progress;
use anthill_history::Layers;
use anthill_session::{IndexFolder, Options, Session};
use anthill_structures::Definitions as Structures;
use anthill_trace::{Point, is_trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::events::{Event, Events};
use crate::jobs::Job;
use crate::prefetch;
use crate::progress::{JobProgress, Reporter};
use crate::questions::{Question, Request};
use crate::reply::{Error, Reply};
use crate::single_flight::{Flights, Turn};

/// Heap states that stay open.
const MOST_OPEN: usize = 4;
/// Layers over time that are kept: each took a look into many states.
const MOST_LAYERS: usize = 6;
/// Answers that are kept, and how long one may be at most.
const MOST_ANSWERS: usize = 64;
const LONGEST_ANSWER: usize = 1 << 20;
/// Bytes of an answer that are handed on at once.
const BUFFER: usize = 64 << 10;

pub(crate) struct Sources {
    files: Vec<PathBuf>,
    structures: Structures,
    events: Events,
    open: Mutex<Recent<String, Heap>>,
    /// One heap is opened after the other: each takes all cores.
    opening: Mutex<()>,
    answers: Mutex<Recent<String, Arc<Vec<u8>>>>,
    layers: Mutex<Recent<String, Arc<Layers>>>,
    flights: Flights,
    /// Counts the changes of notes, which documents contain.
    pub(crate) notes: Mutex<u64>,
    status: Mutex<Vec<Status>>,
    /// What reads the files.
    reading: Vec<Arc<Job>>,
}

/// How far a file is.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
#[schemars(rename = "SourceStatus")]
pub(crate) enum Status {
    /// Others are read first.
    Waiting,
    /// It is being read.
    Reading,
    /// It can be asked about.
    Ready,
    /// It cannot be used.
    Failed {
        /// What is wrong with it.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// Reading it was cancelled.
    Cancelled,
}

/// All open files.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Sources")]
pub(crate) struct SourcesAnswer<'a> {
    /// In the order of their numbers.
    pub(crate) sources: Vec<Source<'a>>,
}

/// An open file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Source<'a> {
    /// Its number in addresses.
    id: usize,
    /// Its name without directories.
    name: String,
    /// Where it is.
    path: String,
    /// What it is.
    kind: Kind,
    /// Its length.
    bytes: u64,
    /// The job that cancels the reading.
    job: &'a str,
    #[serde(flatten)]
    status: Status,
}

/// What a file is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SourceKind")]
enum Kind {
    /// A heap dump.
    Dump,
    /// A recording.
    Recording,
}

impl Sources {
    pub(crate) fn new(files: Vec<PathBuf>, structures: Structures, events: Events) -> Arc<Self> {
        let status = vec![Status::Waiting; files.len()];
        let reading = (0..files.len()).map(|source| Job::new(format!("reading-{source}")));
        Arc::new(Sources {
            reading: reading.collect(),
            files,
            structures,
            events,
            open: Mutex::new(Recent::new(MOST_OPEN)),
            opening: Mutex::new(()),
            answers: Mutex::new(Recent::new(MOST_ANSWERS)),
            layers: Mutex::new(Recent::new(MOST_LAYERS)),
            flights: Flights::default(),
            notes: Mutex::default(),
            status: Mutex::new(status),
        })
    }

    /// How many files are open.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Opens all files one after the other, so that the first question finds its heap ready.
    pub(crate) fn read_all(self: &Arc<Self>) {
        for (source, job) in self.reading.iter().enumerate() {
            self.set(source, Status::Reading);
            let status = match self.read(source, job) {
                Ok(()) => Status::Ready,
                Err(_) if job.is_cancelled() => Status::Cancelled,
                Err(QuestionError::Unusable { reason, advice }) => {
                    Status::Failed { reason, advice }
                }
                Err(other) => Status::Failed {
                    reason: other.to_string(),
                    advice: String::new(),
                },
            };
            let is_ready = matches!(status, Status::Ready);
            self.set(source, status);
            // People look at the first file first.
            if is_ready && source == 0 {
                let sources = self.clone();
                thread::spawn(move || prefetch::run(&sources, source));
            }
        }
    }

    fn read(&self, source: usize, job: &Arc<Job>) -> Result<(), QuestionError> {
        let reporter = Reporter::new(source, self.events.clone());
        let _waiting = reporter.work_for(job);
        let heap = self.heap(&self.files[source], Options::default(), &reporter)?;
        heap.session.analysis()?;
        Ok(())
    }

    fn set(&self, source: usize, status: Status) {
        lock(&self.status)[source] = status;
        self.events.publish(Event::Sources);
    }

    fn heap(
        &self,
        file: &Path,
        options: Options,
        reporter: &Arc<Reporter>,
    ) -> Result<Heap, QuestionError> {
        let key = key_of(file, &options);
        let known = || {
            let progress = Arc::new(JobProgress(reporter.clone()));
            Some(lock(&self.open).get(&key)?.reporting_to(progress))
        };
        if let Some(heap) = known() {
            return Ok(heap);
        }
        let _one_by_one = lock(&self.opening);
        if let Some(heap) = known() {
            return Ok(heap);
        }
        let progress = Box::new(JobProgress(reporter.clone()));
        let heap = Heap::open(file, options, progress, self.structures.clone())?;
        lock(&self.open).put(key, heap.clone());
        Ok(heap)
    }

    /// What a question is about. A recording may grow: what is asked then is another question.
    fn key(&self, question: &Question) -> String {
        let lengths: Vec<u64> = self.files.iter().map(|file| length(file)).collect();
        let Question {
            source,
            name,
            options,
        } = question;
        let notes = question.document().map(|_| *lock(&self.notes));
        format!("{source} {name} {options:?} {lengths:?} {notes:?}")
    }

    /// The heap that a file has, or a state of it.
    pub(crate) fn heap_of(&self, source: usize, options: &HeapOptions) -> Result<Heap, Error> {
        let file = self
            .files
            .get(source)
            .ok_or_else(|| Error::NotFound(format!("no source {source}")))?;
        let open = options.open_at(options.point(), IndexFolder::Cache)?;
        let reporter = Reporter::new(source, self.events.clone());
        Ok(self.heap(file, open, &reporter)?)
    }

    /// Answers a question that nobody asked yet, so that whoever does need not wait.
    pub(crate) fn prefetch(&self, question: &Question) {
        // Whoever asks the same hears what went wrong.
        let _ = self.answer_or_wait(question, &Job::new(""), None);
    }

    /// Whether a question is being answered.
    pub(crate) fn is_busy(&self) -> bool {
        !self.flights.is_empty()
    }

    /// Writes the answer, piece by piece if it is large. Blocks.
    pub(crate) fn answer(
        &self,
        question: &Question,
        job: &Arc<Job>,
        reply: Reply,
    ) -> Result<(), Error> {
        self.answer_or_wait(question, job, Some(reply))
    }

    /// Answers a question, or waits for the answer if somebody asked the same before.
    fn answer_or_wait(
        &self,
        question: &Question,
        job: &Arc<Job>,
        reply: Option<Reply>,
    ) -> Result<(), Error> {
        let request = question.parse(self.len())?;
        let key = self.key(question);
        let answer = loop {
            let known = lock(&self.answers).get(&key);
            if let Some(answer) = known {
                break answer;
            }
            let reporter = || Reporter::new(question.source, self.events.clone());
            match self.flights.join(&key, job, reply.is_none(), reporter) {
                Turn::Leader(flight) => {
                    let answer = self.compute(request, job, reply, flight.reporter())?;
                    if let Some(answer) = &answer {
                        lock(&self.answers).put(key.clone(), answer.clone());
                    }
                    flight.end(answer);
                    return Ok(());
                }
                Turn::Follower(flight) => {
                    let made = flight.wait_for(job);
                    if job.is_cancelled() {
                        return Err(Error::Cancelled);
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

    /// Answers a question; returns what is kept of the answer, unless it is long.
    fn compute(
        &self,
        request: Request,
        job: &Job,
        reply: Option<Reply>,
        reporter: &Arc<Reporter>,
    ) -> Result<Option<Arc<Vec<u8>>>, Error> {
        let mut out = BufWriter::with_capacity(
            BUFFER,
            Copying {
                reply,
                copy: Vec::new(),
                reporter: reporter.clone(),
            },
        );
        let files = AskedFiles {
            sources: self,
            files: request
                .sources
                .iter()
                .map(|&n| self.files[n].clone())
                .collect(),
            heap: request.heap,
            definitions: Definitions::default(),
            reporter,
        };
        let answered = match request.parsed {
            Parsed::Heap(answer) => {
                let heap = files.open(0, files.heap.point())?;
                answer(&heap, &mut out)
            }
            Parsed::Series(answer) => answer(&files, &mut out),
            Parsed::Nothing(answer) => answer(&mut out),
        };
        let written = answered.and_then(|()| Ok(out.flush()?));
        match written {
            Ok(()) => {
                let copy = std::mem::take(&mut out.get_mut().copy);
                Ok((copy.len() <= LONGEST_ANSWER).then(|| Arc::new(copy)))
            }
            Err(_) if job.is_cancelled() => Err(Error::Cancelled),
            Err(error) => Err(error.into()),
        }
    }

    /// The files and how far they are.
    pub(crate) fn list(&self) -> SourcesAnswer<'_> {
        let status = lock(&self.status).clone();
        let sources = self.files.iter().zip(status).enumerate();
        let source = |(id, (file, status)): (usize, (&PathBuf, Status))| Source {
            id,
            name: file
                .file_name()
                .unwrap_or(file.as_os_str())
                .to_string_lossy()
                .into_owned(),
            path: file.display().to_string(),
            kind: match is_trace(file) {
                true => Kind::Recording,
                false => Kind::Dump,
            },
            bytes: length(file),
            job: &self.reading[id].name,
            status,
        };
        SourcesAnswer {
            sources: sources.map(source).collect(),
        }
    }

    /// Cancels the reading of a file; whether there is a job of that name.
    pub(crate) fn cancel(&self, job: &str) -> bool {
        let job = self.reading.iter().find(|reading| reading.name == job);
        job.inspect(|job| job.cancel()).is_some()
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

fn length(file: &Path) -> u64 {
    file.metadata().map_or(0, |facts| facts.len())
}

/// The files that a question is about, as it wants them to be read.
struct AskedFiles<'a> {
    sources: &'a Sources,
    files: Vec<PathBuf>,
    heap: HeapOptions,
    /// Questions bring their own; pages have no others.
    definitions: Definitions,
    reporter: &'a Arc<Reporter>,
}

impl Series for AskedFiles<'_> {
    fn files(&self) -> &[PathBuf] {
        &self.files
    }

    fn at(&self) -> Option<Point> {
        self.heap.point()
    }

    fn convention(&self) -> Result<Convention, QuestionError> {
        self.heap.convention()
    }

    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn open(&self, file: usize, at: Option<Point>) -> Result<Heap, QuestionError> {
        let options = self.heap.open_at(at, IndexFolder::Cache)?;
        self.sources.heap(&self.files[file], options, self.reporter)
    }

    fn open_briefly(
        &self,
        file: usize,
        at: Option<Point>,
        progress: Box<dyn Progress + Send + Sync>,
    ) -> Result<Arc<Session>, QuestionError> {
        let file = &self.files[file];
        let index = match at {
            Some(_) => IndexFolder::None,
            None => IndexFolder::Cache,
        };
        let options = self.heap.open_at(at, index)?;
        let known = lock(&self.sources.open).get(&key_of(file, &options));
        if let Some(heap) = known {
            let progress: Arc<dyn Progress + Send + Sync> = Arc::from(progress);
            return Ok(Arc::new(heap.session.reporting_to(progress)));
        }
        let session = Session::open(file, options, progress)?;
        Ok(Arc::new(
            session.with_definitions(self.sources.structures.clone()),
        ))
    }

    fn progress(&self) -> Arc<dyn Progress + Send + Sync> {
        Arc::new(JobProgress(self.reporter.clone()))
    }

    fn layers(
        &self,
        key: &str,
        make: &mut dyn FnMut() -> Result<Layers, QuestionError>,
    ) -> Result<Arc<Layers>, QuestionError> {
        let key = key.to_owned();
        if let Some(layers) = lock(&self.sources.layers).get(&key) {
            return Ok(layers);
        }
        let layers = Arc::new(make()?);
        lock(&self.sources.layers).put(key, layers.clone());
        Ok(layers)
    }
}

/// Writes an answer and keeps a copy of it, as long as it is short.
struct Copying {
    reply: Option<Reply>,
    copy: Vec<u8>,
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
        if self.copy.len() <= LONGEST_ANSWER {
            self.copy.extend_from_slice(bytes);
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
