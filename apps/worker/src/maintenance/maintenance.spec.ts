import { waitUntil } from '#embedded/wait-until.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { Maintenance } from './maintenance.js';

it('names the job that failed, and runs it again', async () => {
  const lines: string[] = [];
  const logger = new Logger('test', 'warn', { write: (line) => lines.push(line) });
  const run = (): Promise<void> => Promise.reject(new Error('no rights'));
  const maintenance = new Maintenance({ table: [{ name: 'uploads', everyMs: 1, run }] }, logger, new Metrics());
  maintenance.onApplicationBootstrap();
  expect(await waitUntil(() => lines.length > 1, { timeoutMs: 30_000 })).toBe(true);
  maintenance.onModuleDestroy();
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({
    event: 'retention.failed',
    level: 'warn',
    code: 'uploads',
    error: { message: 'no rights' },
  });
});
