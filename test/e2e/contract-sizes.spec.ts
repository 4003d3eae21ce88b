import sharp from 'sharp';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';
/** The frozen table as it stands in the contract: size, then 1k, 2k, 4k. The sandbox has no auto mode of its own. */
const TABLE = `
  auto 1024x1024 2048x2048 2880x2880
  1:1  1024x1024 2048x2048 2880x2880
  3:2  1536x1024 2048x1360 3520x2336
  2:3  1024x1536 1360x2048 2336x3520
  4:3  1024x768  2048x1536 3312x2480
  3:4  768x1024  1536x2048 2480x3312
  5:4  1280x1024 2560x2048 3216x2576
  4:5  1024x1280 2048x2560 2576x3216
  16:9 1536x864  2048x1152 3840x2160
  9:16 864x1536  1152x2048 2160x3840
  2:1  2048x1024 2688x1344 3840x1920
  1:2  1024x2048 1344x2688 1920x3840
  21:9 2016x864  2688x1152 3840x1648
  9:21 864x2016  1152x2688 1648x3840`;
const ROWS = TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/));

describe('sizes', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform();
  }, 120_000);
  afterAll(() => platform.close());

  const generate = (changes: object, path = GENERATIONS, key = platform.key) =>
    platform.call(path, { body: { model: 'gpt-image-2', prompt: 'x', ...changes }, key });

  /** What the answer says and what its bytes are. */
  async function measured(response: Response): Promise<unknown> {
    const { size, data } = (await response.json()) as { size: string; data: { url: string }[] };
    const bytes = await (await fetch(data[0]?.url ?? '')).arrayBuffer();
    const { width, height, format } = await sharp(Buffer.from(bytes)).metadata();
    return [response.status, size, `${width}x${height}`, format];
  }

  it.each(ROWS)(
    '%s is %s, %s and %s pixels, measured from the bytes',
    async (size = '', ...tiers) => {
      const answers = await Promise.all(
        // Both cases are spellings of one tier.
        ['1k', '2K', '4k'].map((resolution) => generate({ size, resolution, output_format: 'jpeg' })),
      );
      expect(await Promise.all(answers.map(measured))).toEqual(tiers.map((pixels) => [200, pixels, pixels, 'jpeg']));
    },
    120_000,
  );

  it('are 1:1 at 2k when nothing is said', async () => {
    expect(await measured(await generate({ output_format: 'webp' }))).toEqual([200, '2048x2048', '2048x2048', 'webp']);
  });

  it('in pixels are refused by default, and are the entries of the table where key or deployment allow them', async () => {
    const pixels = ROWS.slice(1).flatMap(([, ...tiers]) => tiers);
    expect(pixels).toHaveLength(39);
    const key = await platform.newKey({ allow_pixel_size: true });
    const everywhere: TestProcess = await startApi({ ...platform.settings, ALLOW_PIXEL_SIZE: 'true' });
    platform.worker.kill('SIGSTOP');
    const statuses = async (size: string): Promise<number[]> => {
      const path = `${GENERATIONS}/async`;
      const body = JSON.stringify({ model: 'gpt-image-2', prompt: `pixels ${size}`, size });
      const headers = { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' };
      const anyKey = await fetch(everywhere.url + path, { method: 'POST', body, headers });
      const byDefault = await generate({ size }, path);
      return [byDefault.status, (await generate({ size, prompt: `key ${size}` }, path, key)).status, anyKey.status];
    };
    for (const size of pixels) expect([size, ...(await statuses(size))]).toEqual([size, 400, 202, 202]);
    for (const size of ['512x512', '1024x1023', '01024x1024', '1024X1024', '1024x1024 ']) {
      expect([size, ...(await statuses(size))]).toEqual([size, 400, 400, 400]);
    }
    const { rows } = await platform.pool.query<{ size: string; resolution: string; pixels: string }>(
      `SELECT options->>'size' AS size, options->>'resolution' AS resolution, split_part(prompt, ' ', 2) AS pixels
       FROM tasks WHERE status = 'pending'`,
    );
    expect(rows).toHaveLength(78);
    const tiers = ['1k', '2k', '4k'];
    for (const row of rows) {
      expect(ROWS.find(([size]) => size === row.size)?.[1 + tiers.indexOf(row.resolution)]).toBe(row.pixels);
    }
    await platform.pool.query(`DELETE FROM tasks WHERE status = 'pending'`);
    platform.worker.kill('SIGCONT');
    await everywhere.stop();
  }, 60_000);
});
