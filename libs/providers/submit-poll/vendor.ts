import { unusable, type SaidMessage } from '../http/failures.js';
import { ResponseTooLarge } from '../http/base64-sink.js';
import { MAX_IMAGE_BYTES } from '../http/fetch-image.js';
import { IMAGES_PATH } from '../http/images-path.js';
import { readJsonResponse, UnusableResponse, type JsonResponse } from '../http/json-response.js';
import { errorBody } from '../http/error-body.js';
import { textAt, valueAt, valueOf } from '../http/json-value.js';
import { formBody, imagePart, jsonBody, type RequestBody } from '../http/request-body.js';
import { type Upstream, type UpstreamResponse } from '../http/upstream.js';
import type { ProviderInputImage } from '../image-provider.js';
import { ProviderError } from '../provider-error.js';
import type { Dialect } from './dialect.js';
import { refused, vendorError, withoutJob } from './failures.js';

/** Maximum bytes of a response: an image of 24 MB as base64, or several smaller ones. */
const MAX_ANSWER_BYTES = 32_000_000;
const JOB_ID = /^[\w.:-]{1,200}$/;

interface VendorResponse {
  readonly status: number;
  readonly retryAfter: number | undefined;
  /** Undefined if it was not JSON. */
  readonly value: unknown;
  readonly json: JsonResponse | undefined;
  readonly said: SaidMessage | undefined;
}

/** Result of a status check: the vendor's status, or that it gave none for now. */
export type StatusCheck =
  | {
      readonly kind: 'task';
      readonly task: unknown;
      readonly bytesOf: JsonResponse['bytesOf'];
      /** For operators: the vendor's reason for a failure. */
      readonly providerMessage: string | undefined;
    }
  | { readonly kind: 'unknown'; readonly status: number }
  | { readonly kind: 'unanswered'; readonly retryAfter: number | undefined }
  | { readonly kind: 'refused'; readonly problem: ProviderError };

/** The HTTP calls that all these vendors share. Throw ProviderError, or the signal's reason when aborted. */
export class Vendor {
  constructor(
    private readonly upstream: Upstream,
    private readonly dialect: Dialect,
    private readonly uploadUrl: string | undefined,
  ) {}

  /** Uploads an image and returns its URL for the job. Uploads are not charged. */
  async upload(name: string, image: ProviderInputImage, signal: AbortSignal): Promise<string> {
    const body = formBody({}, [imagePart('file', name, image)]);
    const answer = await this.call(this.uploadUrl ?? this.dialect.uploadPath, signal, body).catch((error: unknown) => {
      throw error instanceof ProviderError ? asUncharged(error) : error;
    });
    if (answer.status === 400 || answer.status === 415) throw badImage(answer);
    if (answer.status >= 300) throw asUncharged(refusalOf(answer));
    const url = this.dialect.uploaded(answer.value);
    if (typeof url !== 'string' || url === '') throw unusable('an upload was answered without an address');
    return url;
  }

  /** Submits a job and returns its id. */
  async submit(fields: object, idempotencyKey: string, signal: AbortSignal): Promise<string> {
    const key = this.dialect.idempotency ? idempotencyKey : undefined;
    const answer = await this.call(IMAGES_PATH, signal, jsonBody(fields), key).catch((error: unknown) => {
      // For example, a response that exceeds the size limit.
      throw error instanceof ProviderError && error.code === 'upstream_invalid_response'
        ? withoutJob(error.cause)
        : error;
    });
    // Some vendors respond with 200 and put the status in the body.
    const inner = valueAt(answer.value, 'code');
    const status = answer.status < 300 && typeof inner === 'number' && inner >= 400 ? inner : answer.status;
    if (status >= 300) throw refusalOf({ ...answer, status });
    const jobId = this.dialect.jobId(answer.value);
    if (typeof jobId === 'string' && JOB_ID.test(jobId)) return jobId;
    throw withoutJob(new UnusableResponse('a submit was answered without a job'));
  }

  /**
   * Checks a job. A failed check loses nothing, because the job continues; `refused` is one that operators should know
   * about, for example because the key was revoked.
   */
  async checkStatus(jobId: string, signal: AbortSignal): Promise<StatusCheck> {
    let answer: VendorResponse;
    try {
      answer = await this.call(this.dialect.taskPath(jobId), signal);
    } catch (error) {
      if (error instanceof ProviderError) return { kind: 'unanswered', retryAfter: error.retryAfter };
      throw error;
    }
    const { status, retryAfter, value, json } = answer;
    if (status === 404 || (status === 400 && isUnknownJob(value))) return { kind: 'unknown', status };
    if (status < 300) {
      const task = this.dialect.task(value);
      if (json === undefined || textAt(task, 'status') === undefined) return { kind: 'unanswered', retryAfter };
      const providerMessage = this.upstream.messageIn(task);
      return { kind: 'task', task, bytesOf: (text) => json.bytesOf(text), providerMessage };
    }
    const error = refusalOf(answer);
    if (error.retryable || status >= 500) return { kind: 'unanswered', retryAfter };
    return { kind: 'refused', problem: error };
  }

  private async call(
    path: string,
    signal: AbortSignal,
    body?: RequestBody,
    idempotencyKey?: string,
  ): Promise<VendorResponse> {
    const call = {
      path,
      signal,
      accept: 'application/json',
      idempotencyKey,
      maxBytes: MAX_ANSWER_BYTES,
      ...(body === undefined ? {} : { body }),
    };
    return this.upstream.call(call, (answer) => this.read(answer));
  }

  private async read({ status, retryAfter, body, announced }: UpstreamResponse): Promise<VendorResponse> {
    const nothing = { status, retryAfter, value: undefined, json: undefined, said: undefined };
    if (status >= 300) {
      const { isJson, value } = await errorBody(body);
      return { ...nothing, value: isJson ? value : undefined, said: this.upstream.said(value) };
    }
    try {
      const json = await readJsonResponse(body, MAX_IMAGE_BYTES, announced);
      const value = valueOf(json);
      return { ...nothing, value, json, said: this.upstream.said(value) };
    } catch (error) {
      if (error instanceof UnusableResponse || error instanceof ResponseTooLarge) return nothing;
      throw error;
    }
  }
}

function refusalOf({ status, retryAfter, value, said }: VendorResponse): ProviderError {
  return refused(status, value, retryAfter, said);
}

function isUnknownJob(value: unknown): boolean {
  const error = vendorError(value);
  return /not_?exist|not_?found/.test(`${error?.code ?? ''} ${error?.type ?? ''}`);
}

function asUncharged(failure: ProviderError): ProviderError {
  const { code, message, retryAfter, param, ...fate } = failure;
  const told = { ...(retryAfter === undefined ? {} : { retryAfter }), ...(param === undefined ? {} : { param }) };
  return new ProviderError(code, message, { ...fate, ...told, charged: 'no', cause: failure.cause });
}

function badImage({ status, said }: VendorResponse): ProviderError {
  return new ProviderError('invalid_image_file', 'The provider could not use one of the images.', {
    retryable: false,
    charged: 'no',
    cause: new Error(`the provider answered ${status} to an upload`),
    providerMessage: said?.providerMessage,
  });
}
