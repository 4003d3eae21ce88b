import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, opendir, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { withoutFirst } from '#bytes/bytes.js';
import { IncomingBody } from './incoming-body.js';
import { assertObjectKey } from './object-key.js';
import {
  ObjectNotFound,
  RangeNotSatisfiable,
  StorageError,
  type ByteRange,
  type ObjectBody,
  type ObjectStore,
  type StoredObject,
} from './object-store.js';
import { probe } from './probe.js';
import { fileReader, storedStream } from './stored-stream.js';

/** Object keys cannot begin with a dot, so files in this folder are never objects. */
const UNFINISHED = '.unfinished';
/** Bytes of a stream that are written at once; so many are in memory for each that is being stored. */
const WRITTEN_BYTES = 262_144;
/** An active upload touches its file with every write, so a file this old belongs to a process that died. */
const STALE_MS = 3_600_000;

/** Stores objects as files below one folder, readable only by the current user. Symbolic links are never followed. */
export class DiskStore implements ObjectStore {
  private readonly root: string;
  private sweptAt = 0;

  constructor(folder: string) {
    this.root = resolve(folder);
  }

  async put(
    key: string,
    body: ObjectBody,
    options: { contentType: string; signal?: AbortSignal },
  ): Promise<{ bytes: number }> {
    const path = this.pathOf(key);
    const incoming = new IncomingBody(body, options.signal);
    try {
      return await this.write(path, incoming);
    } catch (error) {
      if (incoming.failure !== undefined) throw incoming.failure.error;
      throw asStorageError('writing', error);
    } finally {
      incoming.destroy();
    }
  }

  async open(key: string, options: { signal?: AbortSignal; range?: ByteRange } = {}): Promise<StoredObject> {
    const path = this.pathOf(key);
    options.signal?.throwIfAborted();
    const handle = await this.openFile(path);
    try {
      const found = await handle.stat();
      if (!found.isFile()) throw new ObjectNotFound('object store: no such object');
      const part = options.range && partOf(options.range, found.size);
      const bytes = part?.bytes ?? found.size;
      const first = part?.first ?? 0;
      const source = handle.createReadStream(part && { start: first, end: first + bytes - 1 });
      const expected = { first, bytes, signal: options.signal };
      return {
        stream: storedStream(source, expected),
        read: fileReader(handle, expected),
        bytes,
        ...(part && { part: { first, size: found.size } }),
      };
    } catch (error) {
      await handle.close();
      throw asStorageError('reading', error);
    }
  }

  async delete(key: string): Promise<void> {
    const path = this.pathOf(key);
    try {
      await this.assertNoSymbolicLinks(dirname(path));
      await unlink(path);
      await this.removeIfEmpty(dirname(path));
    } catch (error) {
      if (!isMissing(error)) throw asStorageError('deleting', error);
    }
  }

