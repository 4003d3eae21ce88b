import fc from 'fast-check';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { answerOf, contractError, type Answer, type ContractError } from '../support/contract-answer.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { rawCall } from '../support/raw-call.js';
import { expectNoDataLoss } from '../support/no-data-loss.js';
import { anyJson, anyText } from './field.js';
import { REFUSED_PROMPT } from './image-fields.js';

const SUBMIT = '/v1/images/generations/async';
const BODY = JSON.stringify({ model: 'gpt-image-2', prompt: REFUSED_PROMPT });
const UNKNOWN_ID = 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/** What HTTP lets stand in a header, the odd bytes among them. */
const headerText = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
  fc
    .array(fc.integer({ min: 0x20, max: 0xff }), { maxLength: 300 })
    .map((codes) => String.fromCharCode(...codes.filter((code) => code !== 0x7f))),
  fc.constantFrom(
    '',
    '"',
    '""',
    '"a"',
    'a"',
    'ÿ',
    'a'.repeat(255),
    'a'.repeat(256),
    `"${'a'.repeat(255)}"`,
    'a, b',
    '\t',
  ),
);

describe('requests that nobody should send', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform({ WORKER_CONCURRENCY: '20' });
  });
  afterAll(() => platform.close());

  /** A request as bytes, with these headers besides the key; the answer is held against the contract. */
  async function send(
    start: string,
    headers: Readonly<Record<string, string>> = {},
    body = '',
  ): Promise<{ answer: Answer; error: ContractError | undefined }> {
    const given = { host: 'x', authorization: `Bearer ${platform.key}`, connection: 'close', ...headers };
    const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
    const bytes = Buffer.concat([
      Buffer.from(`${start} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
      Buffer.from(body),
    ]);
    const answer = await rawCall(platform.url, bytes);
    if (answer === undefined) throw new Error(`closed without an answer: ${bytes.toString('latin1')}`);
    return { answer, error: contractError(answer, addressOf(start)) };
  }

  const submit = (headers: Readonly<Record<string, string>>, body = BODY) =>
    send(
      `POST ${SUBMIT}`,
      {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...headers,
      },
      body,
    );

  it(
    'an Idempotency-Key is 1 to 255 visible characters, bare or quoted',
    async () => {
      await fc.assert(
        fc.asyncProperty(headerText, async (sent) => {
          const { answer, error } = await submit({ 'idempotency-key': sent });
          // What surrounds a header's value is no part of it.
          const value = sent.replace(/^[ \t]+|[ \t]+$/g, '');
          const key = /^"(.*)"$/s.exec(value)?.[1] ?? value;
          if (VISIBLE.test(key)) expect(answer.status).toBe(202);
          else expect([answer.status, error?.code, error?.param]).toEqual([400, 'invalid_value', 'Idempotency-Key']);
        }),
        runs(60),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'Prefer, retry counts and other headers never stop a request that is right',
    async () => {
      const name = fc.constantFrom(
        ...['prefer', 'x-stainless-retry-count', 'x-stainless-timeout', 'accept', 'accept-encoding', 'x-request-id'],
        ...['x-client-request-id', 'x-forwarded-for', 'cookie', 'origin', 'user-agent', 'if-none-match', 'range'],
        ...['x-http-method-override', 'traceparent', 'content-language', 'referer', 'te', 'via', 'date'],
      );
      const value = fc.oneof(
        headerText,
        fc.constantFrom('wait=5, respond-async', 'wait=99999999999', '-1', '1e9', '0'),
      );
      await fc.assert(
        fc.asyncProperty(fc.dictionary(name, value, { maxKeys: 6 }), async (headers) => {
          expect((await submit(headers)).answer.status).toBe(202);
        }),
        runs(60),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'no Authorization but the right one opens anything',
    async () => {
      const near = fc.constantFrom(
        ...['', 'Bearer', 'Bearer ', 'Bearer x', 'Basic eDp5', `Token ${platform.key}`, `Bearer ${platform.key}x`],
        ...[`Bearer ${platform.key.slice(0, -1)}`, `Bearer ${platform.key} x`, `Bearer ${platform.key.toUpperCase()}`],
        ...[
          platform.key,
          `Bearer "${platform.key}"`,
          `Bearer ${platform.key},${platform.key}`,
          'Bearer null',
          "Bearer ' OR 1=1",
        ],
      );
      const first = (await submit({ authorization: 'Bearer sk-dr-unknown' })).answer;
      await fc.assert(
        fc.asyncProperty(fc.oneof(near, headerText), async (authorization) => {
          const { answer } = await submit({ authorization });
          expect(answer.status).toBe(401);
          expect(withoutId(answer)).toEqual(withoutId(first));
        }),
        runs(60),
      );
      const spelt = await Promise.all(
        ['bearer', 'BEARER', 'Bearer '].map((scheme) => submit({ authorization: `${scheme} ${platform.key}` })),
      );
      expect(spelt.map(({ answer }) => answer.status)).toEqual([202, 202, 202]);
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'any other Content-Type, length or encoding of a body is refused, and read to no harm',
    async () => {
      const type = fc.oneof(
        headerText.filter((text) => !/^[ \t]*application\/json[ \t]*(;|$)/i.test(text)),
        fc.constantFrom(
          'application/jsonx',
          'text/plain',
          'multipart/form-data; boundary=b',
          'application/x-www-form-urlencoded',
        ),
      );
      await fc.assert(
        fc.asyncProperty(type, async (contentType) => {
          const { answer } = await submit({ 'content-type': contentType });
          expect(answer.status).toBe(415);
        }),
        runs(40),
      );
      const length = fc.oneof(
        fc.constantFrom('-1', '1e3', '0x10', '1,1', ' ', '99999999999999999999', '+5', 'NaN'),
        headerText,
      );
      await fc.assert(
        fc.asyncProperty(length, async (contentLength) => {
          if (/^[ \t]*\d+[ \t]*$/.test(contentLength) && contentLength.length < 20) return;
          const { answer } = await submit({ 'content-length': contentLength });
          expect([400, 413]).toContain(answer.status);
        }),
        runs(40),
      );
      for (const encoding of ['gzip', 'br', 'deflate', 'x', 'gzip, gzip']) {
        expect((await submit({ 'content-encoding': encoding })).answer.status).toBe(415);
      }
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'JSON of any bytes, depth or kind is either a request or refused as invalid JSON',
    async () => {
      const broken = fc
        .tuple(fc.nat(BODY.length - 1), anyText)
        .map(([at, text]) => BODY.slice(0, at) + text + BODY.slice(at + 1));
      const deep = fc
        .tuple(fc.constantFrom('[', '{"a":'), fc.integer({ min: 1, max: 60 }), fc.boolean())
        .map(
          ([open, depth, closed]) =>
            `{"model":"gpt-image-2","prompt":"${REFUSED_PROMPT}","x":${open.repeat(depth)}1${closed ? (open === '[' ? ']' : '}').repeat(depth) : ''}}`,
        );
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            broken,
            deep,
            anyJson.map((value) => JSON.stringify(value)),
          ),
          async (body) => {
            const { answer, error } = await submit({}, body);
            const parsed = parsedOf(body);
            if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || depthOf(parsed) > 32) {
              expect([answer.status, error?.code]).toEqual([400, 'invalid_json']);
            } else {
              expect([202, 400]).toContain(answer.status);
              expect(error?.code).not.toBe('invalid_json');
            }
          },
        ),
        runs(80),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'any id but one of the caller is the same 404',
    async () => {
      const id = fc.oneof(
        fc.constantFrom(
          UNKNOWN_ID,
          '%00',
          '%2e%2e',
          '..%2f..',
          '%E0%A4%A',
          UNKNOWN_ID.toLowerCase(),
          `${UNKNOWN_ID}%20`,
          '*',
          'a'.repeat(3_000),
        ),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }).map(encodeURIComponent),
        fc.string({ minLength: 26, maxLength: 26 }).map((text) => `task_${encodeURIComponent(text)}`),
      );
      const known = ['.', '..', 'batch'];
      const first = (await send(`GET /v1/tasks/${UNKNOWN_ID}`)).answer;
      await fc.assert(
        fc.asyncProperty(
          id,
          fc.constantFrom(['GET', ''], ['GET', '/events'], ['POST', '/cancel']),
          async (taskId, [method, rest]) => {
            if (known.includes(taskId)) return;
            const { answer } = await send(`${method} /v1/tasks/${taskId}${rest}`);
            expect(withoutId(answer)).toEqual(withoutId(first));
          },
        ),
        runs(80),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('a query that cannot be decoded hides no task', async () => {
    const taskId = (await submit({})).answer.headers['x-task-id'] ?? '';
    for (const query of ['?language=%E0%A4%A', '?wait=%zz', '?%', '?a=%00']) {
      expect((await send(`GET /v1/tasks/${taskId}${query}`)).answer.status).toBe(query.includes('wait') ? 400 : 200);
    }
  });

  it(
    'the queries of tasks are taken and refused exactly as the contract says',
    async () => {
      const junk = fc.oneof(
        fc.constantFrom('', '0', '-1', '1', '60', '61', '100', '101', '1.5', '1e2', ' 1', '9'.repeat(30), '%00'),
        anyText.map(wellFormed),
      );
      const status = fc.oneof(
        junk,
        fc.constantFrom('pending', 'completed', 'failed', 'cancelled', 'processing', 'Pending'),
      );
      const query = fc.record(
        { limit: junk, after: fc.oneof(junk, fc.constant(UNKNOWN_ID)), status, since: junk },
        { requiredKeys: [] },
      );
      const whole = (text: string): boolean => /^-?\d{1,11}$/.test(text);
      await fc.assert(
        fc.asyncProperty(query, async (asked) => {
          const wrong = [
            asked.limit && !(whole(asked.limit) && Number(asked.limit) >= 1 && Number(asked.limit) <= 100) && 'limit',
            asked.after && asked.after !== UNKNOWN_ID && 'after',
            asked.status && !['pending', 'completed', 'failed', 'cancelled'].includes(asked.status) && 'status',
            asked.since && !whole(asked.since) && 'since',
          ].filter(Boolean);
          const { answer, error } = await send(
            `GET /v1/tasks?${new URLSearchParams(asked as Record<string, string>).toString()}`,
          );
          expect(answer.status).toBe(wrong.length > 0 ? 400 : 200);
          if (wrong.length > 0) expect(wrong).toContain(error?.param);
        }),
        runs(80),
      );
      await fc.assert(
        fc.asyncProperty(junk, async (wait) => {
          const { answer, error } = await send(
            `GET /v1/tasks/${UNKNOWN_ID}?${new URLSearchParams({ wait }).toString()}`,
          );
          const right = wait === '' || (/^\d{1,2}$/.test(wait) && Number(wait) >= 1 && Number(wait) <= 60);
          expect([answer.status, error?.param]).toEqual(right ? [404, null] : [400, 'wait']);
        }),
        runs(30),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'a batch names 1 to 50 ids, whatever they are',
    async () => {
      const ids = fc.oneof(
        anyJson,
        fc.array(fc.oneof(anyText, fc.constant(UNKNOWN_ID)), { maxLength: 60, size: 'max' }),
        fc.array(anyJson),
      );
      await fc.assert(
        fc.asyncProperty(ids, async (taskIds) => {
          const response = await platform.call('/v1/tasks/batch', { body: { task_ids: taskIds } });
          const answer = await answerOf(response);
          const error = contractError(answer, '/v1/tasks/batch');
          const right =
            Array.isArray(taskIds) &&
            taskIds.length >= 1 &&
            taskIds.length <= 50 &&
            taskIds.every((id) => typeof id === 'string');
          expect(answer.status).toBe(right ? 200 : 400);
          if (!right) expect(error?.param).toMatch(/^task_ids(\[\d+\])?$/);
          else expect((JSON.parse(answer.text) as { missing: string[] }).missing).toEqual([...new Set(taskIds)]);
        }),
        runs(50),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'any method and address is answered in the contract’s words',
    async () => {
      const method = fc.constantFrom(
        ...'GET POST PUT PATCH DELETE HEAD OPTIONS TRACE PROPFIND M-SEARCH QUERY PURGE'.split(' '),
      );
      const piece = fc.constantFrom(
        ...[
          'v1',
          'images',
          'generations',
          'edits',
          'async',
          'tasks',
          'models',
          'i',
          'batch',
          UNKNOWN_ID,
          'healthz',
          'docs',
        ],
        ...[
          '',
          '.',
          '..',
          '%2f',
          '%2e%2e',
          '%00',
          '%',
          '%zz',
          '%E0%A4%A',
          ';a=b',
          'V1',
          '*',
          'a'.repeat(400),
          '\\',
          '"',
          "'",
          '__proto__',
        ],
      );
      const address = fc.oneof(
        fc.array(piece, { maxLength: 6 }).map((pieces) => `/${pieces.join('/')}`),
        fc
          .array(fc.integer({ min: 0x21, max: 0xff }), { maxLength: 30 })
          .map((codes) => `/${String.fromCharCode(...codes)}`),
        fc.constantFrom(
          '*',
          'http://other.example/v1/models',
          '//v1/models',
          '/v1/tasks?'.padEnd(9_000, 'a=b&'),
          `/${'a'.repeat(15_000)}`,
        ),
      );
      await fc.assert(
        fc.asyncProperty(method, address, async (verb, path) => {
          const { answer } = await send(`${verb} ${path}`);
          if (answer.status === 405) expect(answer.headers['allow']).toBeTruthy();
        }),
        runs(200),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'bytes that are hardly HTTP are answered or hung up on at once',
    async () => {
      const whole = Buffer.from(
        `POST ${SUBMIT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${platform.key}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
      );
      const flip = fc.record({ at: fc.nat(whole.length - 1), value: fc.nat(255) });
      await fc.assert(
        fc.asyncProperty(fc.array(flip, { minLength: 1, maxLength: 4 }), async (flips) => {
          const bytes = Buffer.from(whole);
          for (const { at, value } of flips) bytes[at] = value;
          // Enough behind it that no changed length leaves the server waiting for more.
          const answer = await rawCall(
            platform.url,
            Buffer.concat([bytes, Buffer.from(`\r\n\r\n${' '.repeat(1_000)}`)]),
          );
          if (answer !== undefined) contractError(answer, '');
        }),
        runs(100),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('leave the platform as it was', () => expectNoDataLoss(platform, 'Any method, path, header, body, id'));
});

/** The answer without what is new in each. */
function withoutId({ status, headers, text }: Answer): unknown {
  const { date: _date, 'x-request-id': id = '', ...rest } = headers;
  return { status, headers: rest, text: text.replace(id, 'req') };
}

function addressOf(start: string): string {
  return start.slice(start.indexOf(' ') + 1);
}

function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

function parsedOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
