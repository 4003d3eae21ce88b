// Preloaded by a process under test: appends each turn of its event loop that used 10 ms of CPU time or more to the file
// TURNS_FILE, as "<when it ended, in ms since the epoch> <CPU time, in ms>". Waiting for a CPU does not count.
import { appendFileSync, openSync, readSync } from 'node:fs';

const EVERY_MS = 2;
const LONG_MS = 10;
const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const bytes = Buffer.alloc(64);

function cpuMs() {
  return Number(bytes.toString('latin1', 0, readSync(schedstat, bytes, 0, bytes.length, 0)).split(' ')[0]) / 1e6;
}

let before = cpuMs();
setInterval(() => {
  const now = cpuMs();
  if (now - before >= LONG_MS) appendFileSync(process.env.TURNS_FILE, `${Date.now()} ${(now - before).toFixed(1)}\n`);
  before = now;
}, EVERY_MS).unref();
