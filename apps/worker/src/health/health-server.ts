import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReadinessReport } from '#health/readiness.js';

/**
 * Serves an orchestrator's probes, on the only port of a worker. The response names what fails; the error is in the
 * log.
 */
export function createHealthServer(report: () => ReadinessReport): Server {
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(JSON.stringify(body));
    };
    if (request.url === '/healthz') return answer(200, { status: 'ok' });
    if (request.url !== '/readyz') return answer(404, { status: 'unknown path' });
    const body = report();
    return answer(body.status === 'ready' ? 200 : 503, body);
  });
  server.requestTimeout = 5_000;
  return server;
}

/** Resolves with the bound address. Rejects when the port is in use. */
export async function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server.address() as AddressInfo;
}

/** Stops listening and closes keep-alive connections. */
export function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}
