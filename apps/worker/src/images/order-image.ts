import { Injectable } from '@nestjs/common';
import { findModel, modelOf, type Catalog } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { mayStartAgain, type ProviderPending } from '#providers/image-provider.js';
import { serverId, serverOf } from '#providers/provider-entry.js';
import { ProviderError } from '#providers/provider-error.js';
import { poolsOf, routePlan, type Candidate } from '#routing/route-plan.js';
import type { ProviderCall } from '#tasks/row/provider-call.js';
import { overlayOf } from '#tasks/row/task.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import { ProviderRegistry } from '../providers/provider-registry.js';
import { endOf, type Attempt } from './attempt.js';
import { CallProvider, isOfTheProvider, mayBeTheServer, type CallResult, type OrderedCall } from './call-provider.js';
import { NoProviderFree } from './failure-verdict.js';
import { inItsRole, LoadInputs, type LoadedInputs } from './load-inputs.js';
import { ProviderStarts } from './provider-starts.js';
import { StoreResults, type StoredImages } from './store-results.js';
import { TaskMemory, type TaskHold } from './task-memory.js';

/** The finished images in the store, and the provider's other results. */
export interface OrderedImages {
  readonly result: Omit<CallResult, 'files'>;
  readonly stored: StoredImages;
  /** Milliseconds from the provider's answer until they were stored. */
  readonly storingMs: number;
}

/**
 * Generates and stores a task's images: resumes the provider that is already working, or calls the first that accepts.
 */
@Injectable()
export class OrderImage {
  constructor(
    private readonly providerStarts: ProviderStarts,
    private readonly providers: ProviderRegistry,
    private readonly callProvider: CallProvider,
    private readonly inputs: LoadInputs,
    private readonly storeResults: StoreResults,
    private readonly memory: TaskMemory,
  ) {}

  /**
   * Returns the images, or `pending` while the provider is still working. After a failure without a charge, it calls
   * the next candidate at once. Throws errors for `verdictOn`.
   */
  async run(attempt: Attempt): Promise<OrderedImages | ProviderPending> {
    this.providerStarts.refuseRepeatedLosses(attempt);
    const catalog = await this.providers.catalogWith((known) => canOrder(attempt, known));
    const passed = new FailedCandidates();
    attempt.readOpenCall(catalog);
    const resumed = runningCandidate(attempt, catalog);
    if (resumed === undefined) assertNotPaidTwice(attempt);
    else {
      const order = { inputs: notLoaded(attempt.claimed), resume: true };
      const answer = await this.holding(attempt, true, async (hold) =>
        this.tryOneOf(attempt, [resumed], { ...order, hold }, passed),
      );
      if (answer !== undefined) return answer;
      // The limiter rejects no call that resumes; if it did, another order might pay twice.
      if (attempt.call?.end === undefined) throw passed.reason();
    }
    const plan = planOf(attempt, catalog).filter((candidate) => !isSame(candidate, resumed));
    return this.holding(attempt, false, async (hold) => {
      const inputs = await this.inputs.load(attempt.claimed, hold, attempt.lease.signal);
      for (const pool of poolsOf(plan)) {
        const answer = await this.tryOneOf(attempt, pool, { inputs, resume: false, hold }, passed);
        if (answer !== undefined) return answer;
      }
      throw passed.reason();
    });
  }

  /** Takes the memory for inputs and results first, and releases it when the action has ended. */
  private async holding<T>(attempt: Attempt, resumed: boolean, action: (hold: TaskHold) => Promise<T>): Promise<T> {
    const hold = this.memory.reserve(attempt.claimed, resumed);
    try {
      return await action(hold);
    } finally {
      hold.release();
    }
  }

  /** Calls the servers and keys of a pool, as the limiter permits, until one answers. Undefined like `try`. */
  private async tryOneOf(
    attempt: Attempt,
    pool: readonly Candidate[],
    order: Omit<OrderedCall, 'permit'> & { readonly hold: TaskHold },
    passed: FailedCandidates,
  ): Promise<OrderedImages | ProviderPending | undefined> {
    let left = pool;
    for (;;) {
      left = left.filter((candidate) => !passed.isPointless(candidate));
      if (left.length === 0 || (passed.hasFailed && !this.providerStarts.mayStart(attempt))) return undefined;
      const permit = await this.callProvider.permit(attempt, left, order.resume);
      if ('reason' in permit) {
        passed.limited(permit.retryAfterMs);
        return undefined;
      }
      const answer = await this.try(attempt, { ...order, permit }, passed);
      if (answer !== undefined) return answer;
      left = left.filter((candidate) => candidate !== permit.option);
    }
  }

  /** Undefined, and noted in `passed`, when the provider failed or rejected the request without a charge. */
  private async try(
    attempt: Attempt,
    order: OrderedCall & { readonly hold: TaskHold },
    passed: FailedCandidates,
  ): Promise<OrderedImages | ProviderPending | undefined> {
    try {
      const answer = await this.callProvider.call(attempt, order);
      if ('pending' in answer) return answer;
      const answeredAt = performance.now();
      const { files, ...result } = answer;
      order.hold.received(files.reduce((sum, { length }) => sum + length, 0));
      const stored = await this.storeResults.run(attempt, result, files);
      const storingMs = performance.now() - answeredAt;
      this.callProvider.ended(attempt, order.permit.option);
      return { result, stored, storingMs };
    } catch (error) {
      this.callProvider.ended(attempt, order.permit.option, error);
      const { call, lease } = attempt;
      if (lease.signal.aborted || call === undefined || !(error instanceof ProviderError)) throw error;
      call.end = endOf(call.provider.free, error, false);
      if (call.end.charged !== 'no' || !isOfTheProvider(error)) throw error;
      passed.failed(error, order.permit.option);
      this.providerStarts.failedOver(attempt, error);
      return undefined;
    }
  }
}

