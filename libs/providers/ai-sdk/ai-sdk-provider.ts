import { Readable } from 'node:stream';
import type { ImageUsage } from '#contract/image-usage.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { Upstream, type UpstreamSettings } from '../http/upstream.js';
import type {
  ImageProvider,
  ProviderCallContext,
  ProviderImageRequest,
  ProviderImageResult,
} from '../image-provider.js';
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
    const ways = { upstream, baseUrl: this.settings.baseUrl, fetcher, vendor };
    const guarded = new GuardedFetch(ways, request.n, context.signal);
    const answer = await this.ask(request, order, guarded, context.signal);
    const shown = answer.images.slice(0, request.n).filter((_, index) => !vendor.isWithheld(answer, index));
    if (vendor.isBlocked(answer) || (shown.length === 0 && answer.images.length > 0)) throw blocked();
    const images = shown.map((image) => guarded.imageOf(image)).filter((image) => image !== undefined);
    if (images.length === 0) throw guarded.failure ?? withoutImage();
    context.onProgress(100);
    const usage = usageOf(answer);
    return {
      images: images.map((image) => Readable.from(image)),
      ...(usage === undefined ? {} : { usage }),
      sentSize: order.size,
      warnings: [...order.warnings, ...answer.warnings.map(inPlainWords)],
    };
  }

  private async ask(
    { model, prompt, n }: ProviderImageRequest,
    { call }: LibraryOrder,
    guarded: GuardedFetch,
    signal: AbortSignal,
  ): Promise<LibraryAnswer> {
    const { vendor, baseUrl } = this.settings;
    const named = (file: LibraryFile): LibraryFile =>
      'data' in file && Buffer.isBuffer(file.data) ? { ...file, data: guarded.placeholders.put([file.data]) } : file;
    const files = call.files?.map(named);
    const mask = call.mask === undefined ? undefined : named(call.mask);
    const unset = { size: undefined, aspectRatio: undefined, seed: undefined };
    try {
      return await vendor
        .model(model, baseUrl, guarded.fetch)
        .doGenerate({ prompt, n, providerOptions: {}, ...unset, ...call, files, mask, abortSignal: signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ProviderError ? error : libraryFailed(error, guarded.hasOrdered);
    }
  }
}

function usageOf({ usage }: LibraryAnswer): ImageUsage | undefined {
  const { inputTokens, outputTokens, totalTokens } = usage ?? {};
  if (!isCount(inputTokens) || !isCount(outputTokens) || !isCount(totalTokens)) return undefined;
  return { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens };
}

function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value);
}

function inPlainWords(warning: LibraryAnswer['warnings'][number]): string {
  return warning.type === 'other'
    ? warning.message
    : `The provider does not support ${warning.feature}, so it was ignored.`;
}
