// npm run bench [-- name ...] [--quick] [--record] [--profile] [--tasks 4000000] [--setup]; docs/benchmarks.md
// describes the measures and how to read them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Load } from './load.mjs';
import { machine } from './machine.mjs';
import { record, tableOf } from './report.mjs';
import { RESULTS, Stage } from './stage.mjs';

const NAMES = [
  'sync-call',
  'round-trips',
  'throughput',
  'fairness',
  'polls',
  'chat',
  'responses',
  'agent-handles',
  'waiting-callers',
  'many-callers',
  'large-results',
  'backlog',
  'worker-memory',
  'idle-memory',
  'image-part',
  'images',
  'start-up',
  'traces',
];
/** Only by name: they take long, fill four million rows, or install other gateways. */
const LONG = ['batches', 'history', 'retention', 'peers'];

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    record: { type: 'boolean' },
    profile: { type: 'boolean' },
    tasks: { type: 'string' },
    setup: { type: 'boolean' },
  },
});
const known = [...NAMES, ...LONG];
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no measure ${unknown.join(', ')}; there are ${known.join(', ')}.\n`);
  process.exit(1);
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop.abort(new Error('interrupted')));
const tasks = flags.tasks === undefined ? undefined : Number(flags.tasks);
const tell = (line) => process.stderr.write(`${line}\n`);

try {
  if (flags.setup) await (await import('./peers/sides.mjs')).installPeers(tell);
  else await run(positionals.length > 0 ? known.filter((name) => positionals.includes(name)) : NAMES);
} catch (error) {
  tell(error.name === 'SetupError' || stop.signal.aborted ? error.message : error.stack);
  // A failed measure may have left one of its servers open.
  process.exit(1);
}

async function run(names) {
  const since = performance.now();
  const stage = await Stage.open({ profile: flags.profile, tell, signal: stop.signal });
  const load = new Load();
  const interrupted = new Promise((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason));
  });
  const measured = [];
  const report = { quick: flags.quick === true };
  try {
    Object.assign(report, await machine(stage));
    for (const name of names) {
      tell(`Measuring ${name} ...`);
      const { title, measure } = await import(`./measures/${name}.mjs`);
      const result = await Promise.race([
        measure({ stage, load, quick: flags.quick === true, tasks, tell }),
        interrupted,
      ]);
      measured.push({ name, title, ...result });
      process.stdout.write(`\n${tableOf(measured.at(-1))}\n`);
    }
  } finally {
    report.tookSeconds = Math.round((performance.now() - since) / 1000);
    load.close();
    await stage.close();
    // Also keeps what was measured before a failure.
    if (measured.length > 0) await keep(report, measured);
  }
}

async function keep(report, measured) {
  mkdirSync(RESULTS, { recursive: true });
  const file = join(RESULTS, `${report.date.replace(/[:.]/g, '-')}.json`);
  writeFileSync(file, `${JSON.stringify({ ...report, measured }, null, 2)}\n`);
  process.stdout.write(`\nAll figures: ${file}\n`);
  if (flags.record) await record(report, measured);
}
