import { waitUntil } from '#embedded/wait-until.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { Retention } from './retention.js';

it('names the job that failed, and runs it again', async () => {
  const lines: string[] = [];
  const retention = new Retention(new Logger('test', 'warn', { write: (line) => lines.push(line) }), new Metrics());
  retention.every(1, 'uploads', () => Promise.reject(new Error('no rights')));
  expect(await waitUntil(() => lines.length > 1, { timeoutMs: 5_000 })).toBe(true);
  retention.onModuleDestroy();
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({
    event: 'retention.failed',
    level: 'warn',
    code: 'uploads',
    error: { message: 'no rights' },
  });
});
