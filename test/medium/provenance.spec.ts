import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { credentialsOf, withCredentials } from '#images/content-credentials.fixture.js';
import { itWithExifTool, readMetadata } from '#images/exiftool.fixture.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import type { ImageProvider } from '#providers/image-provider.js';
import { SandboxProvider } from '#providers/sandbox/sandbox-provider.js';
import { DiskStore } from '#storage/disk-store.js';
import { allTasksOf } from '#tasks/row/task.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { imageOf, imageWorker, vendor } from '../support/image-worker.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

describe('where an image comes from', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  beforeAll(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-provenance-'));
    store = new DiskStore(folder);
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The row's word for it, and the stored bytes. */
  async function generated(provider: ImageProvider, provenance: 'on' | 'off') {
    const registry = ProviderRegistry.of(new Map([['gpt-image-2', provider]]));
    const { id } = await room.inserts.insert(command({}), 900_000);
    await imageWorker(room, { store, registry, provenance }).run(id);
    const [image] = (await room.store.find(allTasksOf(TEST_ACCOUNT), id))?.images ?? [];
    const bytes = await buffer((await store.open(image?.key ?? '')).stream);
    expect(image?.bytes).toBe(bytes.length);
    return { id, bytes, provenance: image?.provenance };
  }

  itWithExifTool('stands in the file of an image of the sandbox, with its task', async () => {
    const { id, bytes, provenance } = await generated(new SandboxProvider(), 'on');
    expect(provenance).toBe('marked');
    expect(await readMetadata(bytes)).toMatchObject({ 'XMP-dc:Identifier': id });
  });

  itWithExifTool('stands nowhere when that is switched off', async () => {
    const signed = await withCredentials(await gradientImage(1024, 1024, 'png'), 'png');
    for (const provider of [new SandboxProvider(), vendor(() => Promise.resolve(imageOf(signed)))]) {
      const { bytes, provenance } = await generated(provider, 'off');
      expect(provenance).toBe('none');
      expect(Object.keys(await readMetadata(bytes)).filter((name) => name.startsWith('XMP'))).toEqual([]);
      expect(await credentialsOf(bytes, 'png')).toEqual({ valid: false, found: [] });
    }
  });
});
