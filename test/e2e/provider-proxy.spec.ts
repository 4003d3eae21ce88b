import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startConnectProxy, type ConnectProxy } from '../support/connect-proxy.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { image, json, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const CHAT = {
  id: 'chat-1',
  object: 'chat.completion',
  created: 1,
  model: 'talk',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** Names below .example are known to nobody, so whatever comes through has left the resolving to the proxy. */
describe('a network that only a proxy leads out of', () => {
  let folder: string;
  let proxy: ConnectProxy;
  let upstream: ScriptedUpstream;
  let platform: Platform;
  let far: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-proxy-'));
    [proxy, upstream] = await Promise.all([startConnectProxy(), startUpstream()]);
    const { port } = new URL(upstream.url);
    far = `openai.example:${port}`;
    const models = `
providers:
  far: { type: openai, base_url: "http://${far}/v1", keys: [{ name: team, env: KEY_OF_TEAM }] }
  near: { type: openai, base_url: "${upstream.url}", keys: [{ name: team, env: KEY_OF_TEAM }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: far }] }
  near-image: { kind: image, routes: [{ provider: near }] }
  talk: { kind: chat, routes: [{ provider: far }, { provider: near }] }
`;
    await writeFile(join(folder, 'models.yaml'), models);
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_OF_TEAM: 'sk-team',
      PROVIDER_PROXY: proxy.url,
      PROVIDER_NO_PROXY: 'intern.example,127.0.0.1',
      // Left alone: variables of other programs, which lead nowhere.
      HTTPS_PROXY: 'http://127.0.0.1:9',
      HTTP_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: '*',
    });
  });
  afterAll(async () => {
    await platform.close();
    await Promise.all([proxy.close(), upstream.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  const draw = async (model: string): Promise<number> => {
    upstream.script(image(await plainImage(1024, 1024)));
    const body = { model, prompt: `a pear of ${model}`, resolution: '1k' };
    const response = await platform.call('/v1/images/generations', { body });
    await response.text();
    return response.status;
  };
  const talk = async (): Promise<number> => {
    upstream.script(json(CHAT));
    const body = { model: 'talk', messages: [{ role: 'user', content: 'hello' }] };
    const response = await platform.call('/v1/chat/completions', { body });
    await response.text();
    return response.status;
  };

  it('serves images and chats by the proxy, and reaches exceptions directly', async () => {
    expect([await draw('gpt-image-2'), await talk()]).toEqual([200, 200]);
    expect(proxy.tunnels).toEqual([far, far]);
    expect(upstream.calls.map(({ headers }) => [headers.host, headers.authorization])).toEqual([
      [far, 'Bearer sk-team'],
      [far, 'Bearer sk-team'],
    ]);
    expect(upstream.calls.some(({ headers }) => 'proxy-authorization' in headers)).toBe(false);
    expect(await draw('near-image')).toBe(200);
    expect(proxy.tunnels).toHaveLength(2);
  });

  it('opens no address of a caller by it', async () => {
    const before = proxy.tunnels.length;
    const body = {
      model: 'gpt-image-2',
      prompt: 'a pear',
      resolution: '1k',
      images: [{ image_url: 'http://user.example/a.png' }],
    };
    const response = await platform.call('/v1/images/edits', { body });
    const { error } = (await response.json()) as { error: { code: string } };
    expect(error.code).toBe('failed_to_download_image');
    expect(proxy.tunnels).toHaveLength(before);
  });

  it('knows that nothing was sent when the proxy refuses: chats go to the next provider', async () => {
    await proxy.refuse(403);
    expect(await talk()).toBe(200);
    expect(upstream.calls.at(-1)?.headers.host).toBe(new URL(upstream.url).host);
    await proxy.refuse(undefined);
  });
});
