import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { assertFields } from '#contract/field-rule.js';
import {
  AsyncImageEditForm,
  AsyncImageEditRequest,
  AsyncImageGenerationRequest,
  ImageEditForm,
  ImageEditRequest,
  ImageGenerationRequest,
  type ResponseFormat,
} from '#contract/image-request.js';
import { readFields } from '#contract/request-fields.js';
import { publicUrlProblem } from '#egress/public-url.js';
import type { RequestIdentity, RequestMark } from '#tasks/request-identity.js';
import { SubmitTask } from '#tasks/submit-task.js';
import { newTaskId } from '#tasks/task-id.js';
import type { Intake } from '#tasks/task-intake.js';
import type { TaskCommand } from '#tasks/task.js';
import { callerOf } from '../auth/api-key.guard.js';
import type { Caller } from '../auth/caller.js';
import { ApiConfig } from '../http/api.config.js';
import { BodyMemory } from '../http/body-memory.js';
import { releaseBody } from '../http/json-body.js';
import { discardRest } from '../http/request-stream.js';
import { coerceTexts, readEditForm } from './edit-form.js';
import { fingerprintOf, formBody } from './fingerprint.js';
import type { InputUpload } from './input-upload.js';
import { ReferenceImages, storeReferences } from './reference-images.js';
import { requestMark } from './request-mark.js';
import { RequestRules } from './request-rules.js';
import { assertCombination, editCommand, generationCommand, normalizeSpelling } from './submit-command.js';

/** A request that has become a task, or repeats one that has. */
export interface Accepted extends Intake {
  readonly mark: RequestMark | undefined;
  readonly format: ResponseFormat;
  /** Whether the answer is a stream of events. */
  readonly streamed: boolean;
  /** Names of fields and files that mean nothing here. */
  readonly ignored: readonly string[];
}

/** Turns an image request into a task: checks its fields, stores its images, submits the command. */
@Injectable()
export class AcceptImage {
  constructor(
    @Inject(SubmitTask) private readonly tasks: SubmitTask,
    @Inject(ReferenceImages) private readonly references: ReferenceImages,
    @Inject(ApiConfig) private readonly config: ApiConfig,
    @Inject(RequestRules) private readonly rules: RequestRules,
    @Inject(BodyMemory) private readonly memory: BodyMemory,
  ) {}

