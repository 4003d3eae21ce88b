import type { Client } from '@modelcontextprotocol/client';
import {
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { waitUntil } from '#embedded/wait-until.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { answerOf, callTool, mcpClient } from '../support/mcp-client.js';
import { openHangUpRoom, type HangUpRoom } from '../support/hang-ups.js';
import type { Platform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';
import { taskAgent } from '../support/task-agent.js';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const VERSION = '2026-07-28';
const CLIENT_INFO = { name: 'darkroom-test', version: '1' };
const CAPABILITIES = { extensions: { [EXTENSION]: {} } };

interface Answer {
  readonly result?: Readonly<Record<string, unknown>> & { readonly taskId: string; readonly status: string };
  readonly error?: { readonly code: number; readonly message: string };
}

/** Agents whose client takes tasks: the extension of 2026-07-28. */
describe('the Tasks extension of the MCP server', () => {
  let provider: LedgerProvider;
  let room: HangUpRoom;
  let platform: Platform;
  let otherApi: TestProcess;
  const clients: Client[] = [];

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    room = await openHangUpRoom(
      `providers:
  ledger: { type: openai, base_url: "${provider.url}", keys: [{ env: UP_KEY }], interrupted: retry }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: ledger }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.04, 2k: 0.04, 4k: 0.16 } }]
`,
      { SWEEP_INTERVAL_MS: '500' },
    );
    ({ platform } = room);
    otherApi = await startApi(platform.settings);
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await otherApi.stop();
    await room.close();
    await provider.close();
  });

  /** Sends one message of the current protocol, as it is on the wire. */
  async function send(
    url: string,
    method: string,
    params: Readonly<Record<string, unknown>>,
    { capabilities = CAPABILITIES, key = platform.key }: { capabilities?: object; key?: string } = {},
  ): Promise<Answer> {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const response = await platform.call('/mcp', {
      at: { url },
      key,
      body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': method,
        'mcp-name': String(params['taskId'] ?? params['name']),
      },
    });
    // Not `json()`, whose objects the extension's schemas take for none: they are made outside of the test's context.
    return JSON.parse(await response.text()) as Answer;
  }

  const order = (url: string, prompt: string): Promise<Answer> =>
    send(url, 'tools/call', { name: 'generate_image', arguments: { prompt, size: '1024x1024' } });

  async function started(url: string, prompt: string): Promise<string> {
    return CreateTaskResultV2Schema.parse((await order(url, prompt)).result).taskId;
  }

  async function read(url: string, taskId: string) {
    return GetTaskResultV2Schema.parse((await send(url, 'tasks/get', { taskId })).result);
  }

  async function completed(url: string, taskId: string) {
    const isOver = async (): Promise<boolean> => (await read(url, taskId)).status !== 'working';
    await waitUntil(isOver, { timeoutMs: 60_000, everyMs: 200 });
    const task = await read(url, taskId);
    if (task.status !== 'completed') throw new Error(`the task is ${task.status}`);
    return answerOf(task.result as Parameters<typeof answerOf>[0]);
  }

  /** An image that its provider keeps back until it is told to finish. */
  function heldBack(): { marker: string; finish: () => void } {
    const marker = newMarker();
    let finish = (): void => undefined;
    provider.plan(marker, { until: new Promise<void>((resolve) => (finish = resolve)) });
    return { marker, finish };
  }

  it('answers with a task at once, which every instance knows, and with the image at its end', async () => {
    const { marker, finish } = heldBack();
    const id = await started(platform.url, marker);
    expect(await read(otherApi.url, id)).toMatchObject({ taskId: id, status: 'working', pollIntervalMs: 2_000 });
    expect(await started(otherApi.url, marker)).toBe(id);
    finish();
    const { isError, facts, links, images } = await completed(otherApi.url, id);
    expect([isError, facts.id, facts.status]).toEqual([false, id, 'completed']);
    expect((await fetch(links[0] ?? '')).status).toBe(200);
    expect(images).toHaveLength(1);
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('works with the published requester of the extension', async () => {
    const agent = await taskAgent(platform);
    const { image } = await agent.order({ prompt: newMarker(), size: '1024x1024' });
    expect((await image()).facts.status).toBe('completed');
    await agent.close();
  });

  it('cancels a task, and ignores answers to questions that it has not asked', async () => {
    const { marker, finish } = heldBack();
    const taskId = await started(platform.url, marker);
    const updated = await send(otherApi.url, 'tasks/update', { taskId, inputResponses: { any: { action: 'accept' } } });
    expect(UpdateTaskResultV2Schema.parse(updated.result)).toMatchObject({ resultType: 'complete' });
    const cancelled = await send(otherApi.url, 'tasks/cancel', { taskId });
    expect(CancelTaskResultV2Schema.parse(cancelled.result)).toMatchObject({ resultType: 'complete' });
    expect(await read(platform.url, taskId)).toMatchObject({ taskId, status: 'cancelled' });
    finish();
  });

  it('completes a task that failed with an error as its result', async () => {
    const marker = newMarker();
    provider.plan(marker, { faults: ['moderation'] });
    const answer = await completed(platform.url, await started(platform.url, marker));
    expect(answer).toMatchObject({ isError: true, facts: { error: { code: 'moderation_blocked' } } });
  });

  it('tells errors in the codes of the protocol, and results of other clients nothing of tasks', async () => {
    const taskId = await started(platform.url, newMarker());
    const invalid = { error: { code: -32_602 } };
    expect(await send(platform.url, 'tasks/get', { taskId: 'task_unknown' })).toMatchObject(invalid);
    expect(await send(platform.url, 'tasks/get', {})).toMatchObject(invalid);
    const stranger = { key: await platform.newKey({}, await platform.newAccount()) };
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      expect(await send(platform.url, method, { taskId }, stranger)).toMatchObject(invalid);
      const undeclared = await send(platform.url, method, { taskId }, { capabilities: {} });
      expect(undeclared).toMatchObject({ error: { code: -32_021 } });
    }
    expect(await order(platform.url, '')).toMatchObject({ result: { isError: true } });
    await completed(platform.url, taskId);
  });

  it('buys an image once through a kill of every process and a repeated call', async () => {
    const { key, spends } = await room.newPayer(1_000_000);
    const { marker, finish } = heldBack();
    const asPayer = { key };
    const call = { name: 'generate_image', arguments: { prompt: marker, size: '1024x1024' } };
    const victim = await startApi(platform.settings);
    const { result } = await send(victim.url, 'tools/call', call, asPayer);
    const { taskId } = CreateTaskResultV2Schema.parse(result);
    expect(await waitUntil(() => provider.startsOf(marker).length === 1, { timeoutMs: 30_000 })).toBe(true);
    for (const process of [victim, platform.worker]) {
      process.kill('SIGKILL');
      await process.exited;
    }
    await platform.pool.query('UPDATE tasks SET lease_until = now() WHERE id = $1', [taskId]);
    const worker = await startWorker(platform.settings);
    expect((await send(otherApi.url, 'tools/call', call, asPayer)).result).toMatchObject({ taskId, status: 'working' });
    finish();
    const isOver = async (): Promise<boolean> =>
      (await send(otherApi.url, 'tasks/get', { taskId }, asPayer)).result?.status === 'completed';
    expect(await waitUntil(isOver, { timeoutMs: 60_000, everyMs: 200 })).toBe(true);
    const client = await mcpClient({ url: otherApi.url, key });
    clients.push(client);
    const { isError, facts } = await callTool(client, 'get_image', { id: taskId });
    expect(isError).toBe(false);
    expect(facts).toMatchObject({ id: taskId, status: 'completed', price: { amount: '0.040000', state: 'settled' } });
    expect(await spends(40_000)).toBe(40_000);
    const { rows } = await platform.pool.query(`SELECT id FROM tasks WHERE prompt = $1`, [marker]);
    expect(rows).toEqual([{ id: taskId }]);
    expect(await worker.stop()).toMatchObject({ code: 0 });
  });
});
