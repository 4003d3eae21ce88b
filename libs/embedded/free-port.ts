import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the ports that Linux (32768), macOS and Windows (49152) hand out by themselves: those could be taken by any
// outgoing connection between this check and the use of the port.
const LOWEST = 20_000;
const HIGHEST = 32_000;
const TRIES = 100;

/** Whether a TCP port can be listened on at the host now. */
export async function portIsFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}

/** A free TCP port on 127.0.0.1: the preferred one when it is free. Throws when none of a hundred was free. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portIsFree(preferred))) return preferred;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await portIsFree(port)) return port;
  }
  throw new Error(`127.0.0.1 has no free TCP port between ${LOWEST} and ${HIGHEST}`);
}
