import { GENERATIONS, lineOf, endedBatch, startBatch, uploadLines } from '../support/batches.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const TEXTS = [
  ['NUL', 'a\u0000b'],
  ['the first half of a pair', 'a\ud800b'],
  ['the second half of a pair', 'a\udc00b'],
] as const;
const IMAGE = { model: 'gpt-image-2', prompt: 'a pear' };

/** JSON can say them, and Postgres takes them in no text, or in no JSON. Where nothing refuses them, they end as 5xx. */
describe.each(TEXTS)('%s in a field that is stored', (_what, text) => {
  let platform: ApiPlatform;
  let ada: Browser;
  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  const outcomeOf = async (response: Response): Promise<unknown> => {
    const { type, error } = (await response.json()) as { type: string; error: Record<string, unknown> };
    return [response.status, type, error['type'], error['code'], error['param']];
  };
  const refused = (param: string, code = 'invalid_value') => [400, 'error', 'invalid_request_error', code, param];

  it.each([
    ['the value', { a: text }],
    ['the name', { [text]: 'a' }],
  ])('is refused as %s of metadata of a batch', async (_where, metadata) => {
    const input = await uploadLines(platform, [lineOf('a', IMAGE)]);
    const body = { input_file_id: input, endpoint: GENERATIONS, completion_window: '24h', metadata };
    expect(await outcomeOf(await platform.call('/v1/batches', { body }))).toEqual(refused('metadata'));
  });

  it('is refused as custom_id', async () => {
    const { id } = await startBatch(platform, [lineOf(text, IMAGE)]);
    const { status, errors } = await endedBatch(platform, id);
    expect([status, errors?.data]).toEqual([
      'failed',
      [expect.objectContaining({ code: 'invalid_custom_id', line: 1, param: 'custom_id' })],
    ]);
  });

  it.each([
    ['/v1/images/generations/async', { ...IMAGE, callback_url: `https://example.org/${text}` }, 'callback_url'],
    ['/v1/images/generations', { ...IMAGE, image_urls: [`https://example.org/${text}`] }, 'image_urls[0]'],
    ['/v1/images/edits', { ...IMAGE, images: [{ image_url: `https://example.org/${text}` }] }, 'images[0].image_url'],
    ['/v1/tasks/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A/reject', { reason: text }, 'reason'],
  ])('is refused by %s: %j', async (path, body, param) => {
    const code = param.startsWith('image') ? 'invalid_image_url' : 'invalid_value';
    const { key } = await platform.newKeyWithId({ scopes: ['images', 'approve'] });
    expect(await outcomeOf(await platform.call(path, { body, key }))).toEqual(refused(param, code));
  });

  it.each([
    ['POST', '/erasures', { tag: text }, 'tag'],
    ['POST', '/erasures', { end_user: text }, 'end_user'],
    ['POST', '/end-users/state', { end_user: 'x', state: 'blocked', reason: text }, 'reason'],
    ['POST', '/task-views', { name: 'x', text }, 'text'],
    ['POST', '/session/account', { account_id: text }, 'account_id'],
    ['POST', '/keys', { name: 'x', models: [text] }, 'models'],
    ['POST', '/tasks/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A/reject', { reason: text }, 'reason'],
    ['POST', '/catalog/connection', { entry: { type: 'openai', base_url: 'https://x.org', [text]: 1 } }, 'entry'],
  ])('is refused in the console: %s %s %j', async (method, path, body, param) => {
    expect(await outcomeOf(await ada.call(path, { method, body }))).toEqual(refused(param));
  });

  it('is no fault of a prompt, which is drawn as most programs would show it', async () => {
    const response = await platform.call('/v1/images/generations/async', { body: { ...IMAGE, prompt: text } });
    if (text.includes('\u0000')) expect(await outcomeOf(response)).toEqual(refused('prompt'));
    else expect(response.status).toBe(202);
  });
});
