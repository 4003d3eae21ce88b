import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '#telemetry/logger.js';

/** What a worker needs, by names that anybody may read. Each rejects when it is missing. */
export type HealthParts = Readonly<Record<string, () => Promise<void>>>;

/** Answers an orchestrator's probes; a worker has no other door. What fails is answered by name, its error is logged. */
export class HealthServer {
  private readonly server: Server;
  /** What was missing at the last probe, and is in the log. */
  private readonly told = new Set<string>();

  constructor(
    private readonly parts: HealthParts,
    private readonly logger: Logger,
  ) {
    this.server = createServer((request, response) => {
      const answer = (status: number, reasons: readonly string[]): void => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ status: status === 200 ? 'ok' : 'unavailable', reasons }));
      };
      if (request.url === '/healthz') answer(200, []);
      else if (request.url !== '/readyz') answer(404, ['unknown path']);
      else {
        void this.missing().then((missing) => answer(missing.length === 0 ? 200 : 503, missing));
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

  private async missing(): Promise<string[]> {
    const names = await Promise.all(
      Object.entries(this.parts).map(async ([name, check]) => {
        try {
          await check();
          if (this.told.delete(name)) this.logger.info('readiness.restored', { code: name });
          return undefined;
        } catch (error) {
          if (!this.told.has(name)) this.logger.warn('readiness.lost', { code: name, error });
          this.told.add(name);
          return name;
        }
      }),
    );
    return names.filter((name) => name !== undefined);
  }
}
