import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import {
  BASE_VALUES,
  usualValues,
  valueProblem,
  type DefaultResponseFormat,
  type ResponseFormat,
} from '#contract/accepted-values.js';
import { assertFields } from '#contract/field-rule.js';
import {
  AsyncImageEditForm,
  AsyncImageEditRequest,
  AsyncImageGenerationRequest,
  ImageEditForm,
  ImageEditRequest,
  ImageGenerationRequest,
} from '#contract/image-request.js';
import { inOwnNames } from '#contract/other-names.js';
import { fieldsOf, readFields, type ReadFields } from '#contract/request-fields.js';
import type { RequestIdentity, RequestMark } from '#tasks/intake/task-intake.js';
import { newTaskId } from '#tasks/row/task-id.js';
import type { TaskCommand } from '#tasks/row/task.js';
import { callerOf } from '../auth/api-key.guard.js';
import type { Caller } from '../auth/caller.js';
import { ApiConfig, MULTIPART_BODY_LIMIT } from '../common/api.config.js';
import { BodyReservation, BodyMemory } from '../common/fastify/body-memory.js';
import { releaseBody, sourceOf } from '../common/fastify/json-body.js';
import { discardRest } from '../common/request-stream.js';
import { coerceTexts, readEditForm } from './edit-form.js';
import { fingerprintOf, formBody } from './fingerprint.js';
import type { InputUpload } from './input-upload.js';
import { ReferenceImages, storeReferences } from './reference-images.js';
import { requestMark } from './request-mark.js';
import { RequestRules } from './request-rules.js';
import {
  assertCombination,
  assertIgnorable,
  assertNoPixels,
  editCommand,
  fieldsWithoutEffect,
  generationCommand,
  normalizeSpelling,
  type CommandContext,
  type ImageFields,
} from './submit-command.js';

/** Properties of a request that do not depend on whether it creates a task. */
export interface RequestTraits {
  readonly mark: RequestIdentity;
  /** How images are returned. */
  readonly format: DefaultResponseFormat;
  /** Whether the response is an event stream. */
  readonly streamed: boolean;
  /** Names of ignored fields and files. */
  readonly ignored: readonly string[];
}

/** A valid request whose images are stored. */
export interface CheckedRequest extends RequestTraits {
  readonly command: TaskCommand;
  readonly upload: InputUpload;
}

/** Validates an image request and stores its images. `signal` aborts uploads when the caller disconnects. */
@Injectable()
export class CheckRequest {
  constructor(
    private readonly references: ReferenceImages,
    private readonly config: ApiConfig,
    private readonly rules: RequestRules,
    private readonly memory: BodyMemory,
  ) {}

