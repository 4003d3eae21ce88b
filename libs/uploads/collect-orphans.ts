import { Inject, Injectable } from '@nestjs/common';
import { decodeTime } from 'ulid';
import { ownerOfKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { Logger } from '#telemetry/logger.js';
import { UploadRepository } from './upload.repository.js';

const HOUR_MS = 3_600_000;
const BATCH = 500;
/** Age at which an object without a row is nobody's: until then, its request may still be in progress, and no task may take longer. */
export const STRAY_OBJECT_HOURS = 24;

/** The prefixes of all objects. */
const PREFIXES = ['inputs/', 'results/', 'uploads/', 'checks/'];

/** Objects without a row, of processes that died between storing bytes and writing the row, or in a store check. */
@Injectable()
export class CollectOrphans {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly tasks: TaskObjects,
    private readonly uploads: UploadRepository,
    private readonly logger: Logger,
  ) {}

  /** Removes them in one pass over all objects; `now` in ms since 1970. Throws when the database or the store fails. */
  async run(now: number): Promise<number> {
    let count = 0;
    for await (const key of this.find(now)) {
      await this.remove(key);
      count++;
    }
    if (count > 0) this.logger.info('retention.orphans_deleted', { count });
    return count;
  }

  /** Removes one of them. Throws like `run`. */
  async remove(key: string): Promise<void> {
    await this.tasks.forget([key]);
    await this.store.delete(key);
  }

  /**
   * Their keys. `skipped` is called for each object that is too young to be one of them. Throws when the database or the
   * store fails.
   */
  async *find(now: number, skipped?: () => void): AsyncIterable<string> {
    let batch: string[] = [];
    for (const prefix of PREFIXES) {
      for await (const key of this.store.list(prefix)) {
        if (isOlder(key, now - STRAY_OBJECT_HOURS * HOUR_MS)) batch.push(key);
        else skipped?.();
        if (batch.length < BATCH) continue;
        yield* await this.orphansOf(batch);
        batch = [];
      }
    }
    yield* await this.orphansOf(batch);
  }

  private async orphansOf(keys: readonly string[]): Promise<string[]> {
    if (keys.length === 0) return [];
    const ofTasks = await this.tasks.known(keys);
    const ofUploads = await this.uploads.known(keys);
    return keys.filter((key) => !ofTasks.has(key) && !ofUploads.has(key));
  }
}

/** False for an object whose name says no time: it is none of ours. */
function isOlder(key: string, before: number): boolean {
  const { ulid } = ownerOfKey(key);
  return ulid !== '' && decodeTime(ulid) < before;
}
