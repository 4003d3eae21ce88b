import { Injectable } from '@nestjs/common';
import { findModel, modelOf, type Catalog } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { mayBuyAgain, type ProviderPending } from '#providers/image-provider.js';
import { ProviderError } from '#providers/provider-error.js';
import { ProviderRegistry } from './provider-registry.js';
import { routePlan, type Candidate } from '#routing/route-plan.js';
import type { ClaimedTask } from '#tasks/task-transitions.js';
import { endOf, type Attempt } from './attempt.js';
import { CallProvider, isOfTheProvider, type MadeImages, type OrderedCall } from './call-provider.js';
import { NoProviderFree } from './failure-verdict.js';
import { LoadInputs, type LoadedInputs } from './load-inputs.js';
import { ProviderStarts } from './provider-starts.js';
import { StoreImages, type StoredImages } from './store-images.js';

/** The images as they were ordered, in the store, and what their provider told of them. */
export interface OrderedImages {
  readonly made: Omit<MadeImages, 'files'>;
  readonly stored: StoredImages;
}

/** Has the images made and stored: by the provider that works on it already, else by the first that can. */
@Injectable()
export class OrderImage {
  constructor(
    private readonly starts: ProviderStarts,
    private readonly providers: ProviderRegistry,
    private readonly calls: CallProvider,
    private readonly inputs: LoadInputs,
    private readonly images: StoreImages,
  ) {}

  /**
   * The images, or word that their provider still works on them. Whoever fails without charging is followed by the
   * next at once. Throws what `verdictOn` judges.
   */
  async run(attempt: Attempt): Promise<OrderedImages | ProviderPending> {
    this.starts.refuseRepeatedLosses(attempt);
    const catalog = await this.providers.catalogThat((known) => canOrder(attempt, known));
    const passed = new PassedOver();
    const resumed = toResume(attempt, catalog);
    if (resumed === undefined) refuseSecondPurchase(attempt);
    else {
      const order = { candidate: resumed, inputs: notLoaded(attempt.claimed), resume: true };
      const answer = await this.try(attempt, order, passed);
      if (answer !== undefined) return answer;
      if (attempt.call?.end === undefined) throw passed.reason();
    }
    const plan = planOf(attempt, catalog).filter((candidate) => !isSame(candidate, resumed));
    const inputs = await this.inputs.load(attempt.claimed, attempt.lease.signal);
    for (const candidate of plan) {
      if (passed.hasFailed && !this.starts.mayStart(attempt)) break;
      const answer = await this.try(attempt, { candidate, inputs, resume: false }, passed);
      if (answer !== undefined) return answer;
    }
    throw passed.reason();
  }

  /** Undefined when the candidate is not free, or has failed by itself and proven not to have charged. */
  private async try(
    attempt: Attempt,
    order: OrderedCall,
    passed: PassedOver,
  ): Promise<OrderedImages | ProviderPending | undefined> {
    try {
      const answer = await this.calls.call(attempt, order);
      if ('pending' in answer) return answer;
      if (!('reason' in answer)) {
        const { files, ...made } = answer;
        return { made, stored: await this.images.run(attempt, made, files) };
      }
      passed.refused(answer.retryAfterMs);
    } catch (error) {
      const { call, lease } = attempt;
      if (lease.signal.aborted || call === undefined || !(error instanceof ProviderError)) throw error;
      call.end = endOf(call.provider.free, error, false);
      if (call.end.charged !== 'no' || !isOfTheProvider(error)) throw error;
      passed.failed(error);
      this.starts.failedOver(attempt, error);
    }
    return undefined;
  }
}

/** Why nobody made the image: what is worth another try later comes before what is not. */
class PassedOver {
  private failure: ProviderError | undefined;
  private retryAfterMs = Infinity;

  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  failed(error: ProviderError): void {
    if (this.failure === undefined || error.retryable) this.failure = error;
  }

  refused(retryAfterMs: number): void {
    this.retryAfterMs = Math.min(this.retryAfterMs, retryAfterMs);
  }

  reason(): Error {
    if (this.failure !== undefined && (this.failure.retryable || this.retryAfterMs === Infinity)) return this.failure;
    return new NoProviderFree(this.retryAfterMs);
  }
}

/**
 * Whether a catalog that another process may have changed already is good enough for the task. It is when it has the
 * model, except for a test of one provider, which is about what an operator saved a moment ago.
 */
function canOrder({ claimed: { task } }: Attempt, catalog: Catalog): boolean {
  return task.options.onlyProvider === undefined && modelOf(catalog, 'image', task.model) !== undefined;
}

/** Who named a job for the task and is to be asked for it. Throws AppError `interrupted` when that is impossible. */
function toResume(attempt: Attempt, catalog: Catalog): Candidate | undefined {
  const { lastCall, task } = attempt.claimed;
  if (attempt.takeUp(catalog)?.jobId === undefined || lastCall === undefined) return undefined;
  const provider = catalog.providers.get(lastCall.provider);
  const key = provider?.keys.find(({ name }) => name === lastCall.key);
  if (provider === undefined || (key === undefined && lastCall.key !== '')) {
    throw new AppError(
      'interrupted',
      'The provider that was generating the image, or its key, is no longer configured, so the image could not be fetched.',
    );
  }
  const { model } = lastCall;
  const routes = findModel(catalog, task.model)?.ranks.flat() ?? [];
  const sizes = routes.find((route) => route.provider === provider.name && route.model === model)?.sizes;
  return { provider, key, model, sizes };
}

/** An earlier attempt called a provider and never learned how that ended. */
function refuseSecondPurchase({ call }: Attempt): void {
  if (call === undefined || mayBuyAgain(call.provider, 'maybe')) return;
  throw new AppError(
    'interrupted',
    'The worker was interrupted while the provider was generating the image. Whether the image was generated is unknown, so it was not bought a second time.',
  );
}

/** The inputs without their bytes: the provider that runs the job has them, and their URLs may be gone by now. */
function notLoaded({ inputs, mask }: ClaimedTask): LoadedInputs {
  const image = { bytes: Buffer.alloc(0), contentType: 'image/png', width: 0, height: 0, hasAlpha: false } as const;
  return { images: inputs.map(() => image), mask: mask === null ? undefined : image };
}

function planOf({ claimed, starts }: Attempt, catalog: Catalog): Candidate[] {
  const { task, inputs, mask } = claimed;
  const model = modelOf(catalog, 'image', task.model);
  if (model === undefined) {
    // It was served when the task was accepted, so its end is not the caller's fault.
    throw new AppError('interrupted', `The model ${task.model} was removed before the image was started.`);
  }
  const { onlyProvider } = task.options;
  const needs = { images: inputs.length, mask: mask !== null, n: task.options.n, onlyProvider };
  const exactly = { ...task.options, action: task.action, ...needs };
  const all = task.options.strict === true ? { ...needs, exactly } : needs;
  return routePlan(model, catalog, all, `${task.id} ${starts + 1}`);
}

function isSame(one: Candidate, other: Candidate | undefined): boolean {
  return one.provider.name === other?.provider.name && one.key?.name === other.key?.name;
}
