import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import sharp from 'sharp';
import { Webhook } from 'standardwebhooks';
import { waitUntil } from '#embedded/wait-until.js';
import { endedBatch, lineOf, resultsIn, startBatch } from '../support/batches.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import { patientSetting } from '../support/patience.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';
import {
  apiError,
  image,
  json,
  startUpstream,
  text,
  type Script,
  type ScriptedUpstream,
} from '../support/scripted-upstream.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes ok!').toString('base64')}`;
const GENERATIONS = '/v1/images/generations';
const CHAT = { model: 'talk', messages: [{ role: 'user', content: 'hi' }] };

interface EndUser {
  readonly end_user: string;
  readonly state: string;
  readonly until: string | null;
  readonly cause: string | null;
  readonly reason: string | null;
  readonly case_id: string | null;
  readonly changed_by: string | null;
  readonly refusals: object;
}
interface Told {
  readonly type: string;
  readonly data: { readonly kind: string; readonly title: string; readonly text: string };
}
interface Case {
  readonly entity_identifier: string;
  readonly notice: { readonly type: string };
  readonly reason: string;
}

/** Two API processes, so that what one learns the other one must learn, too. */
describe('end users who are a danger', () => {
  const cases = new Map<string, Case>();
  let upstream: ScriptedUpstream;
  let room: WebhookPlatform;
  let second: TestProcess;
  let worker: TestProcess;
  let ada: Browser;
  let eve: Browser;
  let folder: string;
  /** Derives identifiers; of the first account, and of another. */
  let key: string;
  let foreign: string;
  let moderated = false;
  let chatAnswer: Script | undefined;
  let dataUri = '';

  beforeAll(async () => {
    upstream = await startUpstream();
    const png = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#406080' } })
      .png()
      .toBuffer();
    dataUri = `data:image/png;base64,${png.toString('base64')}`;
    upstream.script((call, response) => {
      const found = cases.get(/^\/v1\/safety\/cases\/(.*)$/.exec(call.path)?.[1] ?? '');
      if (call.path.includes('/safety/')) return (found ? json(found) : apiError(404))(call, response);
      if (!call.path.includes('/images/'))
        return (chatAnswer ?? json({ id: 'resp_1', object: 'response' }))(call, response);
      const details = { categories: ['violence'], moderation_stage: 'input' };
      const refusal = { type: 'image_generation_user_error', code: 'moderation_blocked', moderation_details: details };
      return (moderated ? apiError(400, refusal) : image(png))(call, response);
    });
    folder = await mkdtemp(join(tmpdir(), 'darkroom-end-user-states-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }], webhook_secret: { env: UP_HOOKS } }
  silent: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
  talk: { kind: chat, routes: [{ provider: up }] }
`,
    );
    room = await startWebhookPlatform({
      // What a busy machine reads too late would be told again.
      WEBHOOK_TIMEOUT_MS: patientSetting(15_000, 60_000),
      MODELS_FILE: join(folder, 'models.yaml'),
      UP_KEY: 'upstream-secret',
      UP_HOOKS: SECRET,
    });
    worker = room.platform.worker;
    second = await startApi({ ...room.platform.settings, PORT: String(await freePort()) });
    key = await room.platform.newKey({ end_users: 'derive' });
    ada = await signInFirstAdmin(room.platform);
    const other = await room.platform.newAccount();
    foreign = await room.platform.newKey({ end_users: 'derive' }, other);
    eve = await signInInvited(room.platform, { email: 'eve@example.org', role: 'admin', accountId: other });
    await ada.ask('/alerts/channels', { body: { kind: 'webhook', address: room.receiver.url('/alerts') } });
    await eve.ask('/alerts/channels', { body: { kind: 'webhook', address: room.receiver.url('/hers') } });
    await eve.ask('/alerts/rules/end_user_abuse', { method: 'PUT', body: { enabled: true } });
  });
  afterAll(async () => {
    await Promise.all([second.stop(), worker.stop()]);
    await room.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  let count = 0;
  const post = (path: string, body: object, at?: TestProcess, by = key) =>
    room.platform.call(path, { key: by, body, ...(at && { at }) });
  const generate = (
    user: string,
    { path = GENERATIONS, at, by }: { path?: string; at?: TestProcess; by?: string } = {},
  ) => post(path, { model: 'gpt-image-2', prompt: `a pear, number ${++count}`, resolution: '1k', user }, at, by);
  const codeOf = async (response: Response) => {
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code];
  };
  const until = async (found: () => Promise<boolean>): Promise<void> => {
    expect(await waitUntil(found, { timeoutMs: 30_000 })).toBe(true);
  };
  /** The identifier that is recorded for a user of the application. */
  const recorded = async (user: string, by = key): Promise<string> => {
    const response = await generate(user, { by });
    expect(response.status).toBe(200);
    return ((await response.json()) as { safety_identifier: string }).safety_identifier;
  };
  const change = (name: string, state: string, reason?: string) =>
    ada.ask<EndUser>('/end-users/state', { body: { end_user: name, state, ...(reason && { reason }) } });
  const find = async (identifier: string, who = ada): Promise<readonly EndUser[]> =>
    (await who.ask<{ data: EndUser[] }>('/end-users/find', { body: { identifier } })).data;
  const stateOf = async (name: string) => (await find(name)).find(({ end_user: one }) => one === name);
  const tasksOf = async (name: string): Promise<number> =>
    (await room.platform.pool.query('SELECT 1 FROM tasks WHERE end_user = $1', [name])).rowCount ?? 0;
  const audited = async (action: string, target: string) => {
    const sql = 'SELECT person_id, details FROM audit_log WHERE action = $1 AND target = $2';
    return (await room.platform.pool.query<{ person_id: string | null; details: object }>(sql, [action, target])).rows;
  };
  const alertFor = async (path: string, part: string): Promise<Told> => {
    const told = () => room.receiver.at(path).map(({ body }) => JSON.parse(body) as Told);
    const isOurs = ({ data: { title, text } }: Told) => `${title} ${text}`.includes(part);
    await until(() => Promise.resolve(told().some(isOurs)));
    return told().find(isOurs)!;
  };

  const signed = (event: object, { id = `wh_${++count}`, at = new Date(), secret = SECRET } = {}) => {
    const body = JSON.stringify(event);
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign(id, at, body),
    };
    return { body, headers };
  };
  const hook = (call: { body: string; headers: Record<string, string> }, provider = 'up') =>
    room.platform.call(`/hooks/providers/${provider}`, { ...call, key: null, method: 'POST' });
  const event = (kind: 'warning' | 'deactivation', caseId: string) => ({
    id: `evt_${caseId}`,
    object: 'event',
    type: `safety.${kind}_issued`,
    created_at: 1_795_233_600,
    data: { id: caseId },
  });
  const opened = (caseId: string, endUser: string, type: string, reason = 'Repeated attempts at violence.') =>
    cases.set(caseId, { entity_identifier: endUser, notice: { type }, reason });

  it('are refused everywhere once they are blocked by hand, and accepted again once they are not', async () => {
    const name = await recorded('mallory');
    const before = await tasksOf(name);
    expect(await generate('mallory', { at: second })).toMatchObject({ status: 200 });
    expect(await change(name, 'blocked', 'Fraud.')).toMatchObject({
      state: 'blocked',
      reason: 'Fraud.',
      cause: 'person',
    });
    const refused = [403, 'end_user_blocked'];
    for (const at of [undefined, second]) {
      // Chats: an image that is still accepted for a moment is refused by the worker.
      const chat = () => post('/v1/chat/completions', { ...CHAT, user: 'mallory' }, at);
      await until(async () => (await chat()).status === 403);
      expect(await codeOf(await chat())).toEqual(refused);
      expect(await codeOf(await generate('mallory', at && { at }))).toEqual(refused);
      const edit = { prompt: 'x', images: [{ image_url: dataUri }], user: 'mallory' };
      expect(await codeOf(await post('/v1/images/edits', edit, at))).toEqual(refused);
      const answer = { model: 'talk', input: 'hi', safety_identifier: 'mallory' };
      expect(await codeOf(await post('/v1/responses', answer, at))).toEqual(refused);
      const drawn = { ...CHAT, model: 'gpt-image-2', user: 'mallory' };
      expect(await codeOf(await post('/v1/chat/completions', drawn, at))).toEqual(refused);
    }
    const known = await tasksOf(name);
    expect(known).toBe(before + 1);
    expect(await codeOf(await generate('mallory', { at: second }))).toEqual(refused);
    expect(await tasksOf(name)).toBe(known);
    expect(await generate('mallory', { by: foreign })).toMatchObject({ status: 200 });
    expect(await find('mallory')).toMatchObject([{ state: 'none' }, { end_user: name, state: 'blocked' }]);
    expect((await find(name, eve)).map(({ state }) => state)).toEqual(['none', 'none']);
    expect(await audited('end_user.blocked', name)).toMatchObject([{ details: { reason: 'Fraud.' } }]);
    await change(name, 'none');
    await until(async () => (await generate('mallory', { at: second })).status === 200);
    expect(await audited('end_user.unblocked', name)).toHaveLength(1);
  });

  it('are refused as lines of batches, as callers of agents’ tools, and when their tasks are run again', async () => {
    const before = await generate('bulk');
    const { safety_identifier: name } = (await before.json()) as { safety_identifier: string };
    const agentKey = await room.platform.newKey({ end_users: 'derive' });
    const drawn = await post(GENERATIONS, { model: 'gpt-image-2', prompt: 'a plum' }, undefined, agentKey);
    const { safety_identifier: own } = (await drawn.json()) as { safety_identifier: string };
    await change(name, 'blocked');
    await change(own, 'blocked');
    const line = lineOf('one', { model: 'gpt-image-2', prompt: 'a pear', user: 'bulk' });
    const batch = await endedBatch(room.platform, (await startBatch(room.platform, [line], { key })).id, { key });
    expect(await resultsIn(room.platform, batch.error_file_id, { key })).toMatchObject([
      { response: { status_code: 403, body: { error: { code: 'end_user_blocked' } } } },
    ]);
    const client = await mcpClient({ url: room.platform.url, key: agentKey });
    try {
      const answer = await callTool(client, 'generate_image', { prompt: 'a plum' });
      expect(answer).toMatchObject({ isError: true, facts: { error: { code: 'end_user_blocked' } } });
    } finally {
      await client.close();
    }
    const again = await ada.call(`/tasks/${before.headers.get('x-task-id')}/again`, { method: 'POST' });
    expect(await codeOf(again)).toEqual([403, 'end_user_blocked']);
  });

  it('get nothing bought any more for what waits when they are blocked, and it is refunded', async () => {
    const name = await recorded('waiting');
    worker.kill('SIGSTOP');
    try {
      const accepted = await generate('waiting', { path: `${GENERATIONS}/async` });
      expect(accepted.status).toBe(202);
      await change(name, 'blocked');
      const bought = upstream.calls.length;
      worker.kill('SIGCONT');
      const id = accepted.headers.get('x-task-id');
      const row = async () =>
        (
          await room.platform.pool.query<{ status: string; error: object | null; provider_starts: number }>(
            'SELECT status, error, provider_starts FROM tasks WHERE id = $1',
            [id],
          )
        ).rows[0];
      await until(async () => (await row())?.status !== 'pending');
      expect(await row()).toMatchObject({
        status: 'failed',
        error: { code: 'end_user_blocked', http_status: 403 },
        provider_starts: 0,
      });
      expect(upstream.calls).toHaveLength(bought);
      const { rows } = await room.platform.pool.query(
        'SELECT kind, amount_micros::int AS amount FROM charges WHERE task_id = $1 ORDER BY kind',
        [id],
      );
      expect(rows).toMatchObject([
        { kind: 'refund', amount: 20_000 },
        { kind: 'reserve', amount: 20_000 },
      ]);
    } finally {
      worker.kill('SIGCONT');
    }
  });

  it('are flagged by a provider’s warning and blocked by its deactivation, with an alert to their account alone', async () => {
    const name = await recorded('trudy', foreign);
    opened('case_warning', name, 'warning');
    expect(await codeOf(await hook(signed(event('warning', 'case_warning'))))).toEqual([200, undefined]);
    const told = await alertFor('/hers', 'case_warning');
    expect(told).toMatchObject({ type: 'alert.firing', data: { kind: 'end_user_abuse' } });
    expect(told.data.title).toBe(`End user ${name} was flagged`);
    expect(told.data.text).toContain('Repeated attempts at violence.');
    expect((await find(name, eve))[0]).toMatchObject({ state: 'flagged', cause: 'provider', case_id: 'case_warning' });
    expect((await generate('trudy', { by: foreign })).status).toBe(200);

    opened('case_end', name, 'deactivation');
    const call = signed(event('deactivation', 'case_end'));
    expect(await hook(call)).toMatchObject({ status: 200 });
    await alertFor('/hers', 'case_end');
    for (const at of [undefined, second]) {
      await until(async () => (await generate('trudy', { by: foreign, ...(at && { at }) })).status === 403);
    }
    expect(await audited('end_user.blocked', name)).toMatchObject([
      { person_id: null, details: { provider: 'up', case_id: 'case_end' } },
    ]);
    expect((await upstreamHeaders('case_end'))?.['authorization']).toBe('Bearer upstream-secret');

    // A repetition does nothing, not even after an admin has decided otherwise.
    await eve.ask('/end-users/state', { body: { end_user: name, state: 'none', reason: 'Talked to them.' } });
    expect(await hook(call)).toMatchObject({ status: 200 });
    const { rows } = await room.platform.pool.query("SELECT outcome FROM safety_notices WHERE case_id = 'case_end'");
    expect(rows).toEqual([{ outcome: 'applied' }]);
    expect((await find(name, eve))[0]).toMatchObject({ state: 'none' });
    expect(
      room.receiver
        .at('/alerts')
        .map(({ body }) => body)
        .join(),
    ).not.toContain(name);
  });
  const upstreamHeaders = (caseId: string) =>
    Promise.resolve(upstream.calls.find(({ path }) => path.endsWith(`/safety/cases/${caseId}`))?.headers);

  it('are blocked by a deactivation in the case of their warning, and stay so when that comes again', async () => {
    const name = await recorded('repeat');
    opened('case_both', name, 'warning', 'Nothing\u0000 a row can have.');
    const ended = async () => {
      const sql = "SELECT 1 FROM safety_notices WHERE case_id = 'case_both' AND outcome = 'applied'";
      return (await room.platform.pool.query(sql)).rowCount;
    };
    for (const [kind, state] of [
      ['warning', 'flagged'],
      ['deactivation', 'blocked'],
      ['warning', 'blocked'],
    ] as const) {
      const before = (await ended()) ?? 0;
      expect(await hook(signed(event(kind, 'case_both')))).toMatchObject({ status: 200 });
      await until(async () => (await ended()) === before + 1);
      expect(await stateOf(name)).toMatchObject({
        state,
        case_id: 'case_both',
        reason: 'Nothing\ufffd a row can have.',
      });
    }
  });

  it('that no identifier can mean are nobody’s, and their notice ends', async () => {
    opened('case_odd', 'odd\u0000one', 'warning');
    expect(await hook(signed(event('warning', 'case_odd')))).toMatchObject({ status: 200 });
    const sql = "SELECT outcome, end_user FROM safety_notices WHERE case_id = 'case_odd' AND ended_at IS NOT NULL";
    await until(async () => (await room.platform.pool.query(sql)).rowCount === 1);
    const { rows } = await room.platform.pool.query(sql);
    expect(rows).toEqual([{ outcome: 'unknown', end_user: 'odd\ufffdone' }]);
  });

  it('that nobody knows are told to the operator', async () => {
    opened('case_unknown', 'eu_of-somebody-else', 'warning');
    expect(await hook(signed(event('warning', 'case_unknown')))).toMatchObject({ status: 200 });
    expect(await alertFor('/alerts', 'case_unknown')).toMatchObject({ data: { kind: 'unmatched_notice' } });
  });

  it('are not touched by webhooks that are forged, old, or of a provider without a secret', async () => {
    const name = await recorded('innocent');
    opened('case_forged', name, 'deactivation');
    const forged = event('deactivation', 'case_forged');
    const other = `whsec_${Buffer.from('another secret, as long as ours').toString('base64')}`;
    const call = signed(forged);
    const tries = [
      [signed(forged, { secret: other }), 'up'],
      [signed(forged, { at: new Date(Date.now() - 6 * 60_000) }), 'up'],
      [signed(forged, { at: new Date(Date.now() + 6 * 60_000) }), 'up'],
      [{ ...call, body: call.body.replace('case_forged', 'case_forgot') }, 'up'],
      [{ ...call, headers: { ...call.headers, 'webhook-id': 'wh_other' } }, 'up'],
      [{ ...call, headers: { ...call.headers, 'webhook-signature': 'v1' } }, 'up'],
      [{ ...call, headers: { 'content-type': 'application/json' } }, 'up'],
      [call, 'silent'],
      [call, 'nobody'],
      [call, 'constructor'],
    ] as const;
    for (const [sent, provider] of tries) {
      expect(await codeOf(await hook(sent, provider))).toEqual([401, 'invalid_signature']);
    }
    const long = signed({ ...forged, more: 'x'.repeat(20_000) });
    expect(await codeOf(await hook(long))).toEqual([413, 'request_too_large']);
    expect(await codeOf(await hook(signed({ ...forged, data: {} })))).toEqual([400, 'invalid_value']);
    expect(await hook(signed({ ...forged, type: 'batch.completed' }))).toMatchObject({ status: 200 });
    const { rows } = await room.platform.pool.query("SELECT 1 FROM safety_notices WHERE case_id LIKE 'case_forg%'");
    expect(rows).toEqual([]);
    expect(await stateOf(name)).toMatchObject({ state: 'none' });
    // However often somebody tries: then they are told to wait, and a right signature still counts.
    await until(async () => (await hook(tries[0][0])).status === 429);
    expect(await hook(signed({ ...forged, type: 'batch.completed' }))).toMatchObject({ status: 200 });
  });

  it('are told by the webhooks of a provider that was added in the console, whose secret is never shown', async () => {
    const catalog = async () => {
      const { revision, providers } = await ada.ask<{
        revision: number;
        providers: { name: string; has_webhook_secret: boolean }[];
      }>('/catalog');
      return { revision, text: JSON.stringify(providers), main: providers.find(({ name }) => name === 'main') };
    };
    const put = async (more: object) => {
      const entry = { type: 'openai', base_url: upstream.url };
      const body = { entry, revision: (await catalog()).revision, ...more };
      return await ada.call('/catalog/providers/main', { method: 'PUT', body });
    };
    const harmless = { type: 'batch.completed', data: {} };
    const statusOf = async () => (await hook(signed(harmless), 'main')).status;
    const keys = [{ name: 'team', key: 'sk-main' }];
    expect(await codeOf(await put({ keys, webhook_secret: 'not a secret' }))).toEqual([400, 'invalid_value']);
    expect((await put({ keys, webhook_secret: SECRET })).status).toBe(200);
    await until(async () => (await statusOf()) === 200);
    // Whoever changes something else keeps it.
    expect((await put({})).status).toBe(200);
    expect(await statusOf()).toBe(200);
    expect(await catalog()).toMatchObject({ main: { has_webhook_secret: true } });
    expect((await catalog()).text).not.toContain(SECRET);
    const { rows } = await room.platform.pool.query('SELECT entries::text AS text FROM catalog_revisions');
    expect(JSON.stringify(rows)).not.toContain(SECRET);
    expect((await put({ webhook_secret: null })).status).toBe(200);
    expect(await catalog()).toMatchObject({ main: { has_webhook_secret: false } });
    await until(async () => (await statusOf()) !== 200);
  });

  it('are paused after so many refusals, which are counted by stage, until an admin ends it', async () => {
    const rule = { refusals: 2, window_minutes: 60, pause_minutes: 30 };
    expect(await ada.ask('/end-users/pause-rule', { method: 'PUT', body: rule })).toEqual(rule);
    const name = await recorded('rude');
    moderated = true;
    for (let refused = 0; refused < 2; refused++) {
      expect(await codeOf(await generate('rude'))).toEqual([400, 'moderation_blocked']);
    }
    moderated = false;
    await until(async () => (await generate('rude', { at: second })).status === 403);
    const refused = await generate('rude', { at: second });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(await codeOf(refused)).toEqual([403, 'end_user_paused']);
    expect(await stateOf(name)).toMatchObject({
      state: 'paused',
      cause: 'refusals',
      until: expect.any(String) as string,
      refusals: { input: 2, output: 0, unknown: 0 },
    });
    await alertFor('/alerts', `End user ${name} was paused`);
    expect(await audited('end_user.paused', name)).toHaveLength(1);
    const list = await ada.ask<{ data: EndUser[]; most_refused: EndUser[] }>('/end-users');
    expect(list.data.map(({ end_user: one }) => one)).toContain(name);
    expect(list.most_refused).toMatchObject([{ end_user: name }]);
    expect(await eve.ask('/end-users')).toMatchObject({ most_refused: [] });

    await change(name, 'none');
    await until(async () => (await generate('rude', { at: second })).status === 200);
    moderated = true;
    expect(await codeOf(await generate('rude'))).toEqual([400, 'moderation_blocked']);
    moderated = false;
    // What was before the pause was ended counts no more.
    expect(await stateOf(name)).toMatchObject({ state: 'none', refusals: { input: 3 } });
    const never = { ...rule, refusals: null };
    expect(await ada.ask('/end-users/pause-rule', { method: 'PUT', body: never })).toMatchObject({ refusals: null });
  });

  it('are paused for chats, too, that a provider refuses or stops for their content', async () => {
    const rule = { refusals: 4, window_minutes: 60, pause_minutes: 30 };
    await ada.ask('/end-users/pause-rule', { method: 'PUT', body: rule });
    const name = await recorded('ruder');
    const choice = { index: 0, message: { role: 'assistant', content: 'Once' }, finish_reason: 'content_filter' };
    const stopped = { id: 'c', object: 'chat.completion', choices: [choice] };
    const piece = { ...stopped, object: 'chat.completion.chunk', choices: [{ ...choice, delta: {} }] };
    const details = { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
    const chat = { ...CHAT, user: 'ruder' };
    const ask = async (path: string, body: object, answer: Script): Promise<number> => {
      chatAnswer = answer;
      const response = await post(path, body);
      await response.text();
      return response.status;
    };
    const refusals = async () => (await stateOf(name))?.refusals;
    const isCounted = (counts: object) => until(async () => isDeepStrictEqual(await refusals(), counts));
    expect(await refusals()).toEqual({ input: 0, output: 0, unknown: 0 });
    expect(await ask('/v1/chat/completions', chat, apiError(500, { message: 'Try again.' }))).toBe(500);
    expect(await ask('/v1/chat/completions', chat, json({ ...stopped, choices: [] }))).toBe(200);
    expect(await ask('/v1/chat/completions', chat, apiError(400, { code: 'content_filter', message: 'No.' }))).toBe(
      400,
    );
    expect(await ask('/v1/chat/completions', chat, json(stopped))).toBe(200);
    const events = text(`data: ${JSON.stringify(piece)}\n\ndata: [DONE]\n\n`, 'text/event-stream');
    expect(await ask('/v1/chat/completions', { ...chat, stream: true }, events)).toBe(200);
    await isCounted({ input: 1, output: 2, unknown: 0 });
    expect(await stateOf(name)).toMatchObject({ state: 'none' });
    const answer = { model: 'talk', input: 'hi', safety_identifier: 'ruder' };
    expect(await ask('/v1/responses', answer, json({ id: 'resp_1', object: 'response', ...details }))).toBe(200);
    chatAnswer = undefined;
    await until(async () => (await post('/v1/chat/completions', chat, second)).status === 403);
    expect(await stateOf(name)).toMatchObject({ state: 'paused', refusals: { input: 1, output: 3 } });
    await alertFor('/alerts', `End user ${name} was paused`);
    await change(name, 'none');
    await ada.ask('/end-users/pause-rule', { method: 'PUT', body: { ...rule, refusals: null } });
  });

  it('are blocked by a notice that arrived while no worker ran, and whose case could not be read at first', async () => {
    const name = await recorded('late');
    worker.kill('SIGKILL');
    await worker.exited;
    expect(await hook(signed(event('deactivation', 'case_late')))).toMatchObject({ status: 200 });
    worker = await startWorker(room.platform.settings);
    const tries = async () =>
      (await room.platform.pool.query("SELECT 1 FROM safety_notices WHERE case_id = 'case_late' AND tries > 0"))
        .rowCount;
    await until(async () => (await tries()) === 1);
    worker.kill('SIGKILL');
    await worker.exited;
    opened('case_late', name, 'deactivation');
    worker = await startWorker(room.platform.settings);
    // By chats: while they are still passed on, nothing is drawn for them.
    await until(async () => (await post('/v1/chat/completions', { ...CHAT, user: 'late' })).status === 403);
    expect(await stateOf(name)).toMatchObject({ state: 'blocked', case_id: 'case_late' });
  });
});
