import { Injectable, type OnModuleInit } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { pixelsFor } from '#contract/pixel-table.js';
import { mostPngBytes } from '#images/conversion.js';
import { ImageError } from '#images/image-error.js';
import { MAX_REFERENCE_BYTES, MAX_REFERENCE_PIXELS, MAX_REMOTE_IMAGE_BYTES } from '#images/limits.js';
import { FairBudget } from '#limits/fair-budget.js';
import { ImageQueue } from '#queue/image-queue.js';
import { imageJobId } from '#queue/job-catalog.js';
import type { TaskInput } from '#tasks/row/task.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import { Metrics } from '#telemetry/metrics.js';
import { WorkerConfig } from '../worker.config.js';
import { NoMemoryFree } from './failure-verdict.js';

/** An input is in memory twice: as it is stored, and as it is sent (cleaned, or as base64). */
const COPIES = 2;
/** A finished image per pixel: 1.8 measured for a PNG of a photo; what is more is counted once it is there. */
const RESULT_BYTES_PER_PIXEL = 2;
/** The pixels of a result whose size the provider chooses. */
const USUAL_PIXELS = 1_572_864;
/**
 * Pixels of references that the tasks of this process may decode at a time: one account's share is the most that a
 * request may have. Decoding them takes some seconds, and no task waits in a slot for more than that.
 */
const DECODED_PIXELS = 2 * MAX_REFERENCE_PIXELS;
/** How soon a task is tried again that found no room, unless room is made earlier. */
const RETRY_MS = 5_000;
/** A task that waits here may have been claimed elsewhere; after so long it no longer keeps others waiting. */
const FORGET_MS = 2 * RETRY_MS;

const LARGER_THAN_SHARE =
  'The request needs more memory than a worker of this service has for one account (IMAGE_MEMORY).';

interface Need {
  readonly bytes: number;
  readonly pixels: number;
}

interface WaitingTask extends Need {
  readonly accountId: string;
  readonly jobId: string;
  readonly until: number;
}

/** What a task holds in this process; all of it is released at once. */
export class TaskHold {
  private bytes = 0;
  private pixels = 0;
  private inputBytes = 0;

  constructor(
    private readonly memory: TaskMemory,
    private readonly accountId: string,
    { bytes, pixels }: Need,
    private readonly resultBytes: number,
  ) {
    this.bytes = bytes;
    this.pixels = pixels;
  }

  /** Takes pixels that were not known when the task was claimed. Throws NoMemoryFree when they do not fit. */
  addPixels(pixels: number): void {
    if (!this.memory.decoded.tryReserve(pixels, this.accountId)) throw new NoMemoryFree(RETRY_MS);
    this.pixels += pixels;
  }

  /**
   * Takes memory for an input that grows when it is converted, beyond what was taken when the task was claimed. Throws
   * NoMemoryFree when it does not fit, and ImageError when it never will.
   */
  addInputBytes(bytes: number): void {
    const most = COPIES * MAX_REFERENCE_BYTES + this.resultBytes;
    const more = Math.min(COPIES * bytes, most - this.bytes);
    if (more <= 0) return;
    if (this.bytes + more > this.memory.bytes.most) throw new ImageError('image_file_too_large', LARGER_THAN_SHARE);
    if (!this.memory.bytes.tryReserve(more, this.accountId)) throw new NoMemoryFree(RETRY_MS);
    this.bytes += more;
  }

  /** All inputs are decoded, and have this many bytes. */
  loaded(bytes: number): void {
    this.inputBytes = COPIES * bytes;
    this.count(this.inputBytes + this.resultBytes);
    this.memory.decoded.release(this.pixels, this.accountId);
    this.pixels = 0;
    this.memory.wake();
  }

  /** The results are in memory, perhaps larger than expected. */
  received(bytes: number): void {
    this.count(this.inputBytes + Math.max(bytes, this.resultBytes));
  }

  release(): void {
    this.count(0);
    this.memory.decoded.release(this.pixels, this.accountId);
    this.pixels = 0;
    this.memory.wake();
  }

