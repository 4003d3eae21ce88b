import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { DiskStore } from '#storage/disk-store.js';
import { InputUpload } from './input-upload.js';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 1, 2, 3]);
const TASK = 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A';

describe('InputUpload', () => {
  let folder: string;
  let store: DiskStore;
  let upload: InputUpload;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-upload-'));
    store = new DiskStore(folder);
    upload = new InputUpload(store, TASK, new AbortController().signal);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of store.list('inputs/')) keys.push(key);
    return keys;
  }

  it('stores what arrives, however it is cut, under the id of the task', async () => {
    const pieces = [...PNG].map((byte) => Buffer.from([byte]));
    const input = await upload.add(pieces, 2, 'image[2]');
    expect(input).toEqual({ kind: 'object', key: `inputs/${TASK}/2`, bytes: PNG.length, param: 'image[2]' });
    const { stream } = await store.open(`inputs/${TASK}/2`);
    expect(await buffer(stream)).toEqual(PNG);
  });

  it.each([
    ['nothing', [], 'invalid_image_file'],
    ['text', [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')], 'unsupported_image_media_type'],
    ['too short to tell', [PNG.subarray(0, 7)], 'unsupported_image_media_type'],
  ])('refuses %s and keeps nothing', async (_name, pieces, code) => {
    await expect(upload.add(pieces, 0, 'image')).rejects.toMatchObject({ code, param: 'image' });
    expect(await stored()).toEqual([]);
  });

  it('refuses a mask over 4 MB while it arrives, and keeps nothing of it', async () => {
    let sent = 0;
    function* endless(): Generator<Buffer> {
      // One chunk of pixels that is longer than any mask; many small ones would be refused for their number.
      yield Buffer.concat([PNG.subarray(0, 8), Buffer.from([0x7f, 0, 0, 0]), Buffer.from('IDAT')]);
      for (;;) {
        sent += 65_536;
        yield Buffer.alloc(65_536);
      }
    }
    await expect(upload.add(endless(), 'mask', 'mask')).rejects.toMatchObject({ code: 'image_file_too_large' });
    expect(sent).toBeLessThan(5_000_000);
    expect(await stored()).toEqual([]);
  });

  it('forgets all it stored when the request is not accepted', async () => {
    await upload.add([PNG], 0, 'image[0]');
    await upload.add([PNG], 'mask', 'mask');
    expect(await stored()).toHaveLength(2);
    await upload.discard();
    expect(await stored()).toEqual([]);
  });
});
