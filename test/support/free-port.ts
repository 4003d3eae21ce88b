import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { portIsFree } from '#embedded/free-port.js';

/** Below the ports that the product chooses itself, and those of outgoing connections. */
const LOWEST = 10_000;
const PORTS_PER_WORKER = 1_000;
const WORKERS = 10;

const claims = new Set<Server>();
let used = randomInt(PORTS_PER_WORKER);

afterAll(() => {
  for (const claim of claims) claim.close();
});

/**
 * A TCP port on 127.0.0.1 for a server that starts later. Each jest worker uses its own range in order, because a port
 * that is free now may be taken by another test before a process listens on it.
 */
export async function freePort(): Promise<number> {
  const first = LOWEST + (Number(process.env['JEST_WORKER_ID'] ?? '1') % WORKERS) * PORTS_PER_WORKER;
  for (let tries = 0; tries < PORTS_PER_WORKER; tries++) {
    const port = first + (used++ % PORTS_PER_WORKER);
    if ((await claim(port)) && (await portIsFree(port))) return port;
  }
  throw new Error(`127.0.0.1 has no free TCP port from ${first} on`);
}

/** Whether no other run of the tests on this machine has it, by a name that Linux frees when a process ends. */
async function claim(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const server = createServer().unref();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(`\0darkroom-test-port-${port}`, () => {
      claims.add(server);
      resolve(true);
    });
  });
}
