import { median } from '../figures.mjs';

/** Tables that grow with the history, or that have many open rows. */
const LARGE = [
  'tasks',
  'charges',
  'chat_usage',
  'audit_log',
  'webhook_deliveries',
  'webhook_attempts',
  'usage_rollups',
  'grouped_usage',
  'idempotency_keys',
  'uploads',
  'sessions',
  'alert_events',
];

/**
 * Reads one row by primary key, and runs all recurring work: `times` times for the durations of its statements, as the
 * client sees them, then once more for the rows they read.
 */
export async function measureStatements(watch, works, times, tell) {
  const results = [];
  for (const [name, work] of works) {
    const byText = new Map();
    for (let time = 0; time < times; time++) {
      for (const { text, ms } of await watch.times(() => work(time))) {
        byText.set(text, [...(byText.get(text) ?? []), ms]);
      }
    }
    const readings = await watch.readings(() => work(times));
    const slowest = [...byText].map(([text, ms]) => ({ text, medianMs: median(ms), worstMs: Math.max(...ms) }));
    slowest.sort((a, b) => b.medianMs - a.medianMs);
    const nodes = readings.flatMap((reading) => reading.nodes).filter(({ table }) => LARGE.includes(table));
    const result = {
      name,
      statements: slowest.length,
      slowest: slowest[0]?.text,
      medianMs: slowest[0]?.medianMs ?? 0,
      worstMs: Math.max(0, ...slowest.map(({ worstMs }) => worstMs)),
      rows: Math.max(0, ...readings.map(({ rows }) => rows)),
      pages: Math.max(0, ...readings.map(({ pages }) => pages)),
      nodes: [...new Set(nodes.map(({ node, table }) => `${node} of ${table}`))],
      scanned: [...new Set(nodes.filter(({ node }) => node === 'Seq Scan').map(({ table }) => table))],
    };
    tell(`${name}: ${result.medianMs.toFixed(1)} ms, at most ${result.worstMs.toFixed(1)} ms`);
    results.push(result);
  }
  return results;
}
