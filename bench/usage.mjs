import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second for every program that asks. */
const TICK_MS = 10;

/** Resident memory of a process now and at its highest, in bytes; undefined where /proc is missing. */
export function memoryOf(pid) {
  const status = read(`/proc/${pid}/status`);
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? NaN) * 1024;
  return status === undefined ? undefined : { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Processor time of a process and its children so far, in ms; undefined where /proc is missing. */
export function processorTimeOf(pid) {
  const own = statOf(pid);
  if (own === undefined) return undefined;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(statOf)
    .filter((stat) => stat?.parent === pid);
  return [own, ...children].reduce((sum, { ms }) => sum + ms, 0);
}

/** What each process used while the work ran, as shares of one core. */
export async function sharesDuring(pids, work) {
  const names = Object.keys(pids);
  const before = names.map((name) => processorTimeOf(pids[name]));
  const since = performance.now();
  const result = await work();
  const wallMs = performance.now() - since;
  const shares = names.map((name, index) => [name, (processorTimeOf(pids[name]) - before[index]) / wallMs]);
  return { ...result, shares: Object.fromEntries(shares) };
}

function statOf(pid) {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is the program's name in brackets and may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(fields[1]), ms: (Number(fields[11]) + Number(fields[12])) * TICK_MS };
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
