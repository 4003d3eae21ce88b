import { Inject, Injectable } from '@nestjs/common';
import { decodeTime } from 'ulid';
import { ownerOfKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskObjects } from '#tasks/task-objects.js';
import { Logger } from '#telemetry/logger.js';
import { UploadRepository } from '#uploads/upload.repository.js';

/** Younger objects may belong to a request that is still being accepted or an image that is just being settled. */
const MIN_AGE_MS = 24 * 3_600_000;
const BATCH = 500;

/** Removes objects that no row knows: of processes that died between storing bytes and writing the row. */
@Injectable()
export class CollectOrphans {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly tasks: TaskObjects,
    private readonly uploads: UploadRepository,
    private readonly logger: Logger,
  ) {}

  /** One walk over all objects; `now` in ms since the epoch. Throws when the database or the store fails. */
  async run(now: number): Promise<number> {
    let collected = 0;
    let batch: string[] = [];
    for (const prefix of ['inputs/', 'results/', 'uploads/']) {
      for await (const key of this.store.list(prefix)) {
        if (!isOld(key, now)) continue;
        batch.push(key);
        if (batch.length < BATCH) continue;
        collected += await this.collect(batch);
        batch = [];
      }
    }
    collected += await this.collect(batch);
    if (collected > 0) this.logger.info('retention.orphans_deleted', { count: collected });
    return collected;
  }

  private async collect(keys: readonly string[]): Promise<number> {
    if (keys.length === 0) return 0;
    const [ofTasks, ofUploads] = [await this.tasks.known(keys), await this.uploads.known(keys)];
    const orphans = keys.filter((key) => !ofTasks.has(key) && !ofUploads.has(key));
    for (const key of orphans) await this.store.delete(key);
    return orphans.length;
  }
}

function isOld(key: string, now: number): boolean {
  const { ulid } = ownerOfKey(key);
  return ulid !== '' && now - decodeTime(ulid) > MIN_AGE_MS;
}