  private count(bytes: number): void {
    this.memory.bytes.add(bytes - this.bytes, this.accountId);
    this.bytes = bytes;
  }
}

/**
 * The memory of this process for inputs and results, and the pixels of references that may be decoded at a time, shared
 * by account. A task takes what it needs of both when it is claimed, before it holds anything else, and never waits for
 * more: a task without room goes back to the queue and leaves its slot to others. So nothing can deadlock. The only
 * later wait is for a turn to decode (`withImageSlot`), and a task that has it waits for nothing.
 */
@Injectable()
export class TaskMemory implements OnModuleInit {
  readonly bytes: FairBudget;
  readonly decoded = new FairBudget(DECODED_PIXELS);
  private readonly waiting = new Map<string, WaitingTask>();

  constructor(
    { imageMemory }: WorkerConfig,
    private readonly queue: ImageQueue,
    private readonly metrics: Metrics,
  ) {
    this.bytes = new FairBudget(imageMemory);
  }

  onModuleInit(): void {
    const { metrics, bytes, decoded } = this;
    metrics.gauge('worker_image_bytes', 'Bytes of inputs and results this worker holds.', () => bytes.held);
    metrics.gauge('worker_image_bytes_limit', 'IMAGE_MEMORY of this worker.', () => bytes.limit);
    metrics.gauge('worker_decoded_pixels', 'Pixels of references this worker decodes.', () => decoded.held);
    metrics.gauge(
      'worker_tasks_without_memory',
      'Tasks in the queue that found no memory free for their account at this worker.',
      () => this.waitingTasks,
    );
  }

  /** Tasks that found no room and come back. */
  get waitingTasks(): number {
    this.forgetOld();
    return this.waiting.size;
  }

  /**
   * Takes what the task needs; with `resumed`, its inputs are not loaded again. Throws NoMemoryFree when there is no
   * room now, and AppError when the task is larger than an account's share of the process.
   */
  reserve(claimed: ClaimedTask, resumed: boolean): TaskHold {
    const { accountId, id } = claimed.task;
    const resultBytes = resultBytesOf(claimed);
    const inputs = resumed ? { bytes: 0, pixels: 0 } : needOf(claimed);
    const need = { bytes: inputs.bytes + resultBytes, pixels: inputs.pixels };
    if (need.bytes > this.bytes.most || need.pixels > this.decoded.most) throw largerThanShare(claimed);
    if (this.mustWait(id, accountId) || !this.take(need, accountId)) {
      const jobId = imageJobId(id, claimed.nextEpoch);
      // A job that checks a provider's job is due at a fixed time.
      if (!resumed) this.waiting.set(id, { ...need, accountId, jobId, until: performance.now() + FORGET_MS });
      throw new NoMemoryFree(RETRY_MS);
    }
    this.waiting.delete(id);
    return new TaskHold(this, accountId, need, resultBytes);
  }

  /**
   * Takes memory for an image that no task waits for, while it is read and decoded; undefined when tasks need all there
   * is.
   */
  spare(imageBytes: number, accountId: string): TaskHold | undefined {
    const bytes = COPIES * imageBytes;
    if (this.waitingTasks > 0 || !this.bytes.tryReserve(bytes, accountId)) return undefined;
    return new TaskHold(this, accountId, { bytes, pixels: 0 }, 0);
  }

  /** Lets those of the waiting tasks run for which there is room now: the accounts that hold least first. */
  wake(): void {
    this.forgetOld();
    if (this.waiting.size === 0) return;
    const woken: WaitingTask[] = [];
    for (let next = this.nextToFit(); next !== undefined; next = this.nextToFit()) {
      const [id, task] = next;
      // Counted only until all that fit are found; whichever worker claims them takes what they need again.
      this.take(task, task.accountId);
      this.waiting.delete(id);
      woken.push(task);
    }
    for (const task of woken) this.give(task, task.accountId);
    if (woken.length > 0) void this.queue.hurry(woken.map(({ jobId }) => jobId));
  }

