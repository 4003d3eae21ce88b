import { fetchImages, MAX_IMAGE_BYTES, maxAnswerBytes, untilPatienceEnds } from '../http/fetch-image.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { Upstream, type UpstreamSettings } from '../http/upstream.js';
import type {
  ImageProvider,
  ProviderCallContext,
  ProviderImageRequest,
  ProviderImageResult,
} from '../image-provider.js';
import { NO_PARTIALS } from '../ignored-options.js';
import { callerField, orderFor, type ImageOrder, type OrderSettings } from './order.js';
import { readResponse, type ResponseImages } from './read-response.js';
import { StreamRefused } from './stream-refused.js';

/** Maximum bytes of a response with one image: its base64 and a little JSON. */
const MAX_ANSWER_BYTES = 90_000_000;
/** Formats without partial images. */
const UNSTREAMED: readonly string[] = ['gif', 'svg'];
/** Maximum partial images of a stream, each as large as an image. */
const MAX_PARTIALS = 3;

/** Settings of one OpenAI-compatible server. */
export interface OpenAiSettings extends UpstreamSettings, OrderSettings {
  readonly stream: boolean;
  readonly interrupted: 'retry' | 'fail';
}

/** OpenAI's Images API, and every compatible server. */
export class OpenAiProvider implements ImageProvider {
  readonly name = 'openai';
  readonly free = false;
  readonly interrupted: 'retry' | 'fail';
  readonly longestCallMs: number;
  readonly maskForm: 'alpha' | 'white';
  private readonly upstream: Upstream;
  /** True once the server has rejected streaming. */
  private rejectsStreams = false;

  constructor(
    private readonly settings: OpenAiSettings,
    private readonly fetcher: ImageFetcher,
  ) {
    this.interrupted = settings.interrupted;
    this.longestCallMs = settings.totalTimeoutMs;
    this.maskForm = settings.masks === undefined ? 'alpha' : 'white';
    this.upstream = new Upstream(settings);
  }

  /** Throws ProviderError, or the signal's reason when aborted. */
  async generate(request: ProviderImageRequest, context: ProviderCallContext): Promise<ProviderImageResult> {
    const wantsPartials = request.partialImages > 0;
    // Partial images are optional: after any failure, the next start omits them.
    const canStream = this.settings.stream && !this.rejectsStreams && !UNSTREAMED.includes(request.outputFormat);
    const streamed = wantsPartials && canStream && context.startNumber === 1;
    const order = orderFor(request, this.settings, streamed);
    context.onProgress(1);
    let partials = 0;
    const answer = await this.order(order, { streamed, request }, context, (image, index, size) => {
      partials += 1;
      context.onProgress(10 + (80 * partials) / (request.partialImages + 1));
      context.onPartial(image, index, size);
    });
    const { baseUrl, imagePatienceMs } = this.settings;
    const until = untilPatienceEnds(imagePatienceMs);
    const download = { fetcher: this.fetcher, baseUrl, signal: context.signal, until };
    const images = await fetchImages(download, answer.images);
    context.onProgress(100);
    return {
      images,
      ...(answer.usage === undefined ? {} : { usage: answer.usage }),
      sentSize: order.size,
      warnings: wantsPartials && partials === 0 ? [...order.warnings, NO_PARTIALS] : order.warnings,
    };
  }

  private async order(
    { path, body }: ImageOrder,
    { streamed, request }: { readonly streamed: boolean; readonly request: ProviderImageRequest },
    { idempotencyKey, traceparent, signal }: ProviderCallContext,
    onPartial: ProviderCallContext['onPartial'],
  ): Promise<ResponseImages> {
    const { n } = request;
    const accept = streamed ? 'text/event-stream, application/json' : 'application/json';
    const maxBytes = maxAnswerBytes(n, MAX_ANSWER_BYTES) + (streamed ? n * MAX_PARTIALS * MAX_ANSWER_BYTES : 0);
    try {
      return await this.upstream.call({ path, body, accept, idempotencyKey, traceparent, signal, maxBytes }, (answer) =>
        readResponse(answer, {
          streamed,
          n,
          maxImageBytes: MAX_IMAGE_BYTES,
          onPartial,
          said: (body) => this.upstream.said(body),
          callerField: (field) => callerField(request, this.settings, field),
        }),
      );
    } catch (error) {
      if (error instanceof StreamRefused && error.isCertain) this.rejectsStreams = true;
      throw error;
    }
  }
}
