import type { ImageUsage } from '#contract/image-usage.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { Upstream, type UpstreamSettings } from '../http/upstream.js';
import type {
  ImageProvider,
  ProviderCallContext,
  ProviderImageRequest,
  ProviderImageResult,
} from '../image-provider.js';
import { errorWords } from '../http/error-body.js';
import { isModeration } from '../http/moderation.js';
import { tokenUsage } from '../http/token-usage.js';
import { ProviderError } from '../provider-error.js';
import { blocked, libraryFailed, withoutImage } from './failures.js';
import { GuardedFetch } from './guarded-fetch.js';
import type { LibraryAnswer, LibraryCall, LibraryOrder, LibraryVendor, ModelInput } from './library-vendor.js';

/** Settings of one provider that is called through the AI SDK. */
export interface AiSdkSettings extends UpstreamSettings {
  readonly name: string;
  readonly free: boolean;
  readonly interrupted: 'retry' | 'fail';
  readonly vendor: LibraryVendor;
  /** Inputs that the model takes in addition to a prompt. */
  readonly takes: readonly ModelInput[];
}

type LibraryFile = NonNullable<LibraryCall['mask']>;

/** A vendor called through the AI SDK: one call, which responds when the image is ready. */
export class AiSdkProvider implements ImageProvider {
  readonly name: string;
  readonly free: boolean;
  readonly interrupted: 'retry' | 'fail';
  readonly longestCallMs: number;
  readonly maskForm: 'alpha' | 'white';
  private readonly upstream: Upstream;

  constructor(
    private readonly settings: AiSdkSettings,
    private readonly fetcher: ImageFetcher,
  ) {
    this.name = settings.name;
    this.free = settings.free;
    this.interrupted = settings.interrupted;
    this.longestCallMs = settings.totalTimeoutMs;
    this.maskForm = settings.vendor.maskForm;
    this.upstream = new Upstream(settings);
  }

  /** Throws ProviderError, or the signal's reason when aborted. */
  async generate(request: ProviderImageRequest, context: ProviderCallContext): Promise<ProviderImageResult> {
    const { vendor, takes } = this.settings;
    const order = vendor.order(request, takes);
    context.signal.throwIfAborted();
    context.onProgress(1);
    const { upstream, fetcher } = this;
    const { baseUrl, imagePatienceMs } = this.settings;
    const ways = { upstream, baseUrl, fetcher, vendor, imagePatienceMs };
    const guarded = new GuardedFetch(ways, request.n, context.signal);
    const answer = await this.ask(request, order, guarded, context.signal);
    if (answer instanceof ProviderError) return this.foundIn(guarded, answer, order, context);
    const shown = answer.images.slice(0, request.n).filter((_, index) => !vendor.isWithheld(answer, index));
    if (vendor.isBlocked(answer) || (shown.length === 0 && answer.images.length > 0)) throw blocked();
    const images = shown.map((image) => guarded.imageOf(image)).filter((image) => image !== undefined);
    if (images.length === 0) return this.foundIn(guarded, guarded.failure ?? this.missing(guarded), order, context);
    context.onProgress(100);
    const usage = usageOf(answer);
    return {
      images,
      ...(usage === undefined ? {} : { usage }),
      sentSize: order.size,
      warnings: [...order.warnings, ...answer.warnings.map(inPlainWords)],
    };
  }

  /** The image of a response in which the library found none. Throws `failure` if there is none either. */
  private async foundIn(
    guarded: GuardedFetch,
    failure: ProviderError,
    { size, warnings }: LibraryOrder,
    context: ProviderCallContext,
  ): Promise<ProviderImageResult> {
    const images = await guarded.found();
    if (images.length === 0 && isModeration(200, errorWords(guarded.value))) throw blocked();
    if (images.length === 0) throw failure;
    context.onProgress(100);
    return { images, sentSize: size, warnings };
  }

  private missing({ value }: GuardedFetch): ProviderError {
    return withoutImage(this.settings.vendor.isWorded?.(value) ?? false);
  }

  /** Returns a ProviderError when the library can't read the response. */
  private async ask(
    { model, prompt, n }: ProviderImageRequest,
    { call }: LibraryOrder,
    guarded: GuardedFetch,
    signal: AbortSignal,
  ): Promise<LibraryAnswer | ProviderError> {
    const { vendor, baseUrl } = this.settings;
    const named = (file: LibraryFile): LibraryFile =>
      'data' in file && Buffer.isBuffer(file.data) ? { ...file, data: guarded.placeholders.put(file.data) } : file;
    const files = call.files?.map(named);
    const mask = call.mask === undefined ? undefined : named(call.mask);
    const unset = { size: undefined, aspectRatio: undefined, seed: undefined };
    try {
      return await vendor
        .model(model, baseUrl, guarded.fetch)
        .doGenerate({ prompt, n, providerOptions: {}, ...unset, ...call, files, mask, abortSignal: signal });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProviderError) throw error;
      const failure = libraryFailed(error, guarded.hasOrdered);
      if (guarded.value === undefined) throw failure;
      return failure;
    }
  }
}

function usageOf({ usage }: LibraryAnswer): ImageUsage | undefined {
  const { inputTokens, outputTokens, totalTokens } = usage ?? {};
  return tokenUsage({ input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens });
}

function inPlainWords(warning: LibraryAnswer['warnings'][number]): string {
  return warning.type === 'other'
    ? warning.message
    : `The provider does not support ${warning.feature}, so it was ignored.`;
}
