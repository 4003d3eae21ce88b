import type { Client } from '@modelcontextprotocol/client';
import { createHash, randomBytes } from 'node:crypto';
import { waitUntil } from '#embedded/wait-until.js';
import { type Browser, signInFirstAdmin, signInInvited } from '../support/console.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import { AgentMemory, CLIENT_NAME, connectAgent, finishAgent, RETURN_TO } from '../support/oauth-agent.js';
import { startPlatform, type Platform } from '../support/platform.js';

/** How long API processes may go on using a key that they have read. */
const CACHED_MS = 30_000;
const PARAMETERS = ['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method'];

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
}
interface Failure {
  readonly error: string;
}
interface Keys {
  readonly data: readonly {
    readonly id: string;
    readonly name: string;
    readonly oauth_client: string | null;
    readonly scopes: readonly string[];
    readonly tasks: string;
    readonly revoked_at: string | null;
  }[];
}

/** The whole walk with the official client, then each thing that somebody else might try. */
describe('authorization of MCP clients', () => {
  let platform: Platform;
  let ada: Browser;
  let mo: Browser;
  const clients: Client[] = [];

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await platform.close();
  });

  const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    platform.call(path, { key: null, body, headers });
  const form = (path: string, fields: Readonly<Record<string, string>>) =>
    post(path, new URLSearchParams(fields).toString(), { 'content-type': 'application/x-www-form-urlencoded' });
  const failure = async (response: Response): Promise<string> => ((await response.json()) as Failure).error;

  async function register(uris: readonly unknown[] = [RETURN_TO], name = CLIENT_NAME): Promise<string> {
    const response = await post('/oauth/register', { client_name: name, redirect_uris: uris });
    expect(response.status).toBe(201);
    return ((await response.json()) as { client_id: string }).client_id;
  }

  /** What a client puts into the address of the page, with the secret behind it. */
  function request(clientId: string, changes: Readonly<Record<string, string>> = {}) {
    const verifier = randomBytes(32).toString('base64url');
    const asked = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: RETURN_TO,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...changes,
    };
    return { verifier, asked };
  }

  /** Agrees as a user, and returns the code that takes them back. */
  async function agree(who: Browser, asked: object): Promise<string> {
    const { redirect_url: url } = await who.ask<{ redirect_url: string }>('/authorizations', { body: asked });
    return new URL(url).searchParams.get('code') ?? '';
  }

  async function grant(who = mo) {
    const clientId = await register();
    const { verifier, asked } = request(clientId);
    const code = await agree(who, asked);
    const exchange = { grant_type: 'authorization_code', client_id: clientId, redirect_uri: RETURN_TO };
    return { clientId, code, fields: { ...exchange, code, code_verifier: verifier } };
  }

  async function granted(who = mo) {
    const { clientId, fields } = await grant(who);
    const response = await form('/oauth/token', fields);
    expect(response.status).toBe(200);
    return { clientId, fields, tokens: (await response.json()) as Tokens };
  }

  const refresh = (clientId: string, token: string) =>
    form('/oauth/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: token });

  /** Whether the MCP server takes a token. */
  async function isTaken(token: string): Promise<boolean> {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { accept: 'application/json, text/event-stream' };
    const { status } = await platform.call('/mcp', { key: token, body, headers });
    expect([200, 401]).toContain(status);
    return status === 200;
  }

  /** What revoked keys, latest last, other than people. */
  async function revokedBy(): Promise<readonly string[]> {
    const sql = `SELECT details ->> 'by' AS by FROM audit_log WHERE action = 'key.revoked' AND person_id IS NULL ORDER BY id`;
    return (await platform.pool.query<{ by: string }>(sql)).rows.map(({ by }) => by);
  }

  const ends = (token: string): Promise<boolean> =>
    waitUntil(async () => !(await isTaken(token)), { timeoutMs: CACHED_MS });

  const keysOf = async (who: Browser) => (await who.ask<Keys>('/keys')).data.filter((key) => key.oauth_client !== null);

  it('lets the official client order images as its user, until they revoke its key', async () => {
    const memory = new AgentMemory();
    expect(await connectAgent(platform.url, memory)).toBeUndefined();
    const { page } = memory;
    expect(page?.href.split('?')[0]).toBe(`${platform.url}/console/authorize`);
    const search = Object.fromEntries(page?.searchParams ?? []);
    const asked = Object.fromEntries(
      [...PARAMETERS, 'state', 'resource'].flatMap((name) => (search[name] ? [[name, search[name]]] : [])),
    );
    expect(asked['resource']).toBe(`${platform.url}/mcp`);
    const question = await mo.ask('/authorizations/check', { body: asked });
    expect(question).toMatchObject({ client: CLIENT_NAME, returns_to: '127.0.0.1:3118', shares_limits_of: null });

    const { redirect_url: back } = await mo.ask<{ redirect_url: string }>('/authorizations', { body: asked });
    expect(back.startsWith(`${RETURN_TO}?`)).toBe(true);
    expect(Object.fromEntries(new URL(back).searchParams)).toMatchObject({
      state: 'state of the agent',
      iss: platform.url,
    });
    await finishAgent(platform.url, memory, back);
    const client = (await connectAgent(platform.url, memory)) as Client;
    clients.push(client);
    const { isError, facts } = await callTool(client, 'generate_image', { prompt: 'a pear' });
    expect([isError, facts.status]).toEqual([false, 'completed']);

    const [key, ...more] = await keysOf(mo);
    expect(more).toEqual([]);
    expect(key).toMatchObject({ name: `${CLIENT_NAME} (OAuth)`, scopes: ['images'], tasks: 'own', revoked_at: null });
    const { rows } = await platform.pool.query('SELECT api_key_id FROM tasks WHERE id = $1', [facts.id]);
    expect(rows).toEqual([{ api_key_id: key?.id }]);
    expect((await mo.call(`/keys/${key?.id}/rotate`, { body: { overlap_hours: 0 } })).status).toBe(400);
    await mo.ask(`/keys/${key?.id}/revoke`, { method: 'POST' });
    expect(await ends(memory.tokens()?.access_token ?? '')).toBe(true);
  });

  it('tells clients where to authorize, in a refusal and in its metadata', async () => {
    const refused = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(refused.status).toBe(401);
    const metadata = `${platform.url}/.well-known/oauth-protected-resource/mcp`;
    expect(refused.headers.get('www-authenticate')).toContain(`resource_metadata="${metadata}"`);
    const resource = (await (await fetch(metadata)).json()) as { authorization_servers: string[] };
    expect(resource).toMatchObject({ resource: `${platform.url}/mcp`, authorization_servers: [platform.url] });
    const server = await fetch(`${platform.url}/.well-known/oauth-authorization-server`);
    expect(await server.json()).toMatchObject({
      issuer: platform.url,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    });
    const other = await platform.call('/v1/models', { key: 'wrong' });
    expect(other.headers.get('www-authenticate')).toBe('Bearer');
  });

  it.each([
    ['no address', []],
    ['too many', Array.from({ length: 6 }, (_, n) => `https://example.org/${n}`)],
    ['another scheme', ['javascript:alert(1)']],
    ['a scheme of its own', ['cursor://callback']],
    ['http elsewhere', ['http://example.org/callback']],
    ['a fragment', ['https://example.org/#x']],
    ['a user', ['https://me@example.org/']],
    ['no text', [7]],
    ['a space', ['https://example.org/a b']],
    ['other characters than those of URIs', ['https://example.org/ä']],
    ['a long one', [`https://example.org/${'x'.repeat(600)}`]],
  ])('registers no client with %s', async (_what, uris) => {
    const response = await post('/oauth/register', { redirect_uris: uris });
    expect([response.status, await failure(response)]).toEqual([400, 'invalid_redirect_uri']);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['an address that was not registered', { redirect_uri: 'https://attacker.example/callback' }],
    ['the registered host with another path', { redirect_uri: 'http://127.0.0.1:3118/other' }],
    ['the registered address with a query', { redirect_uri: `${RETURN_TO}?next=1` }],
    ['a host that begins like this machine', { redirect_uri: 'http://127.0.0.1.attacker.example/callback' }],
    ['another name of this machine', { redirect_uri: 'http://localhost:3118/callback' }],
    ['a user in the address', { redirect_uri: 'http://127.0.0.1:3118@attacker.example/callback' }],
    ['a client that was not registered', { client_id: 'WyJ4Il0.c2lnbmF0dXJl' }],
    ['another method', { code_challenge_method: 'plain' }],
    ['no challenge', { code_challenge: '' }],
    ['another service', { resource: 'https://attacker.example/mcp' }],
  ])('neither asks a user nor sends them anywhere for %s', async (_what, changes) => {
    const { asked } = request(await register(), changes);
    for (const path of ['/authorizations/check', '/authorizations']) {
      const response = await mo.call(path, { body: asked });
      expect(response.status).toBe(400);
      expect(await response.text()).not.toContain('redirect_url');
    }
  });

  it('sends users back to any port of this machine', async () => {
    const { asked } = request(await register(), { redirect_uri: 'http://127.0.0.1:40123/callback' });
    const { redirect_url: url } = await mo.ask<{ redirect_url: string }>('/authorizations', { body: asked });
    expect(url.startsWith('http://127.0.0.1:40123/callback?')).toBe(true);
  });

  it('takes consent only from the console’s own pages, and from users who may have keys', async () => {
    const { asked } = request(await register());
    for (const headers of [{ origin: 'https://attacker.example' }, { 'x-darkroom-csrf': '' }]) {
      const response = await mo.call('/authorizations', { body: asked, headers });
      expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('forbidden_origin')]);
    }
    const viewer = await signInInvited(platform, { email: 'vi@example.org', role: 'viewer' });
    expect((await viewer.call('/authorizations', { body: asked })).status).toBe(403);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['another verifier', { code_verifier: 'x'.repeat(43) }],
    ['another address', { redirect_uri: 'http://127.0.0.1:4000/callback' }],
  ])('gives no tokens for a code with %s, and none afterwards', async (_what, changes) => {
    const { fields } = await grant();
    const refused = await form('/oauth/token', { ...fields, ...changes });
    expect([refused.status, await failure(refused)]).toEqual([400, 'invalid_grant']);
    expect((await form('/oauth/token', fields)).status).toBe(400);
  });

  it('gives another client no tokens for a code', async () => {
    const { fields } = await grant();
    const other = await register([RETURN_TO], 'Other');
    expect(await failure(await form('/oauth/token', { ...fields, client_id: other }))).toBe('invalid_grant');
    expect((await form('/oauth/token', fields)).status).toBe(200);
  });

  it('gives no tokens for a code that has expired', async () => {
    const { fields } = await grant();
    await platform.pool.query(`UPDATE oauth_tokens SET expires_at = now() WHERE kind = 'code' AND used_at IS NULL`);
    expect(await failure(await form('/oauth/token', fields))).toBe('invalid_grant');
  });

  it('revokes the key of a code that is used twice', async () => {
    const { fields, tokens } = await granted();
    expect(await isTaken(tokens.access_token)).toBe(true);
    // However late: the code is remembered for longer than it was good.
    const { rows } = await platform.pool.query<{ kept: boolean }>(
      `SELECT expires_at > now() + interval '1 hour' AS kept FROM oauth_tokens WHERE kind = 'code'
       ORDER BY used_at DESC NULLS LAST LIMIT 1`,
    );
    expect(rows).toEqual([{ kept: true }]);
    expect(await failure(await form('/oauth/token', fields))).toBe('invalid_grant');
    expect((await revokedBy()).at(-1)).toBe('a second use of a code');
    expect(await ends(tokens.access_token)).toBe(true);
  });

  it('gives tokens once for simultaneous exchanges of a code', async () => {
    const { fields } = await grant();
    const answers = await Promise.all(Array.from({ length: 5 }, () => form('/oauth/token', fields)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  it('rotates refresh tokens, and revokes the key of one that is used again', async () => {
    const { clientId, tokens } = await granted();
    const renewed = (await (await refresh(clientId, tokens.refresh_token)).json()) as Tokens;
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
    expect(await isTaken(renewed.access_token)).toBe(true);
    // A client whose answer was lost asks again at once.
    await platform.pool.query('UPDATE oauth_tokens SET used_at = now() WHERE used_at IS NOT NULL');
    const again = await refresh(clientId, tokens.refresh_token);
    expect(again.status).toBe(200);
    await platform.pool.query(`UPDATE oauth_tokens SET used_at = used_at - interval '1 minute'`);
    expect(await failure(await refresh(clientId, tokens.refresh_token))).toBe('invalid_grant');
    expect(await failure(await refresh(clientId, renewed.refresh_token))).toBe('invalid_grant');
    expect(await ends(renewed.access_token)).toBe(true);
  });

  it('gives another client nothing for a refresh token', async () => {
    const { tokens } = await granted();
    expect(await failure(await refresh(await register([RETURN_TO], 'Other'), tokens.refresh_token))).toBe(
      'invalid_grant',
    );
  });

  it('takes access tokens at the MCP server alone, and no other token at all', async () => {
    const { tokens } = await granted();
    expect(await isTaken(tokens.access_token)).toBe(true);
    for (const path of ['/v1/models', '/v1/tasks'])
      expect((await platform.call(path, { key: tokens.access_token })).status).toBe(401);
    const ordered = await platform.call('/v1/images/generations', { key: tokens.access_token, body: { prompt: 'x' } });
    expect(ordered.status).toBe(401);
    expect(await isTaken(tokens.refresh_token)).toBe(false);
  });

  it('ends an access token after its time', async () => {
    const { tokens } = await granted();
    await platform.pool.query(`UPDATE oauth_tokens SET expires_at = now() WHERE kind = 'access'`);
    expect(await isTaken(tokens.access_token)).toBe(false);
    expect(tokens).toMatchObject({ expires_in: 3_600, scope: 'images' });
  });

  it('ends with what the client revokes', async () => {
    const { clientId, tokens } = await granted();
    const revoke = (token: string) => form('/oauth/revoke', { client_id: clientId, token });
    expect((await revoke('dr-rt-unknown')).status).toBe(200);
    expect((await revoke(tokens.refresh_token)).status).toBe(200);
    expect((await revokedBy()).at(-1)).toBe('its client');
    expect(await ends(tokens.access_token)).toBe(true);
    expect(await failure(await refresh(clientId, tokens.refresh_token))).toBe('invalid_grant');
  });

  it('ends with its user, unlike their keys', async () => {
    const eve = await signInInvited(platform, { email: 'eve@example.org', role: 'member' });
    const { clientId, tokens } = await granted(eve);
    expect(await isTaken(tokens.access_token)).toBe(true);
    const disable = (is: boolean) =>
      platform.pool.query(`UPDATE people SET disabled_at = ${is ? 'now()' : 'NULL'} WHERE email = 'eve@example.org'`);
    await disable(true);
    expect(await ends(tokens.access_token)).toBe(true);
    expect(await failure(await refresh(clientId, tokens.refresh_token))).toBe('invalid_grant');
    await disable(false);
    const renewed = (await (await refresh(clientId, tokens.refresh_token)).json()) as Tokens;
    const { data } = await ada.ask<{ data: { id: string; email: string }[] }>('/people');
    const { id } = data.find(({ email }) => email === 'eve@example.org') ?? { id: '' };
    expect(await isTaken(renewed.access_token)).toBe(true);
    await ada.ask(`/people/${id}/delete`, { body: { name: 'Somebody', revoke_keys: false } });
    expect(await ends(renewed.access_token)).toBe(true);
    expect(await failure(await refresh(clientId, renewed.refresh_token))).toBe('invalid_grant');
  });

  it('shares the limits of a member whose key has some', async () => {
    const lee = await signInInvited(platform, { email: 'lee@example.org', role: 'member' });
    const { key } = await lee.ask<{ key: { id: string } }>('/keys', { body: { name: 'limited' } });
    await ada.ask(`/keys/${key.id}`, { method: 'PATCH', body: { submits_per_minute: 1, models: ['gpt-image-2'] } });
    const { asked } = request(await register());
    expect(await lee.ask('/authorizations/check', { body: asked })).toMatchObject({ shares_limits_of: 'limited' });
    await agree(lee, asked);
    const { rows } = await platform.pool.query(
      `SELECT original_key_id, submits_per_minute, models, scopes, tasks FROM api_keys
       WHERE oauth_client IS NOT NULL AND original_key_id = $1`,
      [key.id],
    );
    expect(rows).toEqual([
      { original_key_id: key.id, submits_per_minute: 1, models: ['gpt-image-2'], scopes: ['images'], tasks: 'own' },
    ]);
    // A client that has ended is no reason to refuse another one.
    for (const { id } of await keysOf(lee)) await lee.ask(`/keys/${id}/revoke`, { method: 'POST' });
    expect(await agree(lee, asked)).not.toBe('');
    for (const { id } of [key, ...(await keysOf(lee))]) await lee.ask(`/keys/${id}/revoke`, { method: 'POST' });
    const refused = await lee.call('/authorizations', { body: asked });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('has ended')]);
  });

  it('follows the limits that a member has today, whatever they were when they agreed', async () => {
    const ida = await signInInvited(platform, { email: 'ida@example.org', role: 'member' });
    const { tokens } = await granted(ida);
    const [client = { id: '' }] = await keysOf(ida);
    const agent = await mcpClient({ url: platform.url, key: tokens.access_token });
    clients.push(agent);
    let prompts = 0;
    const order = async (): Promise<string | undefined> => {
      const answer = await callTool(agent, 'generate_image', { prompt: `a lake, ${++prompts}`, resolution: '1k' });
      return (answer.facts as { error?: { code: string } }).error?.code;
    };
    const becomes = async (code: string | undefined): Promise<void> =>
      expect(await waitUntil(async () => (await order()) === code, { timeoutMs: CACHED_MS })).toBe(true);
    const shown = async () => {
      const { data } = await ada.ask<{ data: { id: string; submits_per_minute: number | null }[] }>('/keys');
      return data.find(({ id }) => id === client.id)?.submits_per_minute;
    };
    const set = (id: string, body: object) => ada.call(`/keys/${id}`, { method: 'PATCH', body });
    expect(await order()).toBeUndefined();

    const { key } = await ida.ask<{ key: { id: string } }>('/keys', { body: { name: 'later' } });
    await set(key.id, { submits_per_minute: 1 });
    await becomes('rate_limit_exceeded');
    expect(await shown()).toBe(1);
    const refused = await set(client.id, { submits_per_minute: 1_000 });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('shares the limits')]);

    await set(key.id, { submits_per_minute: 1_000 });
    await becomes(undefined);
    expect(await shown()).toBe(1_000);
    const payer = 'SELECT original_key_id AS id FROM api_keys WHERE id = $1';
    const sharesWith = async () => (await platform.pool.query<{ id: string | null }>(payer, [client.id])).rows[0]?.id;
    expect(await sharesWith()).toBe(key.id);
    await set(key.id, { submits_per_minute: null });
    const isFree = async (): Promise<boolean> => (await order()) === undefined && (await sharesWith()) === null;
    expect(await waitUntil(isFree, { timeoutMs: CACHED_MS })).toBe(true);
    expect(await shown()).toBeNull();

    // A limit of its own is the client's.
    expect((await set(client.id, { submits_per_minute: 1 })).status).toBe(200);
    await becomes('rate_limit_exceeded');
  });

  it('keeps no token, code or secret as it is, and writes down who authorized what', async () => {
    const { fields, tokens } = await granted();
    const { rows } = await platform.pool.query<{ text: string }>(
      'SELECT oauth_tokens::text || api_keys::text AS text FROM oauth_tokens JOIN api_keys ON api_keys.id = key_id',
    );
    const stored = rows.map(({ text }) => text).join('\n');
    const secrets = [fields.code, fields.code_verifier, tokens.access_token, tokens.refresh_token];
    for (const secret of secrets) expect(stored + platform.api.output()).not.toContain(secret);
    const { data } = await ada.ask<{ data: { action: string }[] }>('/audit');
    expect(data.map(({ action }) => action)).toContain('key.authorized');
  });

  it('refuses what is no form, or says something twice', async () => {
    const { fields } = await grant();
    expect(await failure(await post('/oauth/token', fields))).toBe('invalid_request');
    const twice = `${new URLSearchParams(fields).toString()}&code=x`;
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await failure(await post('/oauth/token', twice, type))).toBe('invalid_request');
    expect((await post('/oauth/token', 'x='.padEnd(20_000, 'x'), type)).status).toBe(413);
    expect(await failure(await form('/oauth/token', { ...fields, grant_type: 'password' }))).toBe(
      'unsupported_grant_type',
    );
    expect((await platform.call('/v1/images/generations', { body: 'prompt=x', headers: type })).status).toBe(415);
  });
});
