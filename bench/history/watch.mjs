// What statements read, reported by the server for each execution: the actual plans, including those of statements in
// triggers.

const EXPLAIN = `LOAD 'auto_explain'; SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off; SET auto_explain.log_buffers = on;
  SET auto_explain.log_format = json; SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = log; SET client_min_messages = log`;
const PLAN = /^duration: [\d.]+ ms {2}plan:\n/;
const WORK = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;

/** Watches the statements of a pool with one connection that has not been used yet. */
export class StatementWatch {
  #pool;
  #readings;
  #times;

  constructor(pool) {
    this.#pool = pool;
    pool.on('connect', (client) => {
      const send = client.query.bind(client);
      client.query = (...args) => this.#timed(send, args);
      client.on('notice', ({ message }) => this.#read(message));
      send(EXPLAIN).catch(() => undefined);
    });
  }

  /** What the work's statements read: `{text, pages, rows, nodes: [{node, table, rows}]}`, nested statements first. */
  async readings(work) {
    await this.#pool.query('SET auto_explain.log_min_duration = 0');
    this.#readings = [];
    try {
      await work();
      return this.#readings;
    } finally {
      this.#readings = undefined;
      await this.#pool.query('SET auto_explain.log_min_duration = -1');
    }
  }

  /** The time until the response of each of the work's statements: `{text, ms}`. */
  async times(work) {
    this.#times = [];
    try {
      await work();
      return this.#times;
    } finally {
      this.#times = undefined;
    }
  }

  #timed(send, args) {
    const text = typeof args[0] === 'string' ? args[0] : args[0].text;
    const times = this.#times;
    if (times === undefined || !WORK.test(text)) return send(...args);
    const since = performance.now();
    const done = () => times.push({ text, ms: performance.now() - since });
    const last = args.at(-1);
    if (typeof last === 'function') {
      return send(...args.slice(0, -1), (...answer) => {
        done();
        last(...answer);
      });
    }
    const answer = send(...args);
    answer.then(done, done);
    return answer;
  }

  #read(message) {
    if (this.#readings === undefined || !PLAN.test(message)) return;
    const { 'Query Text': text, Plan: plan } = JSON.parse(message.replace(PLAN, ''));
    if (!WORK.test(text) || text.startsWith('SET ')) return;
    const nodes = nodesOf(plan);
    const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    this.#readings.push({ text, pages, rows: Math.max(...nodes.map(({ rows }) => rows)), nodes });
  }
}

/** Each executed node of a plan; rows count as often as they were read, including those that a filter removed. */
function nodesOf(plan) {
  const table = plan['Relation Name'];
  const looked = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  const own =
    plan['Actual Loops'] === 0 ? [] : [{ node: plan['Node Type'], table, index: plan['Index Name'], rows: looked }];
  return [...own, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
