import { PathProxy } from '../support/path-proxy.js';
import { Browser, linkToken, PASSWORD } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

const BODY = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k', response_format: 'url' };

interface Accepted {
  readonly id: string;
  readonly poll_url: string;
}

describe.each([
  ['/images', 'passes on', false],
  ['/images', 'removes', true],
  ['/tools/darkroom', 'passes on', false],
  ['/tools/darkroom', 'removes', true],
])('PUBLIC_URL with the path %s, which the proxy %s', (path, _how, strips) => {
  let proxy: PathProxy;
  let platform: Platform;
  beforeAll(async () => {
    proxy = await PathProxy.start({ path, strips });
    // With a slash at the end, as addresses are pasted.
    platform = await startPlatform({ PUBLIC_URL: `${proxy.url}/` });
    proxy.target = platform.url;
  });
  afterAll(async () => {
    await platform.close();
    await proxy.close();
  });
  const call: Platform['call'] = (url, options) => platform.call(url, { ...options, at: proxy });

  it('serves an image at the link of its answer', async () => {
    const answer = await call('/v1/images/generations', { body: BODY });
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: { url: string }[] };
    expect(data[0]!.url.startsWith(`${proxy.url}/i/`)).toBe(true);
    const image = await fetch(data[0]!.url);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
  });

  it('accepts the unprefixed alias, whose URL begins like the path', async () => {
    expect((await call('/images/generations', { body: BODY })).status).toBe(200);
  });

  it('names the address to poll as it is on the host', async () => {
    const answer = await call('/v1/images/generations/async', { body: BODY });
    const { id, poll_url: poll } = (await answer.json()) as Accepted;
    expect([poll, answer.headers.get('location')]).toEqual([`${path}/v1/tasks/${id}`, `${path}/v1/tasks/${id}`]);
    const headers = { authorization: `Bearer ${platform.key}` };
    // The stream ends with the task.
    const events = await fetch(new URL(`${poll}/events`, proxy.url), { headers });
    expect(await events.text()).toContain('event: task.updated');
    const task = await fetch(new URL(`${poll}?wait=60`, proxy.url), { headers });
    expect(((await task.json()) as { data: { status: string } }).data.status).toBe('completed');
  });

  it('reads its own upload link as a reference', async () => {
    const form = new FormData();
    const answer = await call('/v1/images/generations', { body: { ...BODY, response_format: 'b64_json' } });
    const { data } = (await answer.json()) as { data: { b64_json: string }[] };
    form.append('file', new Blob([Buffer.from(data[0]!.b64_json, 'base64')], { type: 'image/png' }), 'a.png');
    const uploaded = await call('/v1/uploads/images', { method: 'POST', body: form });
    const { url } = (await uploaded.json()) as { url: string };
    expect(url.startsWith(`${proxy.url}/u/`)).toBe(true);
    const edited = await call('/v1/images/edits', { body: { ...BODY, images: [{ image_url: url }] } });
    expect(edited.status).toBe(200);
  });

  it('redirects, documents and names itself under the path', async () => {
    const home = await fetch(`${proxy.url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' });
    expect([home.status, home.headers.get('location')]).toEqual([302, `${path}/console`]);
    expect(await (await fetch(proxy.url)).json()).toMatchObject({ api: `${proxy.url}/v1` });
    const document = (await (await call('/openapi.json')).json()) as { servers: { url: string }[] };
    expect(document.servers).toEqual([{ url: path }]);
    const page = await (await call('/console/keys/anything')).text();
    const links = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) {
      expect(link.startsWith(`${path}/console/assets/`)).toBe(true);
      expect((await fetch(new URL(link, proxy.url))).status).toBe(200);
    }
  });

  it('signs in with a cookie of that path, and names links in it', async () => {
    const browser = new Browser(proxy.url);
    const origin = { headers: { origin: new URL(proxy.url).origin } };
    const token = await linkToken(platform, { purpose: 'first_admin' });
    const body = { token, email: 'ada@example.org', name: 'Ada', password: PASSWORD };
    const answer = await browser.call('/first-admin', { ...origin, body });
    expect(answer.headers.getSetCookie()[0]).toMatch(new RegExp(`; Path=${path}/console; `));
    expect((await browser.call('/session')).status).toBe(200);
    const invited = await browser.call('/people', {
      ...origin,
      body: { email: 'bob@example.org', role: 'member' },
    });
    expect(((await invited.json()) as { link: string }).link).toMatch(new RegExp(`^${proxy.url}/console/invite#`));
  });

  it('answers 404 and 405 as without a path', async () => {
    expect((await call('/v1/nothing')).status).toBe(404);
    expect((await call('/v1/images/generations')).status).toBe(405);
    expect((await platform.call(`${path}x/v1/models`)).status).toBe(404);
    expect((await platform.call('/readyz')).status).toBe(200);
  });
});

it('keeps the cookies of two installations on one https host apart', async () => {
  const platform = await startPlatform();
  const api = await startApi({ ...platform.settings, PUBLIC_URL: 'https://tools.example/images' });
  try {
    const token = await linkToken(platform, { purpose: 'first_admin' });
    const body = { token, email: 'ada@example.org', name: 'Ada', password: PASSWORD };
    const headers = { origin: 'https://tools.example' };
    const answer = await new Browser(api.url).call('/first-admin', { headers, body });
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^__Secure-darkroom_session=[^;]+;.*; Path=\/images\/console; HttpOnly; Secure; SameSite=Strict$/,
    );
  } finally {
    await api.stop();
    await platform.close();
  }
});
