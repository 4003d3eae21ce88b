import 'reflect-metadata';
import { HealthServer } from './health-server.js';
import { WorkerConfig } from './worker.config.js';

it("answers a worker's probes on its own host alone unless it is told otherwise", async () => {
  const server = new HealthServer(() => Promise.resolve());
  try {
    const { address, port } = await server.listen(0, new WorkerConfig().healthHost);
    expect(address).toBe('127.0.0.1');
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  } finally {
    server.close();
  }
});
