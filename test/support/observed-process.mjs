// Preloaded by a process under test (process-probe.ts): measures from inside what it does and holds, for each connection
// to a socket in PROBE_FOLDER, from its beginning until the other side ends.
import { openSync, readSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const TURN_MS = 2;
const MEMORY_MS = 200;
/** A megabyte of plain JSON: what parsing it takes is the measure of a turn, on whatever machine. */
const ROWS = JSON.stringify(
  Array.from({ length: 8_000 }, (_, n) => ({
    prompt: `picture ${n} of a house by the sea, in oil`,
    n,
    size: '1024x1024',
  })),
).slice(0, -1);
const MEGABYTE = `${ROWS}${',{"prompt":"one more"}'.repeat(Math.ceil((1_000_000 - ROWS.length) / 22))}]`;
const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const bytes = Buffer.alloc(64);
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** CPU time of the event loop so far, in ms; waiting for a CPU does not count. */
function cpuMs() {
  return Number(bytes.toString('latin1', 0, readSync(schedstat, bytes, 0, bytes.length, 0)).split(' ')[0]) / 1e6;
}

/** What the same CPU needs for a megabyte of plain JSON right now, in ms. Ten, as the system counts in steps of 4 ms. */
function unitMs() {
  const before = cpuMs();
  for (let n = 0; n < 10; n++) JSON.parse(MEGABYTE);
  return (cpuMs() - before) / 10;
}

/**
 * Bytes that are in use: what waits for the garbage collector depends on the machine. The second collection first
 * finishes the first one, which frees buffers in the background.
 */
function liveBytes() {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

class Observation {
  longestTurn = 0;
  longestTurnMs = 0;
  #unit = unitMs();
  #first = liveBytes();
  #last = this.#first;
  #peak = this.#first;
  #before = cpuMs();
  #turns = setInterval(() => this.#endTurn(), TURN_MS).unref();
  #memory = setTimeout(() => this.#lookAtMemory(), MEMORY_MS).unref();

  #endTurn() {
    const ms = cpuMs() - this.#before;
    this.longestTurnMs = Math.max(this.longestTurnMs, ms);
    if (ms / this.#unit > this.longestTurn) {
      this.#unit = unitMs();
      this.longestTurn = Math.max(this.longestTurn, ms / this.#unit);
    }
    this.#before = cpuMs();
  }

  #lookAtMemory() {
    this.#endTurn();
    const began = performance.now();
    this.#last = liveBytes();
    this.#peak = Math.max(this.#peak, this.#last);
    this.#before = cpuMs();
    // Looking must not become what the process mostly does.
    const pause = Math.max(MEMORY_MS, 4 * (performance.now() - began));
    this.#memory = setTimeout(() => this.#lookAtMemory(), pause).unref();
  }

  end() {
    this.stop();
    this.#lookAtMemory();
    this.stop();
    const { longestTurn, longestTurnMs } = this;
    const [liveMb, grownMb, nowMb] = [this.#last, this.#peak - this.#first, this.#last - this.#first].map(
      (n) => n / 1e6,
    );
    return { longestTurn, longestTurnMs, liveMb, grownMb, nowMb };
  }

  stop() {
    clearInterval(this.#turns);
    clearTimeout(this.#memory);
  }
}

function observe(socket) {
  const observation = new Observation();
  socket.on('error', () => undefined).on('close', () => observation.stop());
  socket.on('end', () => socket.end(`${JSON.stringify(observation.end())}\n`)).resume();
  socket.unref().write('observing\n');
}

if (isMainThread) {
  const path = join(process.env.PROBE_FOLDER, `${process.pid}.sock`);
  createServer({ allowHalfOpen: true }, observe).listen(path).unref();
}
