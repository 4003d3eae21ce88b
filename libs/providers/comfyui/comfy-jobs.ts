import { setTimeout as delay } from 'node:timers/promises';
import { sha256Of } from '#bytes/bytes.js';
import { unusable } from '../http/failures.js';
import { textAt, valueAt } from '../http/json-value.js';
import { formBody, imagePart, jsonBody } from '../http/request-body.js';
import type { UpstreamSettings } from '../http/upstream.js';
import { isShutdownAbort, type ProviderInputImage } from '../image-provider.js';
import { ProviderError } from '../provider-error.js';
import type { ComfyApi, JobState } from './comfy-api.js';
import { ComfyCalls } from './comfy-calls.js';
import { KeyUsed, refusedJob, unknownJob, v2Failure } from './failures.js';
import { JOBS_PATH } from './options.js';
import type { WorkflowNodes } from './workflow.js';

const ASSETS_PATH = '/api/v2/assets';
const CANCEL_TIMEOUT_MS = 3_000;
/** Keys of one task: one for each of its jobs that failed. */
const MAX_KEYS = 20;
/** Newest jobs among which one is looked for; the API lists no more at a time. */
const LISTED = 100;
/** A job is listed a moment after its key is used. */
const LOOKS = 3;
const LOOK_PAUSE_MS = 500;

/** Jobs whose result is worth waiting for. */
const ALIVE: ReadonlySet<string | undefined> = new Set(['queued', 'running', 'succeeded']);

/**
 * Comfy API v2. Unlike ComfyUI's own API, it runs no job twice: a key that was used is rejected, and the job is then
 * found by its label.
 */
export class ComfyJobs implements ComfyApi {
  private readonly calls: ComfyCalls;

  constructor(private readonly settings: UpstreamSettings & { readonly free: boolean }) {
    this.calls = new ComfyCalls(settings, refusedJob);
  }

  /** Progress is part of the job's state. */
  listen(): Promise<{ close(): void }> {
    return Promise.resolve({ close: () => undefined });
  }

  async upload(image: ProviderInputImage, signal: AbortSignal): Promise<Record<string, unknown>> {
    const name = (await sha256Of(image.bytes)).slice(0, 32);
    const part = imagePart('file', name, image);
    const body = formBody({ file_path: `input/darkroom/${part.fileName}`, content_type: image.contentType }, [part]);
    const id = textAt(await this.calls.json(ASSETS_PATH, signal, { body }), 'id');
    if (id === undefined) throw unusable('an upload was answered without an id');
    return { __type: 'core/ASSET', info: { id } };
  }

  async submit(workflow: WorkflowNodes, taskKey: string, signal: AbortSignal): Promise<string> {
    const body = jsonBody({ workflow, metadata: labelOf(taskKey) });
    try {
      for (let number = 1; number <= MAX_KEYS; number++) {
        const call = { body, idempotencyKey: `${taskKey}-${number}` };
        const job = await this.calls.json(JOBS_PATH, signal, call).catch((error: unknown) => {
          if (error instanceof KeyUsed) return undefined;
          throw error;
        });
        if (job !== undefined) return jobIdIn(job);
        const found = await this.find(taskKey, number, signal);
        if (found !== undefined) return found;
      }
      throw unusable('all keys of the task are used');
    } catch (error) {
      // A worker that stops leaves the job to the next one.
      if (signal.aborted && !isShutdownAbort(signal.reason)) await this.cancelLabeled(taskKey);
      throw error;
    }
  }

  async jobState(jobId: string, output: string | undefined, signal: AbortSignal): Promise<JobState> {
    const state = await this.stateNow(jobId, output, signal);
    // The proxy reads the history, then the queue: a job that ends in between is in neither for one answer.
    return state.kind === 'gone' ? this.stateNow(jobId, output, signal) : state;
  }

  async image(path: string, signal: AbortSignal): Promise<Buffer> {
    try {
      return await this.calls.image(path, signal);
    } catch (error) {
      const isGone = error instanceof ProviderError && error.status === 404;
      throw isGone ? unusable('the image is no longer at the server', this.settings.free ? 'no' : 'maybe') : error;
    }
  }

