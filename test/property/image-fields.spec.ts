import fc from 'fast-check';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { answerOf, contractError, type Answer } from '../support/contract-answer.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { expectNoDataLoss } from '../support/no-data-loss.js';
import { anyJson, fieldsOf, jsonOf, problem, problemsOf, type Field, type Fields } from './field.js';
import {
  CALLBACK,
  combinationProblems,
  EDIT_FIELDS,
  GENERATION_FIELDS,
  ignoredOf,
  REFUSED_PROMPT,
  strictProblems,
} from './image-fields.js';

interface Endpoint {
  readonly path: string;
  readonly asynchronous: boolean;
  readonly fields: readonly Field[];
}

const GENERATIONS: Endpoint = { path: '/v1/images/generations', asynchronous: false, fields: GENERATION_FIELDS };
const ASYNC_EDITS: Endpoint = {
  path: '/v1/images/edits/async',
  asynchronous: true,
  fields: [...EDIT_FIELDS, CALLBACK],
};
const ENDPOINTS: readonly Endpoint[] = [
  GENERATIONS,
  { path: '/v1/images/generations/async', asynchronous: true, fields: [...GENERATION_FIELDS, CALLBACK] },
  { path: '/v1/images/generations?async=true', asynchronous: true, fields: GENERATION_FIELDS },
  { path: '/images/generations', asynchronous: false, fields: GENERATION_FIELDS },
  { path: '/v1/images/edits', asynchronous: false, fields: EDIT_FIELDS },
  ASYNC_EDITS,
];

/** Right values of what is required. */
const STEADY: Readonly<Record<string, unknown>> = {
  model: 'gpt-image-2',
  prompt: REFUSED_PROMPT,
  images: EDIT_FIELDS.find(({ name }) => name === 'images')?.edges[1],
};

describe('the JSON fields of image requests', () => {
  let platform: Platform;
  const accepted = new Map<string, string>();

  beforeAll(async () => {
    platform = await startPlatform({ EGRESS_CONNECT_TIMEOUT_MS: '500', WORKER_CONCURRENCY: '20' });
  });
  afterAll(() => platform.close());

  /** Sends the fields and holds the answer against the contract's rule: refused for a reason of the list, or a task. */
  async function judge({ path, asynchronous, fields }: Endpoint, sent: Fields): Promise<void> {
    const ignored = ignoredOf(fields, sent);
    const allowed = [
      ...problemsOf(fields, new Map([...sent].filter(([name]) => !ignored.includes(name)))),
      ...combinationProblems(sent, asynchronous),
      ...strictProblems(sent, ignored),
    ];
    // A prompt that asks the sandbox for nothing would have it draw a large image.
    if (allowed.length === 0 && !String(sent.get('prompt')).includes(REFUSED_PROMPT)) return;
    const answer = await answerOf(
      await platform.call(path, {
        method: 'POST',
        body: jsonOf(sent),
        headers: { 'content-type': 'application/json' },
      }),
    );
    const error = contractError(answer, path);
    const taskId = answer.headers['x-task-id'];
    if (taskId === undefined) {
      expect(allowed).toContain(problem(error?.code ?? '', error?.param ?? ''));
      expect(answer.status).toBe(400);
    } else {
      expect(allowed).toEqual([]);
      accepted.set(taskId, Buffer.from(String(sent.get('prompt'))).toString());
      expectAccepted(answer, asynchronous, sent.get('stream') === true);
    }
  }

  function expectAccepted(answer: Answer, asynchronous: boolean, streamed: boolean): void {
    if (asynchronous) expect(answer.status).toBe(202);
    else if (streamed) expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('event: error')]);
    else expect(answer.status).toBe(400);
  }

  it.each(ENDPOINTS)(
    'are taken and refused at $path exactly as the contract says',
    async (endpoint) => {
      const unknown = fc.dictionary(fc.constantFrom('__proto__', 'constructor', 'seed', 'Prompt', 'x\r\ny'), anyJson);
      await fc.assert(
        fc.asyncProperty(fieldsOf(endpoint.fields), unknown, (sent, extra) =>
          judge(endpoint, new Map([...Object.entries(extra), ...sent])),
        ),
        runs(60),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  const single = [GENERATIONS, ASYNC_EDITS].flatMap((endpoint) =>
    endpoint.fields.map((field) => ({ endpoint, field, name: field.name, path: endpoint.path })),
  );
  it.each(single)(
    'hold $name at $path to its rule when all else is right',
    async ({ endpoint, field }) => {
      const right = endpoint.fields.filter(({ required }) => required);
      const rest = fc
        .tuple(...right.map(({ valid }) => valid))
        .map((values) => right.map(({ name }, at) => [name, values[at]] as const));
      for (const value of field.edges) {
        const sent = new Map([...right.map(({ name }) => [name, STEADY[name]] as const), [field.name, value] as const]);
        await judge(endpoint, sent);
      }
      await fc.assert(
        fc.asyncProperty(rest, fc.oneof(field.odd, field.valid), (others, value) =>
          judge(endpoint, new Map<string, unknown>([...others, [field.name, value]])),
        ),
        runs(8),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('leave nothing pending, nothing stored that no task has, and every prompt as it was sent', async () => {
    await expectNoDataLoss(platform, 'Any value in any field');
    expect(accepted.size).toBeGreaterThan(100);
    const { rows } = await platform.pool.query<{ id: string; prompt: string }>('SELECT id, prompt FROM tasks');
    expect(new Map(rows.map(({ id, prompt }) => [id, prompt]))).toEqual(accepted);
  });
});
