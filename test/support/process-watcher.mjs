// Watches a process from outside, in a loop of its own: node process-watcher.mjs <url> <pid>; ends with its input.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

const [url, pid] = process.argv.slice(2);
const PAUSE_MS = 20;
const agent = new Agent({ keepAlive: true });

function residentMb() {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1e6;
}

/** How long `GET /healthz` takes, in ms. */
function ask() {
  return new Promise((resolve) => {
    const start = performance.now();
    const end = () => resolve(performance.now() - start);
    const call = request(`${url}/healthz`, { agent }, (answer) => answer.resume().on('end', end));
    call.on('error', end).end();
  });
}

const before = residentMb();
const seen = { longestMs: 0, ownDelayMs: 0, peakMb: before };
let over = false;
process.stdin.on('end', () => (over = true)).resume();
await ask();
process.stdout.write('watching\n');
while (!over) {
  seen.longestMs = Math.max(seen.longestMs, await ask());
  seen.peakMb = Math.max(seen.peakMb, residentMb());
  const start = performance.now();
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  // What this machine lets a process wait that does nothing else.
  seen.ownDelayMs = Math.max(seen.ownDelayMs, performance.now() - start - PAUSE_MS);
}
process.stdout.write(`${JSON.stringify({ ...seen, grownMb: seen.peakMb - before, nowMb: residentMb() - before })}\n`);
agent.destroy();
