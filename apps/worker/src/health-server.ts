import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers an orchestrator's probes; a worker has no other door. */
export class HealthServer {
  private readonly server: Server;

  /** `check` throws with the reason when the worker cannot work. */
  constructor(check: () => Promise<void>) {
    this.server = createServer((request, response) => {
      const answer = (status: number, reason: string): void => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ status: status === 200 ? 'ok' : 'unavailable', reason }));
      };
      if (request.url === '/healthz') answer(200, 'running');
      else if (request.url !== '/readyz') answer(404, 'unknown path');
      else {
        check().then(
          () => {
            answer(200, 'ready');
          },
          (error: unknown) => {
            answer(503, error instanceof Error ? error.message : 'unknown');
          },
        );
      }
    });
    this.server.requestTimeout = 5_000;
  }

  /** Where it listens now. Rejects when the port is taken. */
  async listen(port: number, host: string): Promise<AddressInfo> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, resolve);
    });
    return this.server.address() as AddressInfo;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