  async cancel(jobId: string): Promise<void> {
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    await this.calls
      .post(`${JOBS_PATH}/${encodeURIComponent(jobId)}/cancel`, jsonBody({}), signal)
      // The caller's original error matters more.
      .catch(() => undefined);
  }

  private async stateNow(jobId: string, output: string | undefined, signal: AbortSignal): Promise<JobState> {
    let job: unknown;
    try {
      job = await this.calls.json(`${JOBS_PATH}/${encodeURIComponent(jobId)}`, signal);
    } catch (error) {
      if (error instanceof ProviderError && error.status === 404) return { kind: 'gone' };
      throw error;
    }
    const status = textAt(job, 'status');
    const part = valueAt(job, 'progress', 'value');
    switch (status) {
      case 'queued':
        return { kind: 'waiting' };
      case 'succeeded':
        return { kind: 'finished', images: imagesOf(job, output) };
      case 'failed':
      case 'canceled':
        return { kind: 'failed', ...v2Failure(status, job, this.calls.messageIn(job)) };
      case 'expired':
        return { kind: 'gone' };
      default:
        return { kind: 'running', part: typeof part === 'number' ? Math.min(Math.max(part, 0), 1) : undefined };
    }
  }

  /**
   * The job of a used key; undefined if another key may start a job: those of all used keys have failed, or nothing is
   * charged for a job that nobody knows. `keys`: number of used keys.
   */
  private async find(taskKey: string, keys: number, signal: AbortSignal): Promise<string | undefined> {
    for (let looks = 1; ; looks++) {
      const jobs = await this.labeled(taskKey, signal);
      const alive = jobs.find((job) => ALIVE.has(textAt(job, 'status')));
      if (alive !== undefined) return jobIdIn(alive);
      // As for jobState, a job that ends just now is in neither for one answer.
      const mayBeEnding = looks === 1 && jobs.some((job) => textAt(job, 'status') === 'expired');
      if (jobs.length >= keys && !mayBeEnding) return undefined;
      if (looks === LOOKS) break;
      await delay(LOOK_PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    if (this.settings.free) return undefined;
    throw unknownJob();
  }

  /** The task's jobs, newest first. */
  private async labeled(taskKey: string, signal: AbortSignal): Promise<unknown[]> {
    const listed = valueAt(await this.calls.json(`${JOBS_PATH}?limit=${LISTED}`, signal), 'jobs');
    if (!Array.isArray(listed)) throw unusable('the list of jobs has none');
    return (listed as unknown[]).filter((job) => textAt(job, 'metadata') === labelOf(taskKey));
  }

  /** Never throws. */
  private async cancelLabeled(taskKey: string): Promise<void> {
    const jobs = await this.labeled(taskKey, AbortSignal.timeout(CANCEL_TIMEOUT_MS)).catch(() => []);
    for (const job of jobs) if (textAt(job, 'status') !== 'succeeded') await this.cancel(jobIdIn(job));
  }
}

function labelOf(taskKey: string): string {
  return `darkroom ${taskKey}`;
}

function jobIdIn(job: unknown): string {
  const id = textAt(job, 'id');
  if (id === undefined) throw unusable('a workflow was answered without an id');
  return id;
}

/** The paths of a job's images, those of the named node alone if there is one. */
function imagesOf(job: unknown, output: string | undefined): string[] {
  const outputs = valueAt(job, 'outputs');
  return (Array.isArray(outputs) ? (outputs as unknown[]) : []).flatMap((saved) => {
    const id = textAt(saved, 'id');
    const isImage = textAt(saved, 'type') === 'image';
    if (id === undefined || !isImage || (output !== undefined && textAt(saved, 'node_id') !== output)) return [];
    // Not its link, which may name another host: the key is for this one.
    return [`${ASSETS_PATH}/${encodeURIComponent(id)}/content`];
  });
}
