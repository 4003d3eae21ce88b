// Fills a migrated, empty database with a history: node bench/fill-tasks.mjs <DATABASE_URL> [tasks, 4000000] [keys,
// 200]
// A week of tasks of three accounts, with all related rows and a backlog.
import pg from 'pg';
import { fillHistory } from './history/fill.mjs';

const [url, tasks = '4000000', keys = '200'] = process.argv.slice(2);
if (url === undefined) {
  process.stderr.write('usage: node bench/fill-tasks.mjs <DATABASE_URL> [tasks] [keys]\n');
  process.exit(1);
}
const client = new pg.Client({ connectionString: url });
await client.connect();
await fillHistory(client, { tasks: Number(tasks), keys: Number(keys) }, (line) => console.log(line));
await client.end();
