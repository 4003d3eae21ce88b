import { Inject, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { PrismaService } from '#database/prisma.service.js';
import { eraseDeliveries } from '#notifications/deliveries/erase-deliveries.js';
import { ownerOfKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { DeletedTask } from '#tasks/row/delete-task.sql.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';
import { Logger } from '#telemetry/logger.js';
import { UploadRepository } from '#uploads/upload.repository.js';

/** Tasks that are read at a time, and erased at a time. */
const BATCH = 200;
const AT_ONCE = 8;

/**
 * Erases what a deleted task's row only names: images, thumbnails, reference images, and uploads that nothing else
 * needs. Every step may be repeated, so another process finishes what one has begun.
 */
@Injectable()
export class EraseTasks {
  constructor(
    private readonly tasks: DeletedTasks,
    private readonly uploads: UploadRepository,
    private readonly prisma: PrismaService,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly logger: Logger,
  ) {}

  /** One round over all deleted tasks, and those whose lifetime is over. Throws when the database fails. */
  async run(): Promise<void> {
    while ((await this.tasks.markExpired(BATCH)) === BATCH);
    const limit = pLimit(AT_ONCE);
    let page: DeletedTask[] = [];
    do {
      page = await this.tasks.toErase(page.at(-1), BATCH);
      await Promise.all(page.map(({ id }) => limit(() => this.tryToErase(id))));
    } while (page.length === BATCH);
  }

  /**
   * Deletes the objects of a deleted task. False when it is to be repeated, because a worker may not have noticed yet.
   * Throws when the database or the store fails; then it is repeated, too.
   */
  async erase(id: string): Promise<boolean> {
    const found = await this.tasks.objectsOf(id);
    if (found === undefined) return true;
    await eraseDeliveries(this.prisma, id);
    await this.tasks.forgetInputs(id);
    for (const key of found.keys) await this.store.delete(key);
    const uploads = await this.unused(found.uploads, found.accountId, id);
    for (const key of uploads) await this.store.delete(key);
    await this.uploads.remove(uploads.map((key) => ownerOfKey(key).id));
    if (!found.isFinal) return false;
    const contents = {
      images: found.images.length,
      inputs: found.inputs,
      uploads: uploads.length,
      digest: digestOf(found.images),
    };
    await this.tasks.finish(id, contents);
    this.logger.info('task.erased', { taskId: id, count: found.images.length + found.inputs + uploads.length });
    return true;
  }

  private async tryToErase(id: string): Promise<void> {
    try {
      await this.erase(id);
    } catch (error) {
      // One object that can't be deleted must not keep the others.
      this.logger.warn('task.not_erased', { taskId: id, error });
    }
  }

  private async unused(keys: readonly string[], accountId: string, taskId: string): Promise<string[]> {
    const unused: string[] = [];
    for (const key of new Set(keys)) {
      if (await this.tasks.isUploadUnused(accountId, key, taskId)) unused.push(key);
    }
    return unused;
  }
}

/** See ErasedContents. Of images alone: a short text could be guessed from its digest. */
function digestOf(images: readonly { readonly sha256: string }[]): string {
  const lines = images.map(({ sha256 }) => `${sha256}\n`).sort();
  return createHash('sha256').update(lines.join('')).digest('hex');
}
