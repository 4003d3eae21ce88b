import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Current and peak resident memory of a process, in bytes; undefined without /proc. */
export function memoryOf(pid) {
  const status = read(`/proc/${pid}/status`);
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? NaN) * 1024;
  return status === undefined ? undefined : { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Memory of a process and its children, with shared pages counted once, in bytes; undefined without /proc. */
export function memoryOfAll(pid) {
  const children = childrenOf(pid);
  const shares = [pid, ...children].map((of) => /^Pss: +(\d+) kB/m.exec(read(`/proc/${of}/smaps_rollup`))?.[1]);
  return shares[0] === undefined ? undefined : shares.reduce((sum, share) => sum + Number(share ?? 0) * 1024, 0);
}

/** Number of open files and TCP sockets of a process, and the sockets by remote port; empty without /proc. */
export function socketsOf(pid) {
  const names = list(`/proc/${pid}/fd`);
  const inodes = new Set(
    names.flatMap((name) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${name}`))?.[1] ?? []),
  );
  const byPort = new Map();
  const seen = new Set();
  for (const line of ['tcp', 'tcp6'].flatMap((table) =>
    (read(`/proc/${pid}/net/${table}`) ?? '').split('\n').slice(1),
  )) {
    const columns = line.trim().split(/\s+/);
    const inode = columns[9];
    // The kernel may list a socket twice while others open and close.
    if (inode === undefined || !inodes.has(inode) || seen.has(inode)) continue;
    seen.add(inode);
    const port = parseInt(columns[2].split(':')[1], 16);
    byPort.set(port, (byPort.get(port) ?? 0) + 1);
  }
  return { files: names.length, sockets: seen.size, byPort };
}

/** Bytes that a process has written so far, to sockets and files; NaN without /proc. */
export function writtenBy(pid) {
  return Number(/^wchar: (\d+)$/m.exec(read(`/proc/${pid}/io`) ?? '')?.[1]);
}

function linkOf(path) {
  try {
    return readlinkSync(path);
  } catch {
    // Closed in the meantime.
    return '';
  }
}

/** CPU time of a process and its children so far, in ms; undefined without /proc. */
function processorTimeOf(pid) {
  const own = useOf(pid);
  if (own === undefined) return undefined;
  const children = childrenOf(pid).flatMap((child) => useOf(child) ?? []);
  return [own, ...children].reduce((sum, { ms }) => sum + ms, own.reapedMs);
}

/** The result of the work, and in `cpu` the CPU time of each process meanwhile, in ms. */
export async function cpuDuring(pids, work) {
  const names = Object.keys(pids);
  const before = names.map((name) => processorTimeOf(pids[name]));
  const result = await work();
  const cpu = Object.fromEntries(names.map((name, index) => [name, processorTimeOf(pids[name]) - before[index]]));
  return { ...result, cpu };
}

/** CPU time per call of a process, over all rounds, in ms. */
export function cpuPerCall(rounds, name) {
  const sum = (figure) => rounds.reduce((total, round) => total + figure(round), 0);
  return sum((round) => round.cpu[name]) / sum((round) => round.calls);
}

function childrenOf(pid) {
  return list('/proc').filter((name) => /^\d+$/.test(name) && Number(statOf(name)?.[1]) === pid);
}

function useOf(pid) {
  const fields = statOf(pid);
  if (fields === undefined) return undefined;
  // Of ended children, such as Postgres' vacuum workers; always in hundredths of a second.
  const reapedMs = (Number(fields[13]) + Number(fields[14])) * 10;
  const threads = list(`/proc/${pid}/task`);
  // In nanoseconds; the hundredths of a second in `stat` miss most of the time of short queries.
  const used = threads.map((thread) => Number(read(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0] ?? 0));
  return { reapedMs, ms: used.reduce((sum, value) => sum + value, 0) / 1e6 };
}

/** The fields of /proc/<pid>/stat from the process state on; undefined when the process is gone. */
function statOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses and may contain anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function list(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
