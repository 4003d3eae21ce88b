import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import {
  AsyncImageEditForm,
  AsyncImageEditRequest,
  AsyncImageGenerationRequest,
  ImageEditForm,
  ImageEditRequest,
  ImageGenerationRequest,
} from '#contract/image-request.js';
import { inOwnNames } from '#contract/other-names.js';
import { parsePixelSize } from '#contract/pixel-table.js';
import { fieldsOf, readFields } from '#contract/request-fields.js';
import type { RequestMark } from '#tasks/intake/request-identity.js';
import { callerOf, getsTasks } from '../auth/caller.js';
import { MULTIPART_BODY_LIMIT } from '../common/api.config.js';
import { inDeployment } from '../common/fastify/azure-paths.js';
import { BodyMemory, BodyReservation } from '../common/fastify/body-memory.js';
import { releaseBody } from '../common/fastify/json-body.js';
import { sourceOf } from '../common/source-of.js';
import { discardRest } from '../common/request-stream.js';
import { headerLabels } from '../labels/request-labels.js';
import type { Asked, ImageFields } from './asked.js';
import { coerceTexts, readEditForm, type EditForm } from './edit-form.js';
import { formBody } from './fingerprint.js';
import type { InputUpload } from './input-upload.js';
import { requestMark } from './request-mark.js';

/** Reads image requests from HTTP: a generation or an edit in JSON, or an edit in a form. What they say is the same. */
@Injectable()
export class ReadRequest {
  constructor(private readonly memory: BodyMemory) {}

  /** `body`: instead of the one that was sent. */
  generation(request: FastifyRequest, asksForTask: boolean, given: unknown = request.body): Asked {
    const body = inDeployment(request.raw, given);
    // On the sync path, too, if the key says so.
    const asynchronous = asksForTask || (getsTasks(callerOf(request)) && !isStreamed(body));
    const requestClass = asynchronous ? AsyncImageGenerationRequest : ImageGenerationRequest;
    const mark = requestMark(request.headers);
    return {
      action: 'generation',
      ...readJson(requestClass, body),
      mark,
      ...sentBy(request, asksForTask),
      asynchronous,
    };
  }

  /** A JSON or multipart edit; the files of a form go into `upload`. */
  async edit(request: FastifyRequest, asksForTask: boolean, upload: InputUpload): Promise<Asked> {
    const isForm = /^multipart\//i.test(request.headers['content-type'] ?? '');
    return isForm ? await this.form(request, asksForTask, upload) : this.jsonEdit(request, asksForTask);
  }

  /** `body`: instead of the one that was sent. */
  jsonEdit(request: FastifyRequest, asksForTask: boolean, given: unknown = request.body): Asked {
    const mark = requestMark(request.headers);
    const requestClass = asksForTask ? AsyncImageEditRequest : ImageEditRequest;
    return {
      action: 'edit',
      ...readJson(requestClass, inDeployment(request.raw, given)),
      mark,
      ...sentBy(request, asksForTask),
    };
  }

  private async form(request: FastifyRequest, asksForTask: boolean, upload: InputUpload): Promise<Asked> {
    const mark = formMark(request);
    if (Number(request.headers['content-length'] ?? 0) > MULTIPART_BODY_LIMIT) {
      throw new AppError('request_too_large', `The form is larger than ${MULTIPART_BODY_LIMIT} bytes.`);
    }
    const hold = new BodyReservation(this.memory, sourceOf(request));
    const received = await readEditForm({ payload: request.raw, maxBytes: MULTIPART_BODY_LIMIT, hold }, upload);
    const form = { ...received, texts: inDeployment(request.raw, received.texts) as EditForm['texts'] };
    const requestClass = asksForTask ? AsyncImageEditForm : ImageEditForm;
    const { body: texts, sentAs } = inOwnNames(fieldsOf(requestClass), form.texts);
    const read = readNamed(requestClass, coerceTexts(texts as Readonly<Record<string, unknown>>));
    const sent = { files: form, sentAs, body: formBody(form), mark };
    return { action: 'edit', ...read, ...sent, ...sentBy(request, asksForTask) };
  }
}

/** A request in JSON that came in a file. */
export interface FiledRequest {
  readonly action: Asked['action'];
  readonly body: unknown;
  readonly mark: RequestMark;
  readonly requestId: string;
  readonly batchId: string;
}

/** Reads a request that came in a file. Throws AppError like those of HTTP. */
export function readFiled({ action, body, ...sent }: FiledRequest): Asked {
  const requestClass = action === 'edit' ? ImageEditRequest : ImageGenerationRequest;
  const read = readJson(requestClass, body);
  return { action, ...read, ...sent, asksForTask: true, asynchronous: false, release: () => undefined };
}

type Read = Pick<Asked, 'fields' | 'ignored' | 'unknown'>;

/** Throws AppError when the body is not a JSON object, or has an image in an unknown field. */
function readJson(requestClass: new () => ImageFields, body: unknown): Read & Pick<Asked, 'files' | 'sentAs' | 'body'> {
  const { body: named, sentAs } = inOwnNames(fieldsOf(requestClass), body);
  return { ...readNamed(requestClass, named), files: undefined, sentAs, body };
}

/** Accepted spellings become ours, and a resolution beside a size in pixels is ignored. */
function readNamed(requestClass: new () => ImageFields, body: unknown): Read {
  const { request: fields, ignored, unknown } = readFields(requestClass, body);
  if (typeof fields.resolution === 'string') fields.resolution = fields.resolution.toLowerCase();
  if (fields.resolution === undefined || !isPixelSize(fields.size)) return { fields, ignored, unknown };
  delete fields.resolution;
  return { fields, ignored: [...ignored, 'resolution'], unknown };
}

function isPixelSize(size: unknown): boolean {
  return typeof size === 'string' && parsePixelSize(size) !== undefined;
}

function isStreamed(body: unknown): boolean {
  return (body as { stream?: unknown } | null | undefined)?.stream === true;
}

function sentBy(
  request: FastifyRequest,
  asksForTask: boolean,
): Pick<Asked, 'asksForTask' | 'asynchronous' | 'requestId' | 'headerLabels' | 'release'> {
  return {
    asksForTask,
    asynchronous: asksForTask,
    requestId: request.id,
    headerLabels: headerLabels(request.headers),
    release: () => releaseBody(request),
  };
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
