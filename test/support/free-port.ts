import { randomInt } from 'node:crypto';
import { portIsFree } from '#embedded/free-port.js';

/** Below the ports that the product chooses itself, and those of outgoing connections. */
const LOWEST = 10_000;
const PORTS_PER_WORKER = 1_000;
const WORKERS = 10;

let used = randomInt(PORTS_PER_WORKER);

/**
 * A TCP port on 127.0.0.1 for a server that starts later. Each jest worker uses its own range in order, because a port
 * that is free now may be taken by another test before a process listens on it.
 */
export async function freePort(): Promise<number> {
  const first = LOWEST + (Number(process.env['JEST_WORKER_ID'] ?? '1') % WORKERS) * PORTS_PER_WORKER;
  for (let tries = 0; tries < PORTS_PER_WORKER; tries++) {
    const port = first + (used++ % PORTS_PER_WORKER);
    if (await portIsFree(port)) return port;
  }
  throw new Error(`127.0.0.1 has no free TCP port from ${first} on`);
}