/** Why no provider generated the image: retryable reasons take precedence. */
class FailedCandidates {
  private failure: ProviderError | undefined;
  /** Providers or servers, with their models, that rejected the request itself. */
  private readonly rejecting = new Set<string>();
  /** When the limiter may permit a call that it rejected. */
  private retryAfterMs = Infinity;

  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  /** The candidate's server, or its provider, rejected the request itself, so another call would only repeat that. */
  isPointless({ provider, model }: Candidate): boolean {
    return [provider.name, serverId(provider)].some((id) => this.rejecting.has(`${id} ${model}`));
  }

  /** The provider was called, and failed or rejected the request. */
  failed(error: ProviderError, { provider, model }: Candidate): void {
    if (error.isAboutRequest && !error.retryable) {
      this.rejecting.add(`${mayBeTheServer(error) ? serverId(provider) : provider.name} ${model}`);
    }
    if (this.failure === undefined || error.retryable) this.failure = error;
  }

  /** The limiter rejected the call, so the provider was not called. */
  limited(retryAfterMs: number): void {
    this.retryAfterMs = Math.min(this.retryAfterMs, retryAfterMs);
  }

  reason(): Error {
    if (this.failure !== undefined && (this.failure.retryable || this.retryAfterMs === Infinity)) return this.failure;
    return new NoProviderFree(this.retryAfterMs);
  }
}

/**
 * Whether this process's catalog, which may be outdated, is good enough for the task. It is if it has the model, and the
 * server and key of a job that is to be fetched; except for a provider test, which needs the entry that an operator just
 * saved.
 */
function canOrder({ claimed }: Attempt, catalog: Catalog): boolean {
  const { task, lastCall, providerCallOpen, providerJobId } = claimed;
  const hasJob = providerCallOpen && providerJobId !== null && lastCall !== undefined;
  if (hasJob && placeOf(lastCall, catalog) === undefined) return false;
  return task.options.onlyProvider === undefined && modelOf(catalog, 'image', task.model) !== undefined;
}

/**
 * The provider whose job an earlier attempt left running. Throws AppError `interrupted` when it can no longer be
 * reached.
 */
function runningCandidate({ call, claimed }: Attempt, catalog: Catalog): Candidate | undefined {
  const { lastCall, task } = claimed;
  if (call?.providerJobId === undefined || lastCall === undefined) return undefined;
  const place = placeOf(lastCall, catalog);
  if (place === undefined) {
    throw new AppError(
      'interrupted',
      'The image could not be fetched because the provider that was generating it, its server, or its key, is no longer configured.',
    );
  }
  const { provider, key } = place;
  const { model } = lastCall;
  const routes = findModel(catalog, task.model)?.ranks.flat() ?? [];
  const sizes = routes.find((route) => route.provider === provider.name && route.model === model)?.sizes;
  return { provider, key, model, sizes };
}

/** The server and key of a call; undefined when the catalog has no such server, or no such key of it. */
function placeOf(call: ProviderCall, { providers }: Catalog): Pick<Candidate, 'provider' | 'key'> | undefined {
  const known = providers.get(call.provider);
  const provider = known && serverOf(known, call.server);
  const key = provider?.keys.find(({ name }) => name === call.key);
  return provider === undefined || (key === undefined && call.key !== '') ? undefined : { provider, key };
}

/** Throws when an earlier attempt's call has an unknown outcome and may have been charged. */
function assertNotPaidTwice({ call }: Attempt): void {
  if (call === undefined || mayStartAgain(call.provider, 'maybe')) return;
  throw new AppError(
    'interrupted',
    'The worker was interrupted while the provider was generating the image. It is unknown whether the image was generated, so the call was not repeated to avoid paying twice.',
  );
}

/** Placeholders for the inputs: the provider already has them, and their URLs may no longer work. */
function notLoaded({ inputs, mask, lastCall }: ClaimedTask): LoadedInputs {
  const image = { bytes: Buffer.alloc(0), contentType: 'image/png', width: 0, height: 0, hasAlpha: false } as const;
  const images = inputs.map(() => image);
  return { images, ...inItsRole(mask === null ? undefined : image, { mask }), adapted: lastCall?.adapted ?? [] };
}

function planOf({ claimed, starts }: Attempt, catalog: Catalog): Candidate[] {
  const { task, inputs, mask } = claimed;
  const model = modelOf(catalog, 'image', task.model);
  if (model === undefined) {
    // The model existed when the task was accepted, so this is not the caller's error.
    throw new AppError('interrupted', `The model ${task.model} was removed before the image was started.`);
  }
  const { onlyProvider, region, n, outputFormat } = task.options;
  const svg = outputFormat === 'svg';
  const needs = { images: inputs.length, ...overlayOf({ mask }), svg, n, onlyProvider, region };
  const exactly = { ...task.options, action: task.action, ...needs };
  const all = task.options.strict === true ? { ...needs, exactly } : needs;
  return routePlan(model, catalog, all, `${task.id} ${starts + 1}`);
}

function isSame(one: Candidate, other: Candidate | undefined): boolean {
  return (
    one.provider.name === other?.provider.name &&
    one.provider.server === other.provider.server &&
    one.key?.name === other.key?.name
  );
}
