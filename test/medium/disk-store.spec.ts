import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { DiskStore } from '#storage/disk-store.js';
import { StorageError } from '#storage/object-store.js';
import { describeObjectStore, freshKey, keysBelow } from '../support/object-store-suite.js';

// Real: a folder on this machine's disk.
const PNG = { contentType: 'image/png' };
let folder: string;
let root: string;
let store: DiskStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-disk-'));
  root = join(folder, 'objects');
  store = new DiskStore(root);
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function some(text: string): Readable {
  return Readable.from([Buffer.from(text)]);
}

describe('DiskStore', () => {
  describeObjectStore({
    store: () => store,
    leftovers: async () => await readdir(join(root, '.unfinished')).catch(() => []),
    atomic: true,
  });

  it('lets nobody else read', async () => {
    const key = freshKey();
    await store.put(key, some('private'), PNG);
    expect((await stat(join(root, key))).mode & 0o777).toBe(0o600);
    for (const path of [root, join(root, 'inputs'), join(root, key, '..'), join(root, '.unfinished')])
      expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  it('follows no link in place of an object, a folder or the scratch folder', async () => {
    const outside = join(folder, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, '0'), 'not ours');
    await mkdir(join(root, 'inputs', 'task_1'), { recursive: true });
    await symlink(join(outside, '0'), join(root, 'inputs', 'task_1', '0'));
    await symlink(outside, join(root, 'inputs', 'task_2'));
    await expect(store.open('inputs/task_1/0')).rejects.toThrow(StorageError);
    await expect(store.open('inputs/task_2/0')).rejects.toThrow(StorageError);
    await expect(store.put('inputs/task_2/1', some('x'), PNG)).rejects.toThrow(StorageError);
    await expect(store.delete('inputs/task_2/0')).rejects.toThrow(StorageError);
    expect(await keysBelow(store, 'inputs/')).toEqual([]);
    await store.put('inputs/task_1/0', some('ours'), PNG);
    expect(await readFile(join(outside, '0'), 'utf8')).toBe('not ours');
    await rm(join(root, '.unfinished'), { recursive: true });
    await symlink(outside, join(root, '.unfinished'));
    await expect(store.put('inputs/task_3/0', some('x'), PNG)).rejects.toThrow(StorageError);
    expect(await readdir(outside)).toEqual(['0']);
  });

  it('makes no folder behind a planted link', async () => {
    await mkdir(join(folder, 'outside'));
    await mkdir(root);
    await symlink(join(folder, 'outside'), join(root, 'inputs'));
    await expect(store.put('inputs/task_1/0', some('x'), PNG)).rejects.toThrow(StorageError);
    expect(await readdir(join(folder, 'outside'))).toEqual([]);
  });

  it('sweeps what a killed process left, and only that', async () => {
    const scratch = join(root, '.unfinished');
    await mkdir(scratch, { recursive: true });
    await writeFile(join(scratch, 'dead'), 'half an image');
    await utimes(join(scratch, 'dead'), new Date(0), new Date(0));
    await writeFile(join(scratch, 'alive'), 'half an image');
    await store.put(freshKey(), some('x'), PNG);
    expect(await readdir(scratch)).toEqual(['alive']);
  });

  it('keeps no empty folder for a task whose inputs are gone, however puts and deletes meet', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => `inputs/task_1/${index}`);
    for (const key of keys) {
      await store.put(key, some('x'), PNG);
      await Promise.all([store.delete(key), store.put('inputs/task_1/stays', some('y'), PNG)]);
      await store.delete('inputs/task_1/stays');
    }
    expect(await readdir(join(root, 'inputs'))).toEqual([]);
  });

  it('fails its check where nothing can be written', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(new DiskStore(join(folder, 'file', 'objects')).check()).rejects.toThrow(StorageError);
    await expect(new DiskStore('/proc/darkroom').check()).rejects.toThrow(StorageError);
  });

  it('names neither path nor content in its errors', async () => {
    await writeFile(root, 'a file where the folder should be');
    const error = await store.put(freshKey(), some('x'), PNG).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({
      name: 'StorageError',
      message: expect.stringMatching(/^object store: writing in DATA_DIR failed \(E\w+\)$/),
    });
  });
});
