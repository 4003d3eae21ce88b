import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the ephemeral ports of Linux (32768), macOS, and Windows (49152), which any outgoing connection could take
// between this check and the use of the port.
const LOWEST = 20_000;
const HIGHEST = 32_000;
const TRIES = 100;

/** Whether a server can listen on a TCP port of the host now. */
export async function portIsFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}

/** Returns the preferred TCP port on 127.0.0.1 if it is free, else a random one. Throws after a hundred attempts. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portIsFree(preferred))) return preferred;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await portIsFree(port)) return port;
  }
  throw new Error(`127.0.0.1 has no free TCP port between ${LOWEST} and ${HIGHEST}`);
}
