import 'reflect-metadata';
import type { DependencyReport, ReadinessReport } from '#health/readiness.js';
import { WorkerConfig } from '../worker.config.js';
import { close, createHealthServer, listen } from './health-server.js';

const ok: DependencyReport = { state: 'ok', since: '2026-11-22T20:00:00.000Z', checked_at: '2026-11-22T20:00:05.000Z' };
const dependencies = { database: ok, migrations: ok, commits: ok, queue: ok, storage: ok };

it("answers a worker's probes on its own host alone unless it is told otherwise", async () => {
  const server = createHealthServer(() => ({ status: 'ready', reasons: [], dependencies }));
  try {
    const { address, port } = await listen(server, 0, new WorkerConfig().healthHost);
    expect(address).toBe('127.0.0.1');
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  } finally {
    close(server);
  }
});

it('section 4, 9: names what a worker is missing', async () => {
  const report: ReadinessReport = {
    status: 'not ready',
    reasons: ['database'],
    dependencies: { ...dependencies, database: { ...ok, state: 'failing' } },
  };
  const server = createHealthServer(() => report);
  try {
    const { port } = await listen(server, 0, '127.0.0.1');
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect([answer.status, await answer.json()]).toEqual([503, report]);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  } finally {
    close(server);
  }
});
