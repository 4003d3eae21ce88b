import { join, resolve } from 'node:path';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { json, startChatUpstream } from '../support/chat-upstream.js';
import { startApiPlatform, startPlatform, type Platform } from '../support/platform.js';
import { responseOf } from '../support/responses.js';
import type { ResultLine } from '../support/batches.js';
import { installedPythons, runScript } from './clients.js';
import { makeSampleFiles } from './sample-files.js';

interface Report {
  readonly output: readonly ResultLine[];
  readonly errors: readonly ResultLine[];
  readonly [more: string]: unknown;
}

const CLIENTS: readonly (readonly [name: string, command: readonly [string, ...string[]]])[] = [
  ...['6', '7'].map(
    (version) =>
      [
        `openai-node ${version}`,
        [process.execPath, resolve('test', 'clients', 'node', 'openai', 'batch.mjs'), version],
      ] as const,
  ),
  ...Object.entries(installedPythons())
    .filter(([name]) => name.startsWith('openai-'))
    .map(([name, python]) => [name, [python, resolve('test', 'clients', 'python', 'batch_client.py')]] as const),
];

/** Packages as they are published: nothing about them is changed but address and key. */
describe('batches of published clients', () => {
  let platform: Platform;
  let files: Awaited<ReturnType<typeof makeSampleFiles>>;
  beforeAll(async () => {
    [platform, files] = await Promise.all([startPlatform(), makeSampleFiles()]);
  });
  afterAll(async () => {
    await platform.close();
    await files.remove();
  });

  it.each(CLIENTS)('run from the file to the results: %s', async (name, command) => {
    const key = await platform.newKey({}, await platform.newAccount());
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: 'a pear' };
    const lines = [
      { id: 'a', body },
      { id: 'b', body: { ...body, size: 'huge' } },
      { id: 'c', body },
    ];
    const job = { ...files, url: `${platform.url}/v1`, key, prompts: {}, lines };
    const report = (await runScript(name, command, job)) as Report;
    expect(report).toMatchObject({
      status: 'completed',
      counts: { total: 3, completed: 2, failed: 1 },
      isListed: true,
      purposes: ['batch', 'batch_output'],
      cancelled: 'completed',
      deleted: true,
    });
    expect(report.output.map(({ custom_id: id }) => id)).toEqual(['a', 'c']);
    for (const { response } of report.output) {
      const [image] = response?.body['data'] as { url: string; b64_json: string }[];
      const link = await fetch(image?.url ?? '');
      expect(link.headers.get('content-type')).toBe('image/png');
      expect(Buffer.from(await link.arrayBuffer()).toString('base64')).toBe(image?.b64_json);
    }
    expect(report.errors).toMatchObject([{ custom_id: 'b', response: { status_code: 400 } }]);
  });
});

describe('batches of the AI SDK', () => {
  it('are Responses, from the requests to the results', async () => {
    const [upstream, files] = await Promise.all([startChatUpstream(), makeSampleFiles()]);
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-ai-batch-'));
    const models = `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }] }
models:
  gpt-5.5: { kind: chat, routes: [{ provider: up }] }
`;
    await writeFile(join(folder, 'models.yaml'), models);
    const platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml'), UP_KEY: 'k' });
    try {
      const refusal = { error: { message: 'No.', type: 'invalid_request_error', code: 'too_hard', param: null } };
      upstream.answer = (response, request) =>
        (request.body.includes('too hard') ? json(refusal, 400) : json(responseOf()))(response, request);
      const command = [process.execPath, resolve('test', 'clients', 'node', 'ai-7', 'batch.mjs')] as const;
      const lines = [
        { id: 'a', model: 'gpt-5.5', prompt: 'hi' },
        { id: 'b', model: 'gpt-5.5', prompt: 'too hard' },
      ];
      const job = { ...files, url: `${platform.url}/v1`, key: platform.key, prompts: {}, lines };
      expect(await runScript('AI SDK 7', command, job)).toMatchObject({
        status: 'completed',
        results: [
          { id: 'a', status: 'succeeded', text: 'Here you are.' },
          { id: 'b', status: 'failed' },
        ],
      });
    } finally {
      await platform.close();
      await upstream.close();
      await Promise.all([files.remove(), rm(folder, { recursive: true, force: true })]);
    }
  });
});
