import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { Database } from '#database/database.js';
import { inputKey, ownerOfKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { SubmitTask } from '#tasks/submit-task.js';
import { TaskDetails, type TaskOrder } from '#tasks/task-details.js';
import { newTaskId } from '#tasks/task-id.js';
import type { TaskInput } from '#tasks/task.js';
import { RequestRules } from '../images/request-rules.js';
import { ConsoleCaller } from './console-caller.js';

/** Images of one kind of object are read back and stored anew under this type; what they are is seen when they are used. */
const CONTENT_TYPE = 'application/octet-stream';

/** Makes a new task of an old one's order, at today's price. */
@Injectable()
export class DrawAgain {
  private readonly details: TaskDetails;

  constructor(
    @Inject(Database) database: Database,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    @Inject(SubmitTask) private readonly tasks: SubmitTask,
    @Inject(RequestRules) private readonly rules: RequestRules,
    @Inject(ConsoleCaller) private readonly callers: ConsoleCaller,
  ) {
    this.details = new TaskDetails(database.pool);
  }

  /** The id of the new task. Throws AppError: `task_not_found`, `invalid_value` when its images are gone, as SubmitTask. */
  async run(accountId: string, id: string, requestId: string): Promise<string> {
    const order = await this.details.order(accountId, id);
    if (order === undefined) throw new AppError('task_not_found', 'There is no such task.');
    this.rules.assertModel(order);
    const caller = await this.callers.of(accountId);
    const taskId = newTaskId();
    const { inputs, mask } = await this.copyInputs(id, taskId, order);
    const { action, model, prompt, options } = order;
    await this.tasks.submit({
      ...{ id: taskId, accountId, apiKeyId: caller.keyId, weight: caller.weight, requestId, action, model, prompt },
      ...{ options, inputs, mask, callbackUrl: null, asynchronous: false, cost: this.rules.costOf(model, options) },
    });
    return taskId;
  }

  /** The old task's own objects go with it, so the new one gets copies. Where it comes to none, retention collects them. */
  private async copyInputs(from: string, to: string, order: TaskOrder): Promise<Pick<TaskOrder, 'inputs' | 'mask'>> {
    const inputs: TaskInput[] = [];
    for (const [index, input] of order.inputs.entries()) inputs.push(await this.copy(from, inputKey(to, index), input));
    const mask = order.mask === null ? null : await this.copy(from, inputKey(to, 'mask'), order.mask);
    return { inputs, mask };
  }

  private async copy(from: string, key: string, input: TaskInput): Promise<TaskInput> {
    if (input.kind !== 'object' || ownerOfKey(input.key).id !== from) return input;
    try {
      const { stream } = await this.store.open(input.key);
      await this.store.put(key, stream, { contentType: CONTENT_TYPE });
    } catch (cause) {
      if (cause instanceof ObjectNotFound) {
        throw new AppError('invalid_value', 'Its reference images are no longer kept; send them anew.', { cause });
      }
      throw new AppError('storage_error', 'Its reference images cannot be read right now.', { cause });
    }
    return { ...input, key };
  }
}
