import { readdirSync, readFileSync } from 'node:fs';

/** Resident memory of a process now and at its highest, in bytes; undefined where /proc is missing. */
export function memoryOf(pid) {
  const status = read(`/proc/${pid}/status`);
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? NaN) * 1024;
  return status === undefined ? undefined : { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Processor time of a process and its children so far, in ms; undefined where /proc is missing. */
function processorTimeOf(pid) {
  const own = useOf(pid);
  if (own === undefined) return undefined;
  const children = list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(useOf)
    .filter((use) => use?.parent === pid);
  return [own, ...children].reduce((sum, { ms }) => sum + ms, own.reapedMs);
}

/** The result of the work, and in `cpu` what each process used meanwhile, in ms. */
export async function cpuDuring(pids, work) {
  const names = Object.keys(pids);
  const before = names.map((name) => processorTimeOf(pids[name]));
  const result = await work();
  const cpu = Object.fromEntries(names.map((name, index) => [name, processorTimeOf(pids[name]) - before[index]]));
  return { ...result, cpu };
}

/** Processor time that a call cost a process, over all rounds, in ms. */
export function cpuPerCall(rounds, name) {
  const sum = (figure) => rounds.reduce((total, round) => total + figure(round), 0);
  return sum((round) => round.cpu[name]) / sum((round) => round.calls);
}

function useOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in brackets and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const parent = Number(fields[1]);
  // Of children that have ended, such as Postgres' vacuum workers; in hundredths of a second everywhere.
  const reapedMs = (Number(fields[13]) + Number(fields[14])) * 10;
  const threads = list(`/proc/${pid}/task`);
  // In nanoseconds; the hundredths of a second of `stat` miss most of what short queries use.
  const used = threads.map((thread) => Number(read(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0] ?? 0));
  return { parent, reapedMs, ms: used.reduce((sum, value) => sum + value, 0) / 1e6 };
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
