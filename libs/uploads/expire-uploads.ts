import { Inject, Injectable } from '@nestjs/common';
import { uploadKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { APPROVAL_MS } from '#tasks/admission/approval.js';
import { HeldTasks } from '#tasks/reading/held-tasks.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Logger } from '#telemetry/logger.js';
import { UploadRepository } from './upload.repository.js';

const BATCH = 200;
/** Time allowed from checking an upload to writing the row of the task that names it: far more than is needed. */
const ACCEPTING_MS = 3_600_000;

/**
 * Removes uploads that no task can need any more. A task may name an upload until the moment that expires, and ends at
 * its deadline; so an upload is removed only when it has been expired for longer than a task can take. While any task waits
 * for its approval, or was approved and has not ended, that is so much longer.
 */
@Injectable()
export class ExpireUploads {
  constructor(
    private readonly uploads: UploadRepository,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
    private readonly held: HeldTasks,
  ) {}

  /** One round over everything that is due. Throws when the database or the store fails; the next round continues. */
  async run(): Promise<void> {
    while ((await this.remove()) === BATCH);
  }

  /** When the oldest expired upload became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const spared = await this.sparedMs();
    const oldest = await this.uploads.oldestExpired(new Date(Date.now() - spared));
    return oldest && new Date(oldest.getTime() + spared);
  }

  private async sparedMs(): Promise<number> {
    return this.config.deadlineMs + ACCEPTING_MS + ((await this.held.anyUnfinished()) ? APPROVAL_MS : 0);
  }

  /** Objects first: a row that is left over goes in the next round, an object without a row only as a stray one. */
  private async remove(): Promise<number> {
    const before = new Date(Date.now() - (await this.sparedMs()));
    const ids = await this.uploads.expired(before, BATCH);
    for (const id of ids) await this.store.delete(uploadKey(id));
    if (ids.length === 0) return 0;
    await this.uploads.remove(ids);
    this.logger.info('retention.uploads_deleted', { count: ids.length });
    return ids.length;
  }
}
