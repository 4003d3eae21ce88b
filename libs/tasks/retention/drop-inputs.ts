import { Inject, Injectable } from '@nestjs/common';
import { jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { Logger } from '#telemetry/logger.js';
import { overlayColumn, toInputs } from '../row/task-columns.js';
import type { TaskInput } from '../row/task.js';
import { forgetStoredInputs } from './stored-inputs.js';

/** Deletes the reference images of tasks that will never need them again, long before retention would. */
@Injectable()
export class DropInputs {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly logger: Logger,
  ) {}

  /**
   * Of a task that failed for its own request, and of one that was cancelled before any provider call: retrying it as it
   * is makes no sense. Retries have copies of their own. Does nothing for other tasks, and never fails: what can't be
   * deleted now is collected as an orphan, or by retention.
   */
  async drop(taskId: string): Promise<void> {
    try {
      await this.delete(taskId);
    } catch (error) {
      this.logger.warn('inputs.not_dropped', { taskId, error });
    }
  }

  private async delete(id: string): Promise<void> {
    const { task } = this.prisma;
    const where = {
      id,
      OR: [{ status: 'failed' }, { status: 'cancelled', providerStarts: 0 }],
      objectsDeletedAt: null,
    };
    const row = await task.findFirst({ where, select: { inputs: true, mask: true } });
    if (row === null) return;
    const { inputs, mask } = toInputs(row);
    const own = [...inputs, ...(mask === null ? [] : [mask])].flatMap((input) => (isOwn(input, id) ? [input.key] : []));
    if (own.length === 0) return;
    const left = inputs.map((input) => marked(input, id));
    const leftMask = mask === null ? null : marked(mask, id);
    // First the row, so that objects that remain are orphans, and none is looked for in vain.
    // One that was deleted meanwhile keeps nothing but the names of its objects.
    await task.updateMany({
      where: { id, objectsDeletedAt: null },
      data: { inputs: jsonOf(left), ...(leftMask && { mask: jsonOf(overlayColumn(leftMask)) }) },
    });
    await forgetStoredInputs(this.prisma, [id]);
    for (const key of own) await this.store.delete(key);
    this.logger.info('inputs.dropped', { taskId: id, count: own.length });
  }
}

/** Whether the image came with the task's own request; an upload expires separately. */
function isOwn(input: TaskInput, taskId: string): input is TaskInput & { kind: 'object' } {
  return input.kind === 'object' && input.deleted !== true && ownerOfKey(input.key).id === taskId;
}

function marked(input: TaskInput, taskId: string): TaskInput {
  return isOwn(input, taskId) ? { ...input, deleted: true } : input;
}
