// Watches a process from outside, with its own event loop: node process-watcher.mjs <url> <pid>; ends with its stdin.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

const [url, pid] = process.argv.slice(2);
const PAUSE_MS = 20;
const agent = new Agent({ keepAlive: true });

function residentMb() {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1e6;
}

/** CPU time of its event loop so far, in ms; waiting for a CPU does not count. */
function loopMs() {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** Calls `GET /healthz`; returns the CPU time of the event loop until the response, in ms. */
function ask() {
  return new Promise((resolve, reject) => {
    const before = loopMs();
    const call = request(`${url}/healthz`, { agent, timeout: 60_000 }, (answer) => {
      answer.resume().on('end', () => resolve(loopMs() - before));
    });
    call.on('timeout', () => call.destroy(new Error('GET /healthz was not answered within 60 s')));
    call.on('error', reject).end();
  });
}

const before = residentMb();
const seen = { longestLoopMs: 0, peakMb: before };
let over = false;
process.stdin.on('end', () => (over = true)).resume();
await ask();
process.stdout.write('watching\n');
while (!over) {
  seen.longestLoopMs = Math.max(seen.longestLoopMs, await ask());
  seen.peakMb = Math.max(seen.peakMb, residentMb());
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
process.stdout.write(`${JSON.stringify({ ...seen, grownMb: seen.peakMb - before, nowMb: residentMb() - before })}\n`);
agent.destroy();
