import 'reflect-metadata';
import { Logger } from '#telemetry/logger.js';
import { HealthServer } from './health-server.js';
import { WorkerConfig } from './worker.config.js';

it("answers a worker's probes on its own host alone unless it is told otherwise", async () => {
  const server = new HealthServer({ queue: () => Promise.resolve() }, new Logger('test', 'silent'));
  try {
    const { address, port } = await server.listen(0, new WorkerConfig().healthHost);
    expect(address).toBe('127.0.0.1');
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  } finally {
    server.close();
  }
});

it('section 4, 9: names what a worker is missing, and never the error, which tells addresses', async () => {
  const database = (): Promise<void> => Promise.reject(new Error('connect ECONNREFUSED 10.1.2.3:5432'));
  const server = new HealthServer({ database, queue: () => Promise.resolve() }, new Logger('test', 'silent'));
  try {
    const { port } = await server.listen(0, '127.0.0.1');
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect([answer.status, await answer.json()]).toEqual([503, { status: 'unavailable', reasons: ['database'] }]);
  } finally {
    server.close();
  }
});
