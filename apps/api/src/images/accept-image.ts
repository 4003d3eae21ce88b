import { Injectable } from '@nestjs/common';
import { thresholdFor } from '#tasks/admission/approval-thresholds.js';
import { WINDOW_MS } from '#batches/batch.js';
import { asSent } from '#contract/other-names.js';
import { EgressConfig } from '#egress/egress.config.js';
import type { Intake } from '#tasks/intake/attach-task.js';
import type { OpenCall } from '#tasks/intake/open-call.js';
import type { RequestIdentity } from '#tasks/intake/request-identity.js';
import { SubmitTask } from '#tasks/intake/submit-task.js';
import { newTaskId } from '#tasks/row/task-id.js';
import type { KeptFor, TaskCommand, TaskOptions } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { taskOwnerOf, type Caller } from '../auth/caller.js';
import { LabelRequests, type RequestLabels } from '../labels/request-labels.js';
import { ApiConfig } from '../common/api.config.js';
import type { Ask, Asked } from './asked.js';
import { assertExact, decideOrder, type Order } from './decide-order.js';
import { fingerprintOf } from './fingerprint.js';
import { ImageModels } from './image-models.js';
import type { InputUpload } from './input-upload.js';
import { ReferenceImages } from './reference-images.js';
import { SubmitChecked } from './submit-checked.js';

/**
 * How long a task that is not stored, or whose lifetime is over, is kept after its end, in ms: for whoever polls it, or
 * follows its link.
 */
const POLLED_MS = 600_000;
/** The least for a caller that waited: its retry gets the task within ATTACH_WINDOW_MS, and links must work at all. */
const MIN_WAITED_MS = 10_000;
/** The least for a line of a batch: links to its images come with the results, and need a day to be followed. */
const MIN_LINE_SECONDS = WINDOW_MS / 1_000 + 86_400;

/** What of a request matters for its response, whether it creates a task or not. */
interface RequestTraits extends Pick<Order, 'format' | 'streamed' | 'ignored'> {
  readonly identity: RequestIdentity;
}

/** A valid request whose images are stored. Nothing is ordered yet. */
export interface PreparedOrder extends RequestTraits {
  readonly command: TaskCommand;
  /** Its images, to be discarded unless a task gets them. */
  readonly upload: InputUpload;
}

/** An accepted request: a new task, or the one that it repeats. */
export interface Accepted extends Intake, RequestTraits {}

/** Turns image requests into tasks: reads them, decides what they order, stores their images, and submits them. */
@Injectable()
export class AcceptImage {
  constructor(
    private readonly models: ImageModels,
    private readonly references: ReferenceImages,
    private readonly tasks: SubmitTask,
    private readonly config: ApiConfig,
    private readonly egress: EgressConfig,
    private readonly tasksConfig: TasksConfig,
    private readonly labels: LabelRequests,
    private readonly submits: SubmitChecked,
  ) {}

  /**
   * Reading ends when the caller disconnects, and nothing is accepted then. Throws AppError or CallerGone, and then
   * leaves nothing behind, except the images of a task that may have been accepted all the same.
   */
  async accept(ask: Ask, caller: Caller, call: OpenCall): Promise<Accepted> {
    const { command, upload, ...traits } = await this.prepare(ask, caller, call.gone);
    try {
      const intake = await this.submits.submit(command, traits.identity, call);
      // The repeated task already has these images.
      if (intake.attached) await upload.discard();
      return { ...traits, ...intake };
    } catch (error) {
      // If the task may have been accepted, it needs the images; if it was not, retention collects them.
      if (!this.tasks.mayBeAccepted(upload.taskId)) await upload.discard();
      throw error;
    }
  }

  /** Everything before the order itself. Throws AppError, and then leaves nothing behind. */
  async prepare(ask: Ask, caller: Caller, gone: AbortSignal): Promise<PreparedOrder> {
    const upload = this.references.upload(newTaskId(), caller.accountId, gone);
    let asked: Asked | undefined;
    try {
      asked = await ask(upload);
      const { catalog } = this.models;
      const order = decideOrder(asked, caller, { catalog, config: this.config, egress: this.egress });
      const labels = await this.labelsOf(asked, caller);
      const { images: inputs, mask } = await this.references.store(order.images, upload, caller.accountId);
      assertExact(order, inputs, mask, catalog);
      const { action, model, prompt, callbackUrl, format, streamed, ignored } = order;
      const options = withEndUser(order.options, labels);
      const command: TaskCommand = {
        id: upload.taskId,
        ...taskOwnerOf(caller),
        requestId: asked.requestId,
        batchId: asked.batchId,
        action,
        model,
        prompt,
        options,
        inputs,
        mask,
        callbackUrl,
        kept: this.keptFor(order, asked),
        asynchronous: asked.asynchronous,
        cost: this.models.costOf(model, options),
        approveAbove: thresholdFor(caller.approvals, labels.tags),
        ...labels,
      };
      const traits = { region: options.region, endUser: labels.endUser, headerTags: asked.headerLabels?.tags };
      const fingerprint = await fingerprintOf(action, asked.body, asked.mark, traits);
      const identity = { ...asked.mark, fingerprint };
      asked.release();
      await upload.countInQuota();
      return { command, upload, identity, format, streamed, ignored };
    } catch (error) {
      await upload.discard();
      throw asked === undefined ? error : asSent(error, asked.sentAs);
    }
  }

  private keptFor({ stored, keepSeconds }: Order, { asynchronous, asksForTask, batchId }: Asked): KeptFor {
    if (stored && keepSeconds === undefined) return {};
    const waitedMs = Math.max(this.tasksConfig.attachWindowMs, MIN_WAITED_MS);
    const afterEndMs = asynchronous || asksForTask ? POLLED_MS : waitedMs;
    if (!stored || keepSeconds === undefined) return { afterEndMs };
    return { seconds: batchId === undefined ? keepSeconds : Math.max(keepSeconds, MIN_LINE_SECONDS), afterEndMs };
  }

  private async labelsOf({ fields, headerLabels, batchId }: Asked, caller: Caller): Promise<RequestLabels> {
    const { safety_identifier: safetyIdentifier, user, tags: bodyTags } = fields;
    const { endUser, tags } = headerLabels ?? { endUser: undefined, tags: undefined };
    const sent = { safetyIdentifier, user, bodyTags, endUser, tags };
    return await this.labels.of(caller, sent, { isCounted: batchId === undefined });
  }
}

/** The identifier takes the place of those that the caller sent. */
function withEndUser(options: TaskOptions, { endUser }: RequestLabels): TaskOptions {
  if (endUser === undefined) return options;
  return { ...options, safetyIdentifier: endUser, user: options.user === null ? null : endUser };
}
