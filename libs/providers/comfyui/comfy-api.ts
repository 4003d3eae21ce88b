import type { ProviderInputImage } from '../image-provider.js';
import type { JobListener } from './job-events.js';
import type { UploadedImage, WorkflowNodes } from './workflow.js';

/** Why a job ended without images. */
export interface JobFailure {
  readonly reason: 'interrupted' | 'out of memory' | 'failed';
  /** For the log: names of exceptions and nodes only. */
  readonly cause: string;
  readonly providerMessage: string | undefined;
}

/** State of a job. `part`: how much is done, 0..1, if the server says so. */
export type JobState =
  | { readonly kind: 'waiting' | 'gone' }
  | { readonly kind: 'running'; readonly part?: number | undefined }
  | ({ readonly kind: 'failed' } & JobFailure)
  /** The paths of its images at the server, best first. */
  | { readonly kind: 'finished'; readonly images: readonly string[] };

/** One of the APIs of a ComfyUI server. Its calls throw ProviderError, or the signal's reason when aborted. */
export interface ComfyApi {
  /** Hears of a task's running jobs, if the API tells: nothing depends on it. */
  listen(taskKey: string, listener: JobListener): Promise<{ close(): void }>;
  upload(image: ProviderInputImage, signal: AbortSignal): Promise<UploadedImage>;
  /**
   * Queues a workflow and returns its job's id; `taskKey` is the same for every start of a task. When it throws, no job
   * is left that a later call would not find.
   */
  submit(nodes: WorkflowNodes, taskKey: string, signal: AbortSignal): Promise<string>;
  /** `output`: the node whose images are used; undefined: any. */
  jobState(jobId: string, output: string | undefined, signal: AbortSignal): Promise<JobState>;
  image(path: string, signal: AbortSignal): Promise<Buffer>;
  /** Removes a job from the queue, or stops it if it is running. Best effort: never throws. */
  cancel(jobId: string): Promise<void>;
}
