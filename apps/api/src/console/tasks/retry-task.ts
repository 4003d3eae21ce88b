import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { EndUserStates } from '#accounts/end-user-states.js';
import { LabelLimits } from '#billing/label-limits.repository.js';
import { thresholdFor } from '#tasks/admission/approval-thresholds.js';
import { AppError } from '#contract/app-error.js';
import { inputKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { SubmitTask } from '#tasks/intake/submit-task.js';
import { TaskDetails } from '#tasks/reading/task-details.js';
import { newTaskId } from '#tasks/row/task-id.js';
import type { Intake } from '#tasks/intake/attach-task.js';
import type { RequestIdentity, RequestMark } from '#tasks/intake/request-identity.js';
import type { TaskCommand, TaskInput, TaskOptions, TaskOrder } from '#tasks/row/task.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { taskOwnerOf, type Caller } from '../../auth/caller.js';
import { ImageModels } from '../../images/image-models.js';
import { SubmitChecked } from '../../images/submit-checked.js';
import { RequestLimits } from '../../limits/limit-requests.js';
import { UploadsConfig } from '../../common/uploads.config.js';

/** Copies are stored under this type; their real type is detected when they are used. */
const CONTENT_TYPE = 'application/octet-stream';

/** The caller that a repeated order counts for. */
export type Payer = Pick<
  Caller,
  'accountId' | 'account' | 'keyId' | 'originalKeyId' | 'weight' | 'limits' | 'approvals' | 'personId'
>;

/** The retry's request id, callback and original task. */
type RetryFields = Pick<TaskCommand, 'requestId' | 'callbackUrl' | 'asynchronous' | 'retryOf'>;

/** A request to repeat an order; `mark` identifies repetitions of the request itself. */
interface RetryRequest {
  readonly requestId: string;
  readonly mark: RequestMark;
}

/** Creates a new task from an old one's order, at the current price. */
@Injectable()
export class RetryTask {
  constructor(
    private readonly details: TaskDetails,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly tasks: SubmitTask,
    private readonly submits: SubmitChecked,
    private readonly models: ImageModels,
    private readonly limits: RequestLimits,
    private readonly uploads: UploadRepository,
    private readonly config: UploadsConfig,
    private readonly states: EndUserStates,
    private readonly labels: LabelLimits,
  ) {}

  /**
   * Repeats the order for a user of its account, as the given caller. It counts as the retry of a failed task, which
   * can have only one. Returns and throws like `order`, and `task_not_found`.
   */
  async run(accountId: string, id: string, caller: () => Promise<Caller>, request: RetryRequest): Promise<Intake> {
    const order = await this.details.order(accountId, id);
    if (order === undefined) throw new AppError('task_not_found', 'Task not found.');
    const { requestId, mark } = request;
    const retryOf = order.isOpenFailure ? { retryOf: id } : {};
    const terms = { requestId, callbackUrl: null, asynchronous: false, ...retryOf };
    // Without an idempotency key, every request is a new order.
    const identity = mark.kind === 'keyed' ? { ...mark, fingerprint: fingerprintOf(id) } : undefined;
    return await this.order(order, await caller(), terms, identity);
  }

  /**
   * Returns the new task, which counts as a submit of the payer, or the one that an earlier request with the same key
   * created. Throws AppError: `rate_limit_exceeded`, `model_not_found`, `invalid_value` when its images are gone,
   * `already_exists` when the task was retried meanwhile, `upload_quota_exceeded`, those of EndUserStates, and those of
   * SubmitChecked.
   */
  async order(order: TaskOrder, payer: Payer, terms: RetryFields, identity?: RequestIdentity): Promise<Intake> {
    const { action, prompt, options: old, kept, endUser, tags = [], ...images } = order;
    await this.states.assertAllowed(payer.accountId, endUser ?? undefined);
    await this.limits.admit('submits', payer);
    const { name: model = order.model } = this.models.modelOf(order) ?? {};
    const id = newTaskId();
    try {
      const { inputs, mask } = await this.copyInputs(id, payer.accountId, images);
      const options = withoutProvider(old);
      const cost = this.models.costOf(model, options);
      const order = { action, model, prompt, options, inputs, mask, kept, endUser, tags };
      const approveAbove = thresholdFor(payer.approvals, tags);
      const labelLimits = await this.labels.applied(payer.accountId, { endUser, tags });
      const command = { ...terms, ...taskOwnerOf(payer), id, ...order, cost, approveAbove, labelLimits };
      const intake = await this.submits.submit(command, identity);
      if (intake.attached) await this.forgetCopies(id);
      return intake;
    } catch (error) {
      if (!this.tasks.mayBeAccepted(id)) await this.forgetCopies(id);
      throw error;
    }
  }

  /** Copies of a task that was not created no longer count in the quota; they are collected as orphans. */
  private async forgetCopies(id: string): Promise<void> {
    await this.uploads.forgetInputs(id).catch(() => undefined);
  }

  /**
   * Objects are deleted with their tasks, so the new task gets copies. If it is not created, retention collects them.
   */
  private async copyInputs(to: string, accountId: string, old: Pick<TaskOrder, 'inputs' | 'mask'>) {
    const bytes = [...old.inputs, ...(old.mask === null ? [] : [old.mask])]
      .map((input) => (input.kind === 'object' ? input.bytes : 0))
      .reduce((sum, size) => sum + size, 0);
    if (bytes > 0) await this.uploads.countInputs({ taskId: to, accountId, bytes }, this.config);
    const inputs: TaskInput[] = [];
    for (const [index, input] of old.inputs.entries()) inputs.push(await this.copy(inputKey(to, index), input));
    const mask = old.mask === null ? null : await this.copy(inputKey(to, 'mask'), old.mask);
    return { inputs, mask };
  }

  private async copy(key: string, input: TaskInput): Promise<TaskInput> {
    if (input.kind !== 'object') return input;
    if (input.deleted === true) throw notStored();
    try {
      const { stream } = await this.store.open(input.key);
      await this.store.put(key, stream, { contentType: CONTENT_TYPE });
    } catch (cause) {
      if (cause instanceof ObjectNotFound) throw notStored(cause);
      throw new AppError('storage_error', 'Its reference images cannot be read right now. Please try again shortly.', {
        cause,
      });
    }
    return { ...input, key };
  }
}

function notStored(cause?: Error): AppError {
  const text = 'Its reference images are no longer stored. Send them again.';
  return new AppError('invalid_value', text, cause && { cause });
}

/** SHA-256 that identifies a request to repeat this task. */
function fingerprintOf(id: string): Buffer {
  return createHash('sha256').update(`again ${id}`).digest();
}

/** A repeated provider test may use any provider. */
function withoutProvider({ onlyProvider: _, ...options }: TaskOptions): TaskOptions {
  return options;
}
