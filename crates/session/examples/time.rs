use anthill_graph::*;
use anthill_heap::Quiet;
use std::time::Instant;
static PEAK: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
fn anon() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .find(|l| l.starts_with("RssAnon"))
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}
fn peak(what: &str) {
    eprintln!(
        "   peak in {what}: {} MB, now {}",
        PEAK.swap(0, std::sync::atomic::Ordering::Relaxed) / 1024,
        anon() / 1024
    );
}
fn main() {
    std::thread::spawn(|| {
        loop {
            PEAK.fetch_max(anon(), std::sync::atomic::Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    });
    let path = std::env::args().nth(1).unwrap();
    let t = Instant::now();
    let dump = anthill_hprof::Dump::open(path.as_ref(), None, &Quiet).unwrap();
    eprintln!(
        "load {:?} objects {} refs {} classes {} roots {}",
        t.elapsed(),
        dump.state.len(),
        dump.state.columns.references.len(),
        dump.state.classes().len(),
        dump.state.tables.roots.len()
    );
    eprintln!("{}", dump.state.tables.layout);
    for m in &dump.state.tables.missing {
        eprintln!("{m:?}");
    }
    for m in &dump.state.tables.assumed {
        eprintln!("{m:?}");
    }
    peak("load");
    let t = Instant::now();
    let sizes = dump.state.tables.sizes.as_ref().unwrap();
    let g = Graph::new(&dump.state, sizes, Convention::DEFAULT);
    eprintln!("graph {:?}", t.elapsed());
    let t = Instant::now();
    let d = DepthFirst::new(&g, &Quiet).unwrap();
    eprintln!(
        "dfs {:?} nodes {} leaves {}",
        t.elapsed(),
        d.len(),
        d.leaves.count()
    );
    peak("dfs");
    let t = Instant::now();
    let goc: Vec<Vec<u32>> = (0..dump.state.classes().len() as u32)
        .map(|c| vec![c])
        .collect();
    let tot = retained_by_groups(&g, &d, &goc, goc.len(), &Quiet).unwrap();
    eprintln!("groups {:?}", t.elapsed());
    peak("groups");
    let t = Instant::now();
    let _dom = Dominators::new(&g, d, &Quiet).unwrap();
    eprintln!("dominators {:?}", t.elapsed());
    peak("dom");
    let mut v: Vec<_> = tot.iter().enumerate().collect();
    v.sort_by_key(|x| std::cmp::Reverse(x.1.bytes));
    for (c, t) in v.iter().take(8) {
        eprintln!(
            "{:60} {:12} {:12}",
            dump.state.classes()[*c].name,
            t.objects,
            t.bytes
        );
    }
    eprintln!(
        "{}",
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .filter(|l| l.starts_with("VmHWM") || l.starts_with("RssAnon"))
            .collect::<Vec<_>>()
            .join(" ")
    );
}