  /** The oldest waiting task of the account that holds least, among accounts whose oldest one fits. */
  private nextToFit(): [string, WaitingTask] | undefined {
    const oldest = new Map<string, [string, WaitingTask]>();
    for (const [id, task] of this.waiting) {
      const known = oldest.get(task.accountId);
      // Ids begin with their time.
      if (known === undefined || id < known[0]) oldest.set(task.accountId, [id, task]);
    }
    return [...oldest.values()]
      .filter(([, task]) => this.fits(task, task.accountId))
      .sort(([, a], [, b]) => this.shareOf(a.accountId) - this.shareOf(b.accountId))[0];
  }

  /**
   * Tasks of the account that have waited longer go first; and while an account waits that holds less, one that holds
   * something gets nothing more. Otherwise a large task would never find room beside a stream of small ones.
   */
  private mustWait(id: string, accountId: string): boolean {
    this.forgetOld();
    const own = this.shareOf(accountId);
    for (const [other, task] of this.waiting) {
      const goesFirst = task.accountId === accountId ? other < id : own > 0 && this.shareOf(task.accountId) < own;
      // One for which there is room was just woken, or another worker has it.
      if (goesFirst && !this.fits(task, task.accountId)) return true;
    }
    return false;
  }

  private fits({ bytes, pixels }: Need, accountId: string): boolean {
    return this.bytes.fits(bytes, accountId) && this.decoded.fits(pixels, accountId);
  }

  private take(need: Need, accountId: string): boolean {
    if (!this.fits(need, accountId)) return false;
    this.bytes.add(need.bytes, accountId);
    this.decoded.add(need.pixels, accountId);
    return true;
  }

  private give({ bytes, pixels }: Need, accountId: string): void {
    this.bytes.release(bytes, accountId);
    this.decoded.release(pixels, accountId);
  }

  private shareOf(accountId: string): number {
    return Math.max(
      this.bytes.heldBy(accountId) / this.bytes.limit,
      this.decoded.heldBy(accountId) / this.decoded.limit,
    );
  }

  private forgetOld(): void {
    const now = performance.now();
    for (const [id, { until }] of this.waiting) if (until < now) this.waiting.delete(id);
  }
}

/** Bytes of the inputs, and their pixels as far as they are known; equal inputs are loaded once. */
function needOf({ inputs, mask }: ClaimedTask): Need {
  let bytes = 0;
  let pixels = 0;
  const different = new Map([...inputs, ...(mask === null ? [] : [mask])].map((input) => [nameOfInput(input), input]));
  for (const input of different.values()) {
    bytes += bytesOfInput(input);
    pixels += input.kind === 'object' ? (input.pixels ?? 0) : 0;
  }
  return { bytes: COPIES * Math.min(bytes, MAX_REFERENCE_BYTES), pixels };
}

/** Most bytes of an input, as far as that is known: as it is stored, or larger after its conversion. */
export function bytesOfInput(input: TaskInput): number {
  if (input.kind === 'url') return MAX_REMOTE_IMAGE_BYTES;
  return input.convert === undefined ? input.bytes : Math.max(input.bytes, mostPngBytes(input.pixels ?? 0));
}

/** What distinguishes an input from others: its object or address. */
export function nameOfInput(input: TaskInput): string {
  return input.kind === 'object' ? input.key : input.url;
}

function resultBytesOf({ task: { options } }: ClaimedTask): number {
  const { pixels, resolution, n = 1 } = options;
  const { width, height } = pixels ?? (resolution === null ? undefined : pixelsFor('1:1', resolution)) ?? {};
  const each = width === undefined || height === undefined ? USUAL_PIXELS : width * height;
  return RESULT_BYTES_PER_PIXEL * n * each;
}

function largerThanShare({ inputs }: ClaimedTask): AppError {
  const [first] = inputs;
  return new AppError('image_file_too_large', LARGER_THAN_SHARE, first === undefined ? {} : { param: first.param });
}
