import { loadConfig } from '#config/load-config.js';
import { parseCatalog } from '#catalog/parse-catalog.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { waitUntil } from '#embedded/wait-until.js';
import { OpenAiChat } from '#providers/chat/openai-chat.js';
import { EntraTokens, type EntraClient } from '#providers/openai/entra-tokens.js';
import { OpenAiConfig } from '#providers/openai/openai.config.js';
import { OpenAiProvider } from '#providers/openai/openai-provider.js';
import { openAiSettings } from '#providers/openai/openai-settings.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { contextOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { orderOf, plainImage } from '../support/image-provider-suite.js';
import {
  apiError,
  hang,
  image,
  json,
  startUpstream,
  type Script,
  type ScriptedUpstream,
} from '../support/scripted-upstream.js';

const SECRET = 'client-secret~8Q.canary';
const WAIT = { timeoutMs: 30_000 };
const HOUR_MS = 3_600_000;

describe('Azure, as a provider of type openai', () => {
  let azure: ScriptedUpstream;
  let login: ScriptedUpstream;
  let png: Buffer;
  beforeAll(async () => {
    png = await plainImage(64, 64);
  });
  beforeEach(async () => {
    [azure, login] = [await startUpstream(), await startUpstream()];
    azure.script(image(png));
  });
  afterEach(() => Promise.all([azure.close(), login.close()]));

  const loginUrl = () => new URL(login.url).origin;
  function entryWith(options: string): ProviderEntry {
    const url = azure.url.replace(/\/v1$/, '/openai/v1');
    const text = `providers: { azure: { type: openai, base_url: "${url}", keys: [{ name: k, env: KEY }], options: ${options} } }
models: { gpt-image-2: { kind: image, routes: [{ provider: azure }] } }`;
    return parseCatalog(text, 'models.yaml', { KEY: SECRET }).providers.get('azure')!.servers[0]!;
  }
  const entra = () =>
    entryWith(`{ auth: entra, tenant: contoso.example, client_id: app-1, login_url: "${loginUrl()}" }`);
  function provider(entry: ProviderEntry): OpenAiProvider {
    const [config, egress] = loadConfig([OpenAiConfig, EgressConfig], {});
    return new OpenAiProvider(openAiSettings(entry, entry.keys[0], config), new PublicFetcher(egress));
  }
  /** Issues token-1, token-2, ... */
  function issue(seconds = 3_599): Script {
    let issued = 0;
    return (call, response) =>
      json({ token_type: 'Bearer', expires_in: seconds, access_token: `token-${++issued}` })(call, response);
  }
  const sentTokens = () => azure.calls.map(({ headers }) => headers.authorization);

  it('gets its key in the header api-key', async () => {
    await provider(entryWith('{ auth: api_key }')).generate(orderOf(), contextOf());
    const { path, headers } = azure.calls[0]!;
    expect(path).toBe('/openai/v1/images/generations');
    expect(headers['api-key']).toBe(SECRET);
    expect(headers).not.toHaveProperty('authorization');
  });

  it('gets a token that Entra issued for the client, one for many calls', async () => {
    login.script(issue());
    const adapter = provider(entra());
    await Promise.all(Array.from({ length: 3 }, () => adapter.generate(orderOf(), contextOf())));
    expect(sentTokens()).toEqual(Array.from({ length: 3 }, () => 'Bearer token-1'));
    expect(login.calls).toHaveLength(1);
    const { method, path, body } = login.calls[0]!;
    expect([method, path]).toEqual(['POST', '/contoso.example/oauth2/v2.0/token']);
    expect(Object.fromEntries(new URLSearchParams(body.toString()))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'app-1',
      client_secret: SECRET,
      scope: 'https://cognitiveservices.azure.com/.default',
    });
  });

  it('gets another token once it has rejected one', async () => {
    login.script(issue());
    azure.script(apiError(401, { code: 'PermissionDenied' }), image(png));
    const adapter = provider(entra());
    await expect(adapter.generate(orderOf(), contextOf())).rejects.toMatchObject({ keyRefused: true, charged: 'no' });
    await adapter.generate(orderOf(), contextOf());
    expect(sentTokens()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it('is not called without a token, and says why to operators alone', async () => {
    const description = `AADSTS7000215: Invalid client secret provided: ${SECRET} for app 'app-1'. Trace ID: 1`;
    login.script(json({ error: 'invalid_client', error_description: description }, 401));
    const failed = await provider(entra())
      .generate(orderOf(), contextOf())
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: 'upstream_error',
      message: 'Microsoft Entra issued no access token for the provider.',
      retryable: false,
      charged: 'no',
      keyRefused: true,
      status: 401,
      providerMessage: 'Entra sign-in failed invalid_client AADSTS7000215',
    });
    expect(JSON.stringify([failed, (failed as Error).cause, (failed as Error).stack])).not.toContain('canary');
    await login.close();
    await expect(provider(entra()).generate(orderOf(), contextOf())).rejects.toMatchObject({
      retryable: true,
      charged: 'no',
      keyRefused: false,
    });
    expect(azure.calls).toEqual([]);
    login = await startUpstream();
  });

  it('lets a call end while Entra does not answer', async () => {
    login.script(hang());
    const stop = new AbortController();
    const call = provider(entra()).generate(orderOf(), contextOf({ signal: stop.signal }));
    expect(await waitUntil(() => login.calls.length === 1, WAIT)).toBe(true);
    stop.abort(new Error('cancelled'));
    await expect(call).rejects.toThrow('cancelled');
  });

  it('answers chats with a token, too', async () => {
    login.script(issue());
    azure.script(json({ choices: [] }));
    const chat = new OpenAiChat(10_000);
    const entry = entra();
    const call = {
      method: 'POST',
      path: '/chat/completions',
      body: [Buffer.from('{}')],
      value: () => ({}),
      key: entry.keys[0],
      streamed: false,
      firstByteMs: 30_000,
      signal: new AbortController().signal,
    } as const;
    for (let n = 0; n < 2; n++) (await chat.call(entry, call)).body.resume();
    expect(sentTokens()).toEqual(['Bearer token-1', 'Bearer token-1']);
    login.script(json({ error: 'invalid_client' }, 401));
    const [other] = [{ ...entry, options: { ...entry.options, client_id: 'app-2' } }];
    await expect(chat.call(other, call)).rejects.toMatchObject({ name: 'ChatNotSent' });
    await chat.close();
  });

  describe('a token', () => {
    let now: number;
    let tokens: EntraTokens;
    const signal = new AbortController().signal;
    beforeEach(() => {
      now = 1_000_000;
      tokens = new EntraTokens(undefined, () => now);
    });
    const client = (): EntraClient => ({
      tokenUrl: `${loginUrl()}/t/oauth2/v2.0/token`,
      clientId: 'app',
      secret: SECRET,
      scope: 's',
    });

    it('is replaced before it expires, without any call waiting for it', async () => {
      login.script(issue(3_600));
      expect(await tokens.get(client(), signal)).toBe('token-1');
      now += HOUR_MS - 301_000;
      expect(await tokens.get(client(), signal)).toBe('token-1');
      expect(login.calls).toHaveLength(1);
      now += 2_000;
      expect(await tokens.get(client(), signal)).toBe('token-1');
      expect(await waitUntil(async () => (await tokens.get(client(), signal)) === 'token-2', WAIT)).toBe(true);
      expect(login.calls).toHaveLength(2);
    });

    it('is used to its end while no other is issued, and never after', async () => {
      login.script(issue(3_600));
      await tokens.get(client(), signal);
      login.script(apiError(503));
      now += HOUR_MS - 60_000;
      expect(await tokens.get(client(), signal)).toBe('token-1');
      expect(await waitUntil(() => login.calls.length === 2, WAIT)).toBe(true);
      expect(await tokens.get(client(), signal)).toBe('token-1');
      now += 60_000;
      await expect(tokens.get(client(), signal)).rejects.toMatchObject({ retryable: true, charged: 'no' });
    });

    it.each([
      ['no JSON', (_call, response) => void response.writeHead(200).end('<html>')],
      ['no token', json({ expires_in: 3_600 })],
      ['a token that no header carries', json({ expires_in: 3_600, access_token: 'a\r\nb' })],
      ['no time', json({ access_token: 'token' })],
    ] as [string, Script][])('is not taken from a response with %s', async (_what, script) => {
      login.script(script);
      await expect(tokens.get(client(), signal)).rejects.toMatchObject({ code: 'upstream_error', charged: 'no' });
    });
  });

  it('needs a tenant and a client for Entra', () => {
    const [config] = loadConfig([OpenAiConfig], {});
    const entry = entryWith('{ auth: entra, tenant: t }');
    expect(() => openAiSettings(entry, entry.keys[0], config)).toThrow(
      "options must have required property 'client_id'",
    );
    const keyless = entra();
    expect(() => openAiSettings(keyless, undefined, config)).toThrow(
      'keys must have the secret of the client, for entra',
    );
  });
});
