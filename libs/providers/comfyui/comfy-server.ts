import { randomUUID } from 'node:crypto';
import { sha256Of } from '#bytes/bytes.js';
import { unusable } from '../http/failures.js';
import { textAt, valueAt } from '../http/json-value.js';
import { formBody, imagePart, jsonBody } from '../http/request-body.js';
import type { UpstreamSettings } from '../http/upstream.js';
import type { ProviderInputImage } from '../image-provider.js';
import type { ComfyApi, JobState } from './comfy-api.js';
import { ComfyCalls } from './comfy-calls.js';
import { executionError, historyFailure, refused } from './failures.js';
import { JobEvents, type JobListener } from './job-events.js';
import { PROMPT_PATH } from './options.js';
import type { WorkflowNodes } from './workflow.js';

const CANCEL_TIMEOUT_MS = 3_000;
/** Subfolder in the server's input folder. */
const SUBFOLDER = 'darkroom';

/** The API that every ComfyUI server has. */
export class ComfyServer implements ComfyApi {
  private readonly calls: ComfyCalls;

  constructor(private readonly settings: UpstreamSettings) {
    this.calls = new ComfyCalls(settings, refused);
  }

  async listen(taskKey: string, listener: JobListener): Promise<JobEvents> {
    return JobEvents.open(this.settings.baseUrl, clientOf(taskKey), this.settings.apiKey, listener);
  }

  /** The name on the server is derived from the bytes, so repeated uploads take no extra space. */
  async upload(image: ProviderInputImage, signal: AbortSignal): Promise<string> {
    const name = (await sha256Of(image.bytes)).slice(0, 32);
    const fields = { type: 'input', subfolder: SUBFOLDER, overwrite: 'true' };
    const body = formBody(fields, [imagePart('image', name, image)]);
    const answer = await this.calls.json('/upload/image', signal, { body });
    const file = textAt(answer, 'name');
    const subfolder = textAt(answer, 'subfolder');
    if (file === undefined) throw unusable('an upload was answered without a name');
    return subfolder === undefined ? file : `${subfolder}/${file}`;
  }

  async submit(prompt: WorkflowNodes, taskKey: string, signal: AbortSignal): Promise<string> {
    // Servers that let callers choose the id let them cancel a job of which they never heard, too.
    const wanted = randomUUID();
    try {
      const body = jsonBody({ prompt, client_id: clientOf(taskKey), prompt_id: wanted });
      const jobId = textAt(await this.calls.json(PROMPT_PATH, signal, { body }), 'prompt_id');
      if (jobId === undefined) throw unusable('a workflow was answered without an id');
      return jobId;
    } catch (error) {
      await this.cancel(wanted);
      throw error;
    }
  }

  async jobState(jobId: string, output: string | undefined, signal: AbortSignal): Promise<JobState> {
    const early = await this.ended(jobId, output, signal);
    if (early !== undefined) return early;
    const queue = await this.calls.json('/queue', signal);
    if (holds(queue, 'queue_running', jobId)) return { kind: 'running' };
    if (holds(queue, 'queue_pending', jobId)) return { kind: 'waiting' };
    // The job may have ended between the two requests.
    return (await this.ended(jobId, output, signal)) ?? { kind: 'gone' };
  }

  async image(path: string, signal: AbortSignal): Promise<Buffer> {
    return this.calls.image(path, signal);
  }

  async cancel(jobId: string): Promise<void> {
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    try {
      await this.calls.post('/queue', jsonBody({ delete: [jobId] }), signal);
      // A job that is then not queued is running or has ended. Old servers stop any running job, so check first.
      if (holds(await this.calls.json('/queue', signal), 'queue_running', jobId)) {
        await this.calls.post('/interrupt', jsonBody({ prompt_id: jobId }), signal);
      }
    } catch {
      // The caller's original error matters more.
    }
  }

  private async ended(jobId: string, output: string | undefined, signal: AbortSignal): Promise<JobState | undefined> {
    const entry = valueAt(await this.calls.json(`/history/${encodeURIComponent(jobId)}`, signal), jobId);
    if (entry === undefined) return undefined;
    if (textAt(entry, 'status', 'status_str') === 'error') {
      const messages = valueAt(entry, 'status', 'messages');
      return { kind: 'failed', ...historyFailure(messages, this.calls.messageIn(executionError(messages))) };
    }
    return { kind: 'finished', images: imagesOf(valueAt(entry, 'outputs'), output) };
  }
}

/** The same for every start of a task, so that a later start receives the events of an earlier start's job. */
function clientOf(taskKey: string): string {
  return `darkroom-${taskKey}`;
}

/** Queue entries are lists that start with a number and the id. */
function holds(queue: unknown, part: 'queue_running' | 'queue_pending', jobId: string): boolean {
  const entries = valueAt(queue, part);
  return Array.isArray(entries) && entries.some((entry) => valueAt(entry, 1) === jobId);
}

/** The paths of saved images, followed by those of previews. */
function imagesOf(outputs: unknown, output: string | undefined): string[] {
  const nodes = output === undefined ? Object.values(outputs ?? {}) : [valueAt(outputs, output)];
  const images = nodes.flatMap((node): unknown[] => {
    const found = valueAt(node, 'images');
    return Array.isArray(found) ? (found as unknown[]) : [];
  });
  const saved = images.flatMap((image) => {
    const [filename, type = 'output'] = [textAt(image, 'filename'), textAt(image, 'type')];
    return filename === undefined ? [] : [{ filename, type, subfolder: textAt(image, 'subfolder') ?? '' }];
  });
  return [...saved.filter(({ type }) => type === 'output'), ...saved.filter(({ type }) => type !== 'output')].map(
    (image) => `/view?${new URLSearchParams(image).toString()}`,
  );
}