  /** Throws AppError, and then leaves nothing behind. */
  async generation(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<CheckedRequest> {
    const caller = callerOf(request);
    const mark = requestMark(request.headers);
    const isTask = asynchronous || answersWithTask(request.body, caller);
    const requestClass = isTask ? AsyncImageGenerationRequest : ImageGenerationRequest;
    const { request: fields, ignored: unknown } = readTranslated<AsyncImageGenerationRequest>(
      requestClass,
      request.body,
    );
    const ignored = [...unknown, ...normalizeSpelling(fields)];
    assertIgnorable(ignored);
    if (!(caller.allowPixelSize ?? this.config.allowPixelSize)) assertNoPixels(fields, this.rules.sizesOf(fields));
    ignored.push(...this.assertAll('generation', fields, caller, asynchronous));
    const found = await this.references.find(fields.image_urls ?? [], caller.accountId, generationParam);
    const upload = this.references.upload(newTaskId(), caller.accountId, signal);
    return orDiscard(upload, async () => {
      const inputs = await storeReferences(found, upload);
      const command = generationCommand(fields, {
        ...this.contextOf(request, caller, upload, ignored),
        inputs,
        mask: null,
        asynchronous: isTask,
      });
      this.rules.assertExact(command);
      const identity = { ...mark, fingerprint: await fingerprintOf('generations', request.body, mark) };
      releaseBody(request);
      return { command, upload, ...this.traitsOf(fields, caller), mark: identity, ignored };
    });
  }

  /** Like `generation`, for JSON and multipart edits. */
  async edit(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<CheckedRequest> {
    const multipart = /^multipart\//i.test(request.headers['content-type'] ?? '');
    return multipart ? this.editForm(request, asynchronous, signal) : this.editJson(request, asynchronous, signal);
  }

  private async editJson(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<CheckedRequest> {
    const caller = callerOf(request);
    const mark = requestMark(request.headers);
    const requestClass = asynchronous ? AsyncImageEditRequest : ImageEditRequest;
    const { request: fields, ignored: unknown } = readTranslated<AsyncImageEditRequest>(requestClass, request.body);
    const ignored = [...unknown, ...normalizeSpelling(fields)];
    assertIgnorable(ignored);
    ignored.push(...this.assertAll('edit', fields, caller, asynchronous));
    const references = fields.images.map(({ image_url }) => image_url);
    const masks = fields.mask === undefined ? [] : [fields.mask.image_url];
    const found = await this.references.find(references, caller.accountId, editParam);
    const foundMasks = await this.references.find(masks, caller.accountId, () => 'mask.image_url');
    const upload = this.references.upload(newTaskId(), caller.accountId, signal);
    return orDiscard(upload, async () => {
      const inputs = await storeReferences(found, upload);
      const [mask = null] = await storeReferences(foundMasks, upload, 'mask');
      const context = { ...this.contextOf(request, caller, upload, ignored), inputs, mask, asynchronous };
      const command = editCommand(fields, context);
      this.rules.assertExact(command);
      const identity = { ...mark, fingerprint: await fingerprintOf('edits', request.body, mark) };
      releaseBody(request);
      return { command, upload, ...this.traitsOf(fields, caller), mark: identity, ignored };
    });
  }

  private async editForm(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<CheckedRequest> {
    const caller = callerOf(request);
    const mark = formMark(request);
    if (Number(request.headers['content-length'] ?? 0) > MULTIPART_BODY_LIMIT) {
      throw new AppError('request_too_large', `The form is larger than ${MULTIPART_BODY_LIMIT} bytes.`);
    }
    const upload = this.references.upload(newTaskId(), caller.accountId, signal, true);
    return orDiscard(upload, async () => {
      const hold = new BodyReservation(this.memory, sourceOf(request));
      const form = await readEditForm({ payload: request.raw, maxBytes: MULTIPART_BODY_LIMIT, hold }, upload);
      const requestClass = asynchronous ? AsyncImageEditForm : ImageEditForm;
      const { request: fields, ignored: texts } = readFormTexts(requestClass, form.texts);
      const ignored = [...texts, ...normalizeSpelling(fields)];
      assertIgnorable(ignored);
      ignored.push(...this.assertAll('edit', fields, caller, asynchronous));
      if (form.images.length === 0) {
        throw new AppError('missing_required_parameter', "Missing required parameter: 'image'.", { param: 'image' });
      }
      const { images: inputs, mask } = form;
      const context = { ...this.contextOf(request, caller, upload, ignored), inputs, mask, asynchronous };
      const command = editCommand(fields, context);
      this.rules.assertExact(command);
      const body = formBody(form, upload.digests);
      const identity = { ...mark, fingerprint: await fingerprintOf('edits', body, mark) };
      return { command, upload, ...this.traitsOf(fields, caller), mark: identity, ignored };
    });
  }

  /**
   * Also applies the model to the fields: its own name in place of an alias, and its default values. Returns the names
   * of fields that have no effect.
   */
  private assertAll(
    action: TaskCommand['action'],
    fields: ImageFields,
    caller: Caller,
    asynchronous: boolean,
  ): string[] {
    const { name, aliases, accepts = BASE_VALUES } = this.rules.modelOf(fields) ?? {};
    assertFields(fields, (field, value) => valueProblem(accepts, action, field, value));
    const usual = usualValues(accepts, action);
    if (name !== undefined) fields.model = name;
    fields.size ??= usual.size;
    fields.output_format ??= usual.outputFormat;
    assertCombination(fields, caller, asynchronous, aliases);
    this.rules.assertCallback(fields.callback_url);
    return fieldsWithoutEffect(fields);
  }

  private traitsOf(
    fields: { response_format?: ResponseFormat; stream?: boolean },
    caller: Caller,
  ): Pick<RequestTraits, 'format' | 'streamed'> {
    return {
      format: fields.response_format ?? caller.defaultResponseFormat ?? this.config.defaultResponseFormat,
      streamed: fields.stream === true,
    };
  }

  private contextOf(
    { id: requestId }: FastifyRequest,
    caller: Caller,
    { taskId }: InputUpload,
    ignored: readonly string[],
  ): RequestContext {
    return { taskId, requestId, caller, ignored, costOf: (model, options) => this.rules.costOf(model, options) };
  }
}

type RequestContext = Pick<CommandContext, 'taskId' | 'requestId' | 'caller' | 'ignored' | 'costOf'>;

async function orDiscard(upload: InputUpload, check: () => Promise<CheckedRequest>): Promise<CheckedRequest> {
  try {
    const checked = await check();
    await upload.countInQuota();
    return checked;
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

/** The fields of a body, also under the names of other APIs. Throws AppError for an image in an unknown field. */
function readTranslated<T extends object>(requestClass: new () => T, body: unknown): ReadFields<T> {
  return readFields(requestClass, inOwnNames(fieldsOf(requestClass), body));
}

function readFormTexts(
  requestClass: new () => AsyncImageEditForm,
  texts: Readonly<Record<string, string>>,
): ReadFields<AsyncImageEditForm> {
  const named = inOwnNames(fieldsOf(requestClass), texts) as Readonly<Record<string, unknown>>;
  return readFields(requestClass, coerceTexts(named));
}

/** Even a form with invalid headers is read, so that its sender sees the response. */
function formMark(request: FastifyRequest): RequestMark {
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

/** Keys of submit mode `apimart` get the task on the sync path too. */
function answersWithTask(body: unknown, caller: Caller): boolean {
  return caller.submitMode === 'apimart' && (body as { stream?: unknown } | null | undefined)?.stream !== true;
}
