import { Readable } from 'node:stream';
import { fetchImage, MAX_IMAGE_BYTES } from '../http/fetch-image.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { Upstream, type UpstreamSettings } from '../http/upstream.js';
import type {
  ImageProvider,
  ProviderCallContext,
  ProviderImageRequest,
  ProviderImageResult,
} from '../image-provider.js';
import { NO_PARTIALS } from '../left-out.js';
import { orderFor, type ImageOrder, type OrderSettings } from './image-order.js';
import { readAnswer, type AnsweredImage } from './read-answer.js';
import { StreamRefused } from './stream-refused.js';

/** Largest answer, in bytes: an image as base64 beside a little JSON. */
const MAX_ANSWER_BYTES = 90_000_000;
/** Three partial images and the last one. */
const MAX_STREAM_BYTES = 4 * MAX_ANSWER_BYTES;

/** What one server that speaks OpenAI's protocol is called with. */
export interface OpenAiSettings extends UpstreamSettings, OrderSettings {
  readonly stream: boolean;
  readonly interrupted: 'retry' | 'fail';
}

/** OpenAI's Images API, and every server that speaks it. */
export class OpenAiProvider implements ImageProvider {
  readonly name = 'openai';
  readonly free = false;
  readonly interrupted: 'retry' | 'fail';
  readonly maskForm: 'alpha' | 'white';
  private readonly upstream: Upstream;
  /** Set once the server has refused to stream. */
  private refusesStreams = false;

  constructor(
    private readonly settings: OpenAiSettings,
    private readonly fetcher: ImageFetcher,
  ) {
    this.interrupted = settings.interrupted;
    this.maskForm = settings.masks === 'inpainting' ? 'white' : 'alpha';
    this.upstream = new Upstream(settings);
  }

  /** Throws ProviderError, or the signal's reason when aborted. */
  async generate(request: ProviderImageRequest, context: ProviderCallContext): Promise<ProviderImageResult> {
    const wantsPartials = request.partialImages > 0;
    // Partial images are a courtesy: a start that follows a failure does without, whatever the failure was.
    const streamed = wantsPartials && this.settings.stream && !this.refusesStreams && context.startNumber === 1;
    const order = orderFor(request, this.settings, streamed);
    context.onProgress(1);
    let partials = 0;
    const answer = await this.order(order, streamed, context, (image, index) => {
      partials += 1;
      context.onProgress(10 + (80 * partials) / (request.partialImages + 1));
      context.onPartial(image, index);
    });
    const image = answer.bytes ?? [await fetchImage(this.fetcher, answer.url, context.signal)];
    context.onProgress(100);
    return {
      image: Readable.from(image),
      ...(answer.usage === undefined ? {} : { usage: answer.usage }),
      sentSize: order.size,
      warnings: wantsPartials && partials === 0 ? [...order.warnings, NO_PARTIALS] : order.warnings,
    };
  }

  private async order(
    { path, body }: ImageOrder,
    streamed: boolean,
    { idempotencyKey, signal }: ProviderCallContext,
    onPartial: (image: Buffer, index: number) => void,
  ): Promise<AnsweredImage> {
    const accept = streamed ? 'text/event-stream, application/json' : 'application/json';
    const maxBytes = streamed ? MAX_STREAM_BYTES : MAX_ANSWER_BYTES;
    try {
      return await this.upstream.call({ path, body, accept, idempotencyKey, signal, maxBytes }, (answer) =>
        readAnswer(answer, { streamed, maxImageBytes: MAX_IMAGE_BYTES, onPartial }),
      );
    } catch (error) {
      if (error instanceof StreamRefused && error.isCertain) this.refusesStreams = true;
      throw error;
    }
  }
}
