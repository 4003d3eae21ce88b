import { createServer } from 'node:net';

/** Whether a TCP port can be listened on at the host now. */
export async function portIsFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return (await listenOnce(port, host)) !== undefined;
}

/** A free TCP port on 127.0.0.1: the preferred one when it is free. */
export async function freePort(preferred?: number): Promise<number> {
  const kept = preferred === undefined ? undefined : await listenOnce(preferred, '127.0.0.1');
  const port = kept ?? (await listenOnce(0, '127.0.0.1'));
  if (port === undefined) throw new Error('127.0.0.1 has no free TCP port');
  return port;
}

function listenOnce(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : undefined);
      });
    });
  });
}
