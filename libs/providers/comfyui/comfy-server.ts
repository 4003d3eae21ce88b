import { ByteCollector, sha256Of } from '#bytes/bytes.js';
import { ResponseTooLarge } from '../http/base64-sink.js';
import { UnusableResponse } from '../http/json-response.js';
import { errorBody } from '../http/error-body.js';
import { readJson, textAt, valueAt } from '../http/json-value.js';
import { formBody, imagePart, jsonBody, type RequestBody } from '../http/request-body.js';
import { Upstream, type UpstreamResponse, type UpstreamSettings } from '../http/upstream.js';
import { MAX_IMAGE_BYTES } from '../http/fetch-image.js';
import { unusable } from '../http/failures.js';
import type { ProviderInputImage } from '../image-provider.js';
import { executionError, refused } from './failures.js';
import { PROMPT_PATH } from './options.js';
import type { WorkflowNodes } from './workflow.js';

/** A history response contains the workflow and all events of one job. */
const MAX_ANSWER_BYTES = 16_000_000;
const CANCEL_TIMEOUT_MS = 3_000;
/** Subfolder in the server's input folder. */
const SUBFOLDER = 'darkroom';

/** Location of an image on the server. */
export interface SavedImage {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

/** State of a job. */
export type JobState =
  | { readonly kind: 'waiting' | 'running' | 'gone' }
  | { readonly kind: 'failed'; readonly messages: unknown; readonly providerMessage: string | undefined }
  | { readonly kind: 'finished'; readonly images: readonly SavedImage[] };

/** The HTTP calls of a ComfyUI server. Throw ProviderError, or the signal's reason when aborted. */
export class ComfyServer {
  private readonly upstream: Upstream;

  constructor(settings: UpstreamSettings) {
    this.upstream = new Upstream(settings);
  }

  /**
   * Uploads an image and returns its name on the server. The name is derived from the bytes, so repeated uploads take
   * no extra space.
   */
  async upload(image: ProviderInputImage, signal: AbortSignal): Promise<string> {
    const name = (await sha256Of(image.bytes)).slice(0, 32);
    const fields = { type: 'input', subfolder: SUBFOLDER, overwrite: 'true' };
    const answer = await this.json('/upload/image', signal, formBody(fields, [imagePart('image', name, image)]));
    const file = textAt(answer, 'name');
    const subfolder = textAt(answer, 'subfolder');
    if (file === undefined) throw unusable('an upload was answered without a name');
    return subfolder === undefined ? file : `${subfolder}/${file}`;
  }

  /** Queues a workflow and returns the job's id: `wanted`, if the server lets callers choose it. */
  async queue(prompt: WorkflowNodes, clientId: string, wanted: string, signal: AbortSignal): Promise<string> {
    const body = jsonBody({ prompt, client_id: clientId, prompt_id: wanted });
    const jobId = textAt(await this.json(PROMPT_PATH, signal, body), 'prompt_id');
    if (jobId === undefined) throw unusable('a workflow was answered without an id');
    return jobId;
  }

  async jobState(jobId: string, output: string | undefined, signal: AbortSignal): Promise<JobState> {
    const early = await this.ended(jobId, output, signal);
    if (early !== undefined) return early;
    const queue = await this.json('/queue', signal);
    if (holds(queue, 'queue_running', jobId)) return { kind: 'running' };
    if (holds(queue, 'queue_pending', jobId)) return { kind: 'waiting' };
    // The job may have ended between the two requests.
    return (await this.ended(jobId, output, signal)) ?? { kind: 'gone' };
  }

  async view({ filename, subfolder, type }: SavedImage, signal: AbortSignal): Promise<Buffer> {
    const query = new URLSearchParams({ filename, subfolder, type });
    const call = { path: `/view?${query.toString()}`, signal, accept: 'image/*', maxBytes: MAX_IMAGE_BYTES };
    return this.upstream.call(call, async (answer) => {
      if (answer.status !== 200) throw refused(answer, undefined, undefined);
      const collected = new ByteCollector(answer.announced);
      for await (const piece of answer.body) collected.add(piece);
      return collected.joined();
    });
  }

  /** Removes a job from the queue, or stops it if it is running. Best effort: never throws. */
  async cancel(jobId: string): Promise<void> {
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    try {
      await this.post('/queue', { delete: [jobId] }, signal);
      // A job that is then not queued is running or has ended. Old servers stop any running job, so check first.
      if (holds(await this.json('/queue', signal), 'queue_running', jobId)) {
        await this.post('/interrupt', { prompt_id: jobId }, signal);
      }
    } catch {
      // The caller's original error matters more.
    }
  }

  private async ended(jobId: string, output: string | undefined, signal: AbortSignal): Promise<JobState | undefined> {
    const entry = valueAt(await this.json(`/history/${encodeURIComponent(jobId)}`, signal), jobId);
    if (entry === undefined) return undefined;
    if (textAt(entry, 'status', 'status_str') === 'error') {
      const messages = valueAt(entry, 'status', 'messages');
      return { kind: 'failed', messages, providerMessage: this.upstream.messageIn(executionError(messages)) };
    }
    return { kind: 'finished', images: imagesOf(valueAt(entry, 'outputs'), output) };
  }

  private async json(path: string, signal: AbortSignal, body?: RequestBody): Promise<unknown> {
    return this.call(path, signal, body, async (answer) => {
      try {
        return await readJson(answer.body);
      } catch (error) {
        const isUnusable = error instanceof UnusableResponse || error instanceof ResponseTooLarge;
        throw isUnusable ? unusable(error.message) : error;
      }
    });
  }

  /** For calls whose response is empty. */
  private async post(path: string, value: object, signal: AbortSignal): Promise<void> {
    await this.call(path, signal, jsonBody(value), () => Promise.resolve());
  }

  private async call<T>(
    path: string,
    signal: AbortSignal,
    body: RequestBody | undefined,
    read: (answer: UpstreamResponse) => Promise<T>,
  ): Promise<T> {
    const call = { path, signal, accept: 'application/json', maxBytes: MAX_ANSWER_BYTES };
    return this.upstream.call({ ...call, ...(body === undefined ? {} : { body }) }, async (answer) => {
      if (answer.status === 200) return read(answer);
      const { isJson, value } = await errorBody(answer.body);
      throw refused(answer, isJson ? value : undefined, this.upstream.messageIn(value));
    });
  }
}

/** Queue entries are lists that start with a number and the id. */
function holds(queue: unknown, part: 'queue_running' | 'queue_pending', jobId: string): boolean {
  const entries = valueAt(queue, part);
  return Array.isArray(entries) && entries.some((entry) => valueAt(entry, 1) === jobId);
}

/** Saved images, followed by previews. */
function imagesOf(outputs: unknown, output: string | undefined): SavedImage[] {
  const nodes = output === undefined ? Object.values(outputs ?? {}) : [valueAt(outputs, output)];
  const images = nodes.flatMap((node): unknown[] => {
    const found = valueAt(node, 'images');
    return Array.isArray(found) ? (found as unknown[]) : [];
  });
  const saved = images.flatMap((image) => {
    const [filename, type = 'output'] = [textAt(image, 'filename'), textAt(image, 'type')];
    return filename === undefined ? [] : [{ filename, type, subfolder: textAt(image, 'subfolder') ?? '' }];
  });
  return [...saved.filter(({ type }) => type === 'output'), ...saved.filter(({ type }) => type !== 'output')];
}