  /** `signal` ends uploads whose caller is gone. Throws AppError; then nothing is left behind. */
  async generation(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<Accepted> {
    const caller = callerOf(request);
    const mark = requestMark(request.headers);
    const requestClass = asynchronous ? AsyncImageGenerationRequest : ImageGenerationRequest;
    const { request: fields, ignored } = readFields<AsyncImageGenerationRequest>(requestClass, request.body);
    normalizeSpelling(fields, caller.allowPixelSize || this.config.allowPixelSize);
    this.rules.assertModel(fields);
    assertFields(fields);
    assertCombination(fields, caller, asynchronous);
    this.assertCallback(fields.callback_url);
    const found = await this.references.find(fields.image_urls ?? [], caller.accountId, generationParam);
    const taskId = newTaskId();
    const upload = this.references.upload(taskId, signal);
    return this.orDiscard(upload, async () => {
      const inputs = await storeReferences(found, upload);
      const command = generationCommand(fields, {
        ...{ taskId, requestId: request.id, caller, inputs, mask: null },
        asynchronous: asynchronous || answersWithTask(fields, caller),
      });
      const identity = mark && { ...mark, fingerprint: await fingerprintOf('generations', request.body) };
      releaseBody(request, this.memory);
      const intake = await this.submit(command, identity, upload);
      return { ...intake, mark, format: formatOf(fields, caller, 'url'), streamed: fields.stream === true, ignored };
    });
  }

  /** Like `generation`, for JSON and multipart edits. */
  async edit(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<Accepted> {
    const multipart = /^multipart\//i.test(request.headers['content-type'] ?? '');
    return multipart ? this.editForm(request, asynchronous, signal) : this.editJson(request, asynchronous, signal);
  }

  private async editJson(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<Accepted> {
    const caller = callerOf(request);
    const mark = requestMark(request.headers);
    const requestClass = asynchronous ? AsyncImageEditRequest : ImageEditRequest;
    const { request: fields, ignored } = readFields<AsyncImageEditRequest>(requestClass, request.body);
    normalizeSpelling(fields, false);
    this.rules.assertModel(fields);
    assertFields(fields);
    assertCombination(fields, caller, asynchronous);
    this.assertCallback(fields.callback_url);
    const references = fields.images.map(({ image_url }) => image_url);
    const masks = fields.mask === undefined ? [] : [fields.mask.image_url];
    const found = await this.references.find(references, caller.accountId, editParam);
    const foundMasks = await this.references.find(masks, caller.accountId, () => 'mask.image_url');
    const taskId = newTaskId();
    const upload = this.references.upload(taskId, signal);
    return this.orDiscard(upload, async () => {
      const inputs = await storeReferences(found, upload);
      const [mask = null] = await storeReferences(foundMasks, upload, 'mask');
      const command = editCommand(fields, { taskId, requestId: request.id, caller, inputs, mask, asynchronous });
      const identity = mark && { ...mark, fingerprint: await fingerprintOf('edits', request.body) };
      releaseBody(request, this.memory);
      const intake = await this.submit(command, identity, upload);
      return {
        ...intake,
        mark,
        format: formatOf(fields, caller, 'b64_json'),
        streamed: fields.stream === true,
        ignored,
      };
    });
  }

  private async editForm(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<Accepted> {
    const caller = callerOf(request);
    const mark = formMark(request);
    const limit = this.config.multipartBodyLimit;
    if (Number(request.headers['content-length'] ?? 0) > limit) {
      throw new AppError('request_too_large', `The form is larger than ${limit} bytes.`);
    }
    const taskId = newTaskId();
    const upload = this.references.upload(taskId, signal, mark !== undefined);
    return this.orDiscard(upload, async () => {
      const form = await readEditForm(request.raw, upload, limit);
      const requestClass = asynchronous ? AsyncImageEditForm : ImageEditForm;
      const { request: fields, ignored } = readFields<AsyncImageEditForm>(requestClass, coerceTexts(form.texts));
      normalizeSpelling(fields, false);
      this.rules.assertModel(fields);
      assertFields(fields);
      assertCombination(fields, caller, asynchronous);
      this.assertCallback(fields.callback_url);
      if (form.images.length === 0) {
        throw new AppError('missing_required_parameter', "Missing required parameter: 'image'.", { param: 'image' });
      }
      const { images: inputs, mask } = form;
      const command = editCommand(fields, { taskId, requestId: request.id, caller, inputs, mask, asynchronous });
      const fingerprint = mark && (await fingerprintOf('edits', formBody(form, upload.digests)));
      const intake = await this.submit(command, mark && fingerprint && { ...mark, fingerprint }, upload);
      return {
        ...intake,
        mark,
        format: formatOf(fields, caller, 'b64_json'),
        streamed: fields.stream === true,
        ignored: [...ignored, ...form.ignored],
      };
    });
  }

  /** What a repetition has uploaded again is not needed: its task has it. */
  private async submit(
    command: TaskCommand,
    identity: RequestIdentity | undefined,
    upload: InputUpload,
  ): Promise<Intake> {
    const intake = await this.tasks.submit(command, identity);
    if (intake.attached) await upload.discard();
    return intake;
  }

  private async orDiscard(upload: InputUpload, accept: () => Promise<Accepted>): Promise<Accepted> {
    try {
      return await accept();
    } catch (error) {
      // A repeat may yet get that task, which needs them; where none comes, retention collects them.
      if (!this.tasks.mayBeAccepted(upload.taskId)) await upload.discard();
      throw error;
    }
  }

  private assertCallback(callbackUrl: string | undefined): void {
    const problem = callbackUrl && publicUrlProblem(callbackUrl, this.rules.egress, { httpsOnly: true });
    if (problem) throw new AppError('invalid_value', problem, { param: 'callback_url' });
  }
}

/** A form that is refused for its headers is still read, so that its sender sees the answer. */
function formMark(request: FastifyRequest): RequestMark | undefined {
  try {
    return requestMark(request.headers);
  } catch (error) {
    discardRest(request.raw);
    throw error;
  }
}

function generationParam(index: number): string {
  return `image_urls[${index}]`;
}

function editParam(index: number): string {
  return `images[${index}].image_url`;
}

/** Keys of the dialect get the task from the sync path, too. */
function answersWithTask(fields: { stream?: boolean }, caller: Caller): boolean {
  return caller.submitMode === 'apimart' && fields.stream !== true;
}

function formatOf(fields: { response_format?: ResponseFormat }, caller: Caller, usual: ResponseFormat): ResponseFormat {
  return fields.response_format ?? caller.defaultResponseFormat ?? usual;
}
