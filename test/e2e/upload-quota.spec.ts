import { gradientImage } from '#images/sample-images.fixture.js';
import { loadConfig } from '#config/load-config.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

describe('what an account may keep here', () => {
  let png: Buffer;
  let platform: ApiPlatform;
  beforeAll(async () => {
    png = await gradientImage(256, 192, 'png');
    platform = await startApiPlatform({ UPLOADS_PER_ACCOUNT_BYTES: String(png.length * 3) });
  });
  afterAll(() => platform.close());

  async function upload(key = platform.key): Promise<[status: number, code: string | undefined]> {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(png)]), 'a.png');
    const response = await platform.call('/v1/uploads/images', { key, body: form });
    const body = (await response.json()) as { error?: { code: string } };
    return [response.status, body.error?.code];
  }

  async function stored(): Promise<number> {
    const store = await createObjectStore(loadConfig([StorageConfig], platform.settings)[0]);
    let count = 0;
    for await (const _key of store.list('uploads/')) count++;
    return count;
  }

  it('Low: upload quota: uploads at once with several keys go no further than the quota, until one expires', async () => {
    const sibling = await platform.newKey();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => upload(n % 2 === 0 ? platform.key : sibling)),
    );
    expect(answers.filter(([status]) => status === 200)).toHaveLength(3);
    const refused: unknown = [413, 'upload_quota_exceeded'];
    expect(answers.filter(([status]) => status !== 200)).toEqual(Array.from({ length: 7 }, () => refused));
    expect(await stored()).toBe(3);
    expect(await upload()).toEqual(refused);

    const other = await platform.newKey({}, await platform.newAccount());
    expect(await upload(other)).toEqual([200, undefined]);
    await platform.pool.query(
      `UPDATE uploads SET expires_at = now() - interval '1 s' WHERE id = (SELECT id FROM uploads WHERE account_id = 'acct_default' LIMIT 1)`,
    );
    expect(await upload(sibling)).toEqual([200, undefined]);
    expect(await upload()).toEqual(refused);
    // One byte too many for a whole image is too many.
    await platform.pool.query(`UPDATE uploads SET bytes = bytes - 1 WHERE account_id = 'acct_default'`);
    expect(await upload()).toEqual(refused);
    expect(await stored()).toBe(5);
  });
});
