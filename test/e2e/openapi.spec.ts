import { Ajv2020 } from 'ajv/dist/2020.js';
import { readFile } from 'node:fs/promises';
import { startPlatform, type CallOptions, type Platform } from '../support/platform.js';

const REQUEST = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k' };
const GENERATIONS = '/v1/images/generations';
const CHATS = '/v1/chat/completions';
const CHAT = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'a fox' }] };

/** 64 x 64 pixels of one color. */
const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAAA1BMVEV6XP/FEC2JAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAG0lEQVRYw+3BgQAAAADDoPlT3+AEVQEAAAB8AxBAAAEZszF2AAAAAElFTkSuQmCC';
const UPLOAD = new FormData();
UPLOAD.append('file', new Blob([new Uint8Array(Buffer.from(IMAGE, 'base64'))]), 'a.png');

interface Operation {
  operationId: string;
  responses: Record<string, { headers?: object }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}

describe('the OpenAPI document', () => {
  let platform: Platform;
  let document: Document;
  let ajv: Ajv2020;

  beforeAll(async () => {
    platform = await startPlatform();
    document = JSON.parse(await readFile('openapi.json', 'utf8')) as Document;
    ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'openapi.json');
  });
  afterAll(() => platform.close());

  /** What the schema at these steps of the document has against a value. */
  function problems(value: unknown, ...steps: string[]): unknown {
    const pointer = steps.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    const validate = ajv.compile({ $ref: `openapi.json#/${pointer}` });
    validate(value);
    return validate.errors ?? [];
  }

  function find(operationId: string): { path: string; method: string; operation: Operation } {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (operation.operationId === operationId) return { path, method, operation };
      }
    }
    throw new Error(`${operationId} is not described`);
  }

  function answerProblems(operationId: string, status: number, body: unknown): unknown {
    const { path, method } = find(operationId);
    const place = ['paths', path, method, 'responses', String(status), 'content', 'application/json', 'schema'];
    return problems(body, ...place);
  }

  it.each<[string, string, CallOptions, number]>([
    ['generateImage', GENERATIONS, { body: REQUEST }, 200],
    ['generateImage', GENERATIONS, { body: { ...REQUEST, response_format: 'b64_json' } }, 200],
    ['generateImage', GENERATIONS, { body: { ...REQUEST, n: 2 } }, 400],
    ['createChatCompletion', CHATS, { body: CHAT }, 200],
    ['createChatCompletion', CHATS, { body: { ...CHAT, model: 'gpt-image-2' } }, 200],
    ['createChatCompletion', CHATS, { body: { ...CHAT, model: 'gpt-1' } }, 404],
    ['generateImage', GENERATIONS, { body: REQUEST, key: null }, 401],
    ['generateImage', GENERATIONS, { body: { ...REQUEST, prompt: '[[fault=http-500]]' } }, 502],
    [
      'generateImage',
      GENERATIONS,
      { body: { ...REQUEST, prompt: '[[latency=15s]]' }, headers: { prefer: 'wait=1' } },
      504,
    ],
    ['generateImageUnprefixed', '/images/generations', { body: REQUEST }, 200],
    ['generateImageAsync', `${GENERATIONS}/async`, { body: REQUEST }, 202],
    ['editImage', '/v1/images/edits', { body: {} }, 400],
    ['editImageAsync', '/v1/images/edits/async', { body: 'x', headers: { 'content-type': 'text/plain' } }, 415],
    ['listTasks', '/v1/tasks', {}, 200],
    ['listTasks', '/v1/tasks?limit=0', {}, 400],
    ['getTask', '/v1/tasks/nope', {}, 404],
    ['getTask', '/v1/tasks/nope?wait=0', {}, 400],
    ['followTask', '/v1/tasks/nope/events', {}, 404],
    ['getTasks', '/v1/tasks/batch', { body: { task_ids: ['nope'] } }, 200],
    ['getTasks', '/v1/tasks/batch', { body: {} }, 400],
    ['cancelTask', '/v1/tasks/nope/cancel', { method: 'POST' }, 404],
    ['listModels', '/v1/models', {}, 200],
    ['getModel', '/v1/models/gpt-image-2', {}, 200],
    ['getModel', '/v1/models/nope', {}, 404],
    ['getHealth', '/healthz', {}, 200],
    ['getReadiness', '/readyz', {}, 200],
    ['getFile', '/i/x.png?exp=1&sig=2', {}, 403],
    ['uploadImage', '/v1/uploads/images', { body: {} }, 415],
    ['uploadImage', '/v1/uploads/images', { body: UPLOAD }, 200],
    ['openUpload', '/u/x', {}, 404],
  ])('describes what %s %s answers', async (operation, path, options, status) => {
    const response = await platform.call(path, options);
    expect(response.status).toBe(status);
    expect(answerProblems(operation, status, await response.json())).toEqual([]);
    const described = find(operation).operation.responses[status];
    for (const name of ['x-request-id', ...(status === 202 ? ['location', 'x-task-id'] : [])]) {
      expect(Object.keys(described?.headers ?? {})).toContain(name);
      expect(response.headers.get(name)).not.toBeNull();
    }
  });

  it('describes ended tasks of either outcome', async () => {
    for (const prompt of ['a fox', '[[fault=moderation]]']) {
      const answer = await platform.call(GENERATIONS, { body: { ...REQUEST, prompt } });
      const task = await platform.call(`/v1/tasks/${answer.headers.get('x-task-id') ?? ''}`);
      expect(answerProblems('getTask', 200, await task.json())).toEqual([]);
    }
  });

  it('describes cancelled tasks', async () => {
    const answer = await platform.call(`${GENERATIONS}/async`, { body: { ...REQUEST, prompt: '[[latency=30s]]' } });
    const path = `/v1/tasks/${answer.headers.get('x-task-id') ?? ''}/cancel`;
    expect(answerProblems('cancelTask', 200, await (await platform.call(path, { method: 'POST' })).json())).toEqual([]);
  });

  it('accepts and refuses what the service does, as far as a schema can tell', async () => {
    for (const body of [
      REQUEST,
      { ...REQUEST, n: null, size: 'auto', image_urls: ['https://a.example/b.png'] },
      { ...REQUEST, n: 0 },
      { ...REQUEST, n: '1' },
      { ...REQUEST, size: '1024x1024' },
      { ...REQUEST, prompt: '' },
      { ...REQUEST, output_compression: 101 },
      { ...REQUEST, stream: false },
      { ...REQUEST, stream: true },
      { ...REQUEST, image_urls: Array<string>(17).fill('https://a.example/b.png') },
      { prompt: 'a fox' },
    ]) {
      const response = await platform.call(`${GENERATIONS}/async`, { body });
      const found = problems(body, 'components', 'schemas', 'AsyncImageGenerationRequest');
      expect([response.status === 202, body]).toEqual([(found as unknown[]).length === 0, body]);
    }
  });
});