  async *list(prefix: string): AsyncGenerator<string, void, undefined> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    if (folder !== '') assertObjectKey(`${folder}x`);
    yield* this.walk(folder, prefix);
  }

  async check(): Promise<void> {
    await probe(this);
  }

  private async write(path: string, incoming: IncomingBody): Promise<{ bytes: number }> {
    const temporary = join(this.root, UNFINISHED, randomUUID());
    const handle = await this.create(temporary);
    try {
      for await (const pieces of gathered(incoming)) await writeAll(handle, pieces);
      await this.moveIntoPlace(temporary, path);
      // Sync after the rename, so that one flush makes both the bytes and the name survive a power failure.
      await handle.sync().catch(async (error: unknown) => {
        await unlink(path);
        throw error;
      });
    } catch (error) {
      await unlink(temporary).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
    return { bytes: incoming.bytes };
  }

  private async create(temporary: string): Promise<FileHandle> {
    const unfinished = dirname(temporary);
    try {
      await this.assertNoSymbolicLinks(unfinished);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.makeFolder(unfinished);
    }
    if (Date.now() - this.sweptAt > STALE_MS) await this.sweep(unfinished);
    return open(temporary, 'wx', 0o600);
  }

  private async moveIntoPlace(temporary: string, path: string, tries = 5): Promise<void> {
    try {
      await this.assertNoSymbolicLinks(dirname(path));
      await rename(temporary, path);
    } catch (error) {
      // Either this is the folder's first object, or a concurrent delete of its last object removed the folder.
      if (!isMissing(error) || tries === 0) throw error;
      await this.makeFolder(dirname(path));
      await this.moveIntoPlace(temporary, path, tries - 1);
    }
  }

  private async openFile(path: string): Promise<FileHandle> {
    try {
      await this.assertNoSymbolicLinks(dirname(path));
      return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if (isMissing(error)) throw new ObjectNotFound('object store: no such object', { cause: error });
      throw asStorageError('reading', error);
    }
  }

  private async *walk(folder: string, prefix: string): AsyncGenerator<string, void, undefined> {
    let entries;
    try {
      await this.assertNoSymbolicLinks(join(this.root, folder));
      entries = await opendir(join(this.root, folder));
    } catch (error) {
      if (isMissing(error)) return;
      throw asStorageError('listing', error);
    }
    for await (const entry of entries) {
      const name = `${folder}${entry.name}`;
      if (entry.isDirectory() && entry.name !== UNFINISHED && `${name}/`.startsWith(prefix.slice(0, name.length + 1)))
        yield* this.walk(`${name}/`, prefix);
      else if (entry.isFile() && name.startsWith(prefix)) yield name;
    }
  }

  /** Removes files that uploads of killed processes left behind, at most once an hour. */
  private async sweep(unfinished: string): Promise<void> {
    this.sweptAt = Date.now();
    for await (const entry of await opendir(unfinished)) {
      const path = join(unfinished, entry.name);
      const found = await lstat(path).catch(() => undefined);
      if (found !== undefined && Date.now() - found.mtimeMs > STALE_MS) await unlink(path).catch(() => undefined);
    }
  }

  /** Creates one level at a time, so that no folder is created behind a symbolic link. */
  private async makeFolder(folder: string): Promise<void> {
    if (folder.length <= this.root.length) return await makeWithAncestors(this.root);
    await this.makeFolder(dirname(folder));
    await mkdir(folder, { mode: 0o700 }).catch(ignoreExisting);
    await this.assertNoSymbolicLinks(folder);
  }

  /** Removes the folder of a task's input images once it is empty; the top-level folders stay. */
  private async removeIfEmpty(folder: string): Promise<void> {
    if (dirname(folder).length <= this.root.length) return;
    await rmdir(folder).catch(() => undefined);
  }

  /** The root itself may be a symbolic link, because operators mount disks that way; folders below it may not. */
  private async assertNoSymbolicLinks(folder: string): Promise<void> {
    for (let path = folder; path.length > this.root.length; path = dirname(path)) {
      const found = await lstat(path);
      if (!found.isDirectory()) throw new Error('a folder of the store is something else');
    }
  }

  private pathOf(key: string): string {
    assertObjectKey(key);
    return join(this.root, key);
  }
}

/** Collects chunks until a write is worth its cost. */
async function* gathered(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly Buffer[]> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    bytes += chunk.length;
    if (bytes < WRITTEN_BYTES) continue;
    yield pieces;
    pieces = [];
    bytes = 0;
  }
  if (pieces.length > 0) yield pieces;
}

async function writeAll(handle: FileHandle, pieces: readonly Buffer[]): Promise<void> {
  for (let left = withoutFirst(pieces, 0); left.length > 0;) {
    const { bytesWritten } = await handle.writev(left);
    left = withoutFirst(left, bytesWritten);
  }
}

/** Throws RangeNotSatisfiable. */
function partOf(range: ByteRange, size: number): { first: number; bytes: number } {
  const first = 'suffix' in range ? Math.max(0, size - range.suffix) : range.first;
  const last = 'suffix' in range ? size - 1 : Math.min(range.last ?? size - 1, size - 1);
  if (first > last) throw new RangeNotSatisfiable(size);
  return { first, bytes: last - first + 1 };
}

/** Recursive mkdir never returns on file systems that fail every attempt with ENOENT, such as /proc. */
async function makeWithAncestors(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!isMissing(error) || dirname(folder) === folder) return ignoreExisting(error);
    await makeWithAncestors(dirname(folder));
    await mkdir(folder, { mode: 0o700 }).catch(ignoreExisting);
  }
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined;
}

function asStorageError(doing: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  return new StorageError(`object store: ${doing} in DATA_DIR failed (${codeOf(error) ?? 'unknown'})`, {
    cause: error,
  });
}
