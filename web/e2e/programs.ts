// Heap dumps of real programs: a Tomcat with an application that was undeployed but not freed, a database, a search index, one
// class in several class loaders; and those of the corpus. What is missing for one is reported, and the others are made.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { compile, compileTo, dump, java, line, PROGRAM, ROOT, start } from "./setup";

const JAVA = join(ROOT, "java");
const CORPUS = process.env.ANTHILL_CORPUS ?? join(ROOT, "../shared/corpus");

/** The jars that `./x test` fetches. */
function libraries(name: string): string[] {
  const folder = join(ROOT, ".tools/lib", name);
  const jars = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith(".jar")) : [];
  if (jars.length === 0)
    console.warn(`skipped: heap dumps of java/${name}, which has no libraries in ${folder}`);
  return jars.map((jar) => join(folder, jar));
}

/** Runs a program, lets it do its work if it waits for a line, and dumps its heap. */
async function dumped(
  file: string,
  classPath: string[],
  works: boolean,
  ...program: string[]
): Promise<string> {
  const child = await start(classPath.join(delimiter), ...program);
  if (works) {
    const done = line(child, /^TURN/);
    child.stdin!.write("\n");
    await done;
  }
  dump(child, file);
  child.stdin!.end();
  return file;
}

export async function tomcat(folder: string, samples: string): Promise<string[]> {
  const jars = libraries("tomcat");
  if (jars.length === 0) return [];
  const server = join(folder, "tomcat-server");
  const application = join(folder, "tomcat-application");
  compileTo(server, [samples, ...jars], join(JAVA, "tomcat/server/anthill/samples"));
  compileTo(application, [server, samples, ...jars], join(JAVA, "tomcat/webapp/shop"));
  const options = ["threadlocal,static,hook", application, join(folder, "tomcat"), "20000"];
  const program = ["anthill.samples.LeakyTomcat", ...options];
  return [await dumped(join(folder, "tomcat.hprof"), [server, samples, ...jars], false, ...program)];
}

async function workloads(folder: string): Promise<string[]> {
  const jars = libraries("workloads");
  if (jars.length === 0) return [];
  const classes = join(folder, "workloads");
  compileTo(classes, jars, join(JAVA, "workloads/anthill/workloads"));
  const made = [];
  for (const [name, program] of [
    ["h2", "Database"],
    ["lucene", "Search"],
  ])
    made.push(
      await dumped(join(folder, `${name}.hprof`), [classes, ...jars], true, `anthill.workloads.${program}`),
    );
  return made;
}

/** Dumps of programs that are started for it, in a folder. */
export async function realDumps(folder: string): Promise<string[]> {
  const samples = join(folder, "samples");
  mkdirSync(samples);
  compile(samples);
  return [
    await dumped(join(folder, "clones.hprof"), [samples], false, "Clones"),
    ...(await tomcat(folder, samples)),
    ...(await workloads(folder)),
  ];
}

/** A recording of a database at work, if its libraries are here. */
export async function realRecording(folder: string): Promise<string | null> {
  const jars = libraries("workloads");
  if (jars.length === 0) return null;
  const file = join(folder, "h2.trace");
  const options = ["--every", "1s", "--overhead", "50%", "--contents", "--replace", "-o", file];
  const classPath = [join(folder, "workloads"), ...jars].join(delimiter);
  const program = [java("java"), "-Xmx400m", "-cp", classPath, "anthill.workloads.Database"];
  const child = spawn(PROGRAM, ["record", ...options, "--", ...program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await line(child, /^READY/);
  for (let round = 0; round < 3; round++) {
    const done = line(child, /^TURN/);
    child.stdin!.write("\n");
    await done;
  }
  child.stdin!.end();
  await new Promise((ended) => child.once("exit", ended));
  return file;
}

/** Dumps that were kept, if they are here: those of known programs, those that were a problem once, those of other projects. */
export function corpusDumps(): string[] {
  if (!existsSync(CORPUS)) {
    console.warn(`skipped: the heap dumps of the corpus, which is not in ${CORPUS}`);
    return [];
  }
  return ["", "findings", "public"].flatMap((part) =>
    readdirSync(join(CORPUS, part))
      .filter((file) => /\.(hprof|bin)\.gz$/.test(file))
      .map((file) => join(CORPUS, part, file)),
  );
}
