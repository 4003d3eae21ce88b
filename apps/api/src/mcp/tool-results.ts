import { Inject, Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { TaskLinks } from '#answers/task-links.js';
import { errorDetail, type AppError } from '#contract/app-error.js';
import type { QuoteResponse } from '#contract/cost-view.js';
import type { ModelView } from '#contract/model-view.js';
import { decimalOf } from '#contract/money.js';
import { shownNames } from '#contract/request-fields.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { readWhole } from '#storage/stored-stream.js';
import { CallerGone } from '#tasks/intake/open-call.js';
import type { TaskImage, TaskSummary } from '#tasks/row/task.js';
import { Logger } from '#telemetry/logger.js';
import { BodyMemory, BodyReservation } from '../common/fastify/body-memory.js';
import { sourceOf } from '../common/source-of.js';
import { errorOfThrown, reportError } from '../common/thrown-error.js';
import { Thumbnails } from '../console/tasks/thumbnails.js';
import { failureOf } from '../images/answer-image.js';
import type { McpCall } from './mcp-call.js';

type Content = CallToolResult['content'][number];
type Facts = Record<string, unknown>;

/** Largest preview, and most bytes of all images that are returned whole. */
const MAX_PREVIEW_BYTES = 262_144;
const MAX_FULL_BYTES = 4_194_304;
/** An image is in memory as bytes, as base64, in the message, and in the response. */
const COPIES = 5;
/** Types that clients show. */
const SHOWN = /^image\/(?:png|jpeg|webp|gif)$/;

/** An image in the facts of a result; without a URL once it has expired. */
interface LinkedImage {
  readonly url: string | undefined;
  readonly content_type: string;
}

/** How a task was ordered, as far as its result tells. */
interface Ordering {
  /** Whether an earlier call had ordered it. */
  readonly attached: boolean;
  /** Arguments without effect. */
  readonly ignored: readonly string[];
}

/** What tools answer: a sentence with the facts as JSON, the facts again for programs, links, and a preview. */
@Injectable()
export class ToolResults {
  constructor(
    private readonly links: TaskLinks,
    private readonly thumbnails: Thumbnails,
    @Inject(OBJECT_STORE) private readonly objects: ObjectStore,
    private readonly memory: BodyMemory,
    private readonly logger: Logger,
  ) {}

  /** A task that has not ended. */
  pending(task: TaskSummary, ordering: Ordering): CallToolResult {
    const { id, phase } = task;
    const state =
      phase === 'held'
        ? 'The image costs more than may be spent without an approval. An owner or admin of the account has to approve it in the console: tell your user.'
        : 'The image is not ready yet.';
    const text = `${state} Call get_image with the id ${id}. Do not order it again: it would not be ready sooner.`;
    return answer(text, { ...this.factsOf(task), ...factsOfOrdering(ordering) });
  }

  /** A task that has ended: with its image, or an error. `full`: with the bytes of its images. */
  async ended(
    task: TaskSummary,
    call: McpCall,
    { full, ...ordering }: Ordering & { readonly full: boolean },
  ): Promise<CallToolResult> {
    const facts = { ...this.factsOf(task), ...factsOfOrdering(ordering) };
    const images = task.images ?? [];
    if (task.status !== 'completed' || images.length === 0) {
      const error = errorDetail(failureOf(task));
      return { ...answer(`${error.message} (${String(error.code)})`, { ...facts, error }), isError: true };
    }
    const { id } = task;
    const again = ordering.attached
      ? ' An earlier equal call has ordered it, so nothing was bought. For another one, send a new idempotency_key.'
      : '';
    const shown = full ? await this.whole(task, images, call) : await this.preview(task, call);
    const { text, content } = shown;
    const told = answer(`The image is ready: task ${id}.${again}${text}`, facts);
    return { ...told, content: [...told.content, ...linksOf(id, facts.images ?? []), ...content] };
  }

  /** A task as it is after a request to cancel it. */
  cancelled(task: TaskSummary): CallToolResult {
    const { id, status } = task;
    const text =
      status === 'cancelled' ? `The task ${id} was cancelled.` : `The task ${id} had ended before: it is ${status}.`;
    return answer(text, this.factsOf(task));
  }

  quote(quote: QuoteResponse, ignored: readonly string[]): CallToolResult {
    const { amount, currency, exact } = quote.cost;
    const price =
      amount === null ? 'The price is unknown.' : `It costs ${exact ? '' : 'at most '}${amount} ${currency}.`;
    const budget = quote.within_budget ? '' : ' The budget does not cover it.';
    return answer(`${price}${budget}`, { ...quote, ...factsOfOrdering({ attached: false, ignored }) });
  }

  models(models: readonly ModelView[]): CallToolResult {
    const images = models.filter(({ supported_endpoint_types: types }) => types.includes('image-generation'));
    // What a call can say: agents pay for every word they read.
    const facts = images.map(({ id, capabilities, limits, price, shutdown_date }) => {
      const { sizes, qualities, edit_qualities, output_formats, complexities, edits, masks } = capabilities;
      const values = { sizes, qualities, edit_qualities, output_formats, complexities, edits, masks };
      return { id, ...values, max_n: limits.n, max_images: limits.images, price, shutdown_date };
    });
    return answer(`Image models: ${images.map(({ id }) => id).join(', ')}.`, { models: facts });
  }

  /** The result of a tool that threw. Throws what is no error: its caller has left. */
  failed(thrown: unknown, call: McpCall): CallToolResult {
    if (thrown instanceof CallerGone) throw thrown;
    const error = this.errorOf(thrown, call);
    const { taskId, retryAfter } = error;
    const { code, param, ...detail } = errorDetail(error);
    const about = param === null ? '' : `, argument ${inTools(param)}`;
    const facts = {
      error: { ...detail, message: inTools(error.message), code, param: param && inTools(param) },
      ...(taskId === undefined ? {} : { id: taskId }),
      ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    };
    return { ...answer(`${inTools(error.message)} (${String(code)}${about})`, facts), isError: true };
  }

  /** What callers may see of an error; logs what they may not. Before there is a task, it counts as a refused call. */
  errorOf(thrown: unknown, { request }: McpCall): AppError {
    const error = errorOfThrown(thrown);
    request.refusal = error;
    if (error.status >= 500) reportError(error, request, this.logger);
    return error;
  }

  private factsOf(task: TaskSummary): Facts & { readonly images?: readonly LinkedImage[] } {
    const { id, status, phase, progress, model, result, cost, warnings, charged, estimated_time } =
      this.links.view(task);
    const images = result?.images.map(({ url: [url], ...image }) => ({ url, ...image }));
    const free = status === 'completed' ? { amount: decimalOf(0), state: 'free' } : undefined;
    return {
      ...{ id, status, model },
      ...(status === 'pending' && { phase, progress, estimated_time }),
      ...(images && { images }),
      ...{ price: cost ?? free, charged, warnings },
    };
  }

  /** The image is bought, so a preview that can't be had now costs the result nothing else. */
  private async preview(task: TaskSummary, call: McpCall): Promise<Shown> {
    try {
      const small = await this.thumbnails.of(call.caller.accountId, task);
      if (small === undefined || !SHOWN.test(small.contentType)) return NOTHING;
      const stored = await this.objects.open(small.key);
      const isSmall = stored.bytes <= MAX_PREVIEW_BYTES;
      if (!isSmall || !this.reservation(call).tryReserve(COPIES * stored.bytes)) {
        stored.stream.destroy();
        return NOTHING;
      }
      return { text: ' A preview is below.', content: [inBase64(await readWhole(stored), small.contentType)] };
    } catch (error) {
      this.logger.warn('mcp.no_preview', { taskId: task.id, error });
      return NOTHING;
    }
  }

  /** Like `preview`, which it returns instead when the images are too large. */
  private async whole(task: TaskSummary, images: readonly TaskImage[], call: McpCall): Promise<Shown> {
    const bytes = images.reduce((sum, image) => sum + image.bytes, 0);
    if (bytes > MAX_FULL_BYTES) {
      const text = ` It has ${bytes} bytes, more than the ${MAX_FULL_BYTES} that can be returned here: open its link.`;
      return { text, content: (await this.preview(task, call)).content };
    }
    try {
      this.reservation(call).reserve(COPIES * bytes);
      const content: Content[] = [];
      for (const { key, contentType } of images) {
        content.push(inBase64(await readWhole(await this.objects.open(key)), contentType));
      }
      return { text: ' All of it is below.', content };
    } catch (error) {
      this.logger.warn('mcp.image_not_read', { taskId: task.id, error });
      return { text: ' Its bytes cannot be returned right now: open its link.', content: [] };
    }
  }

  /** Held until the response has been sent. */
  private reservation({ request, reply }: McpCall): BodyReservation {
    const held = new BodyReservation(this.memory, sourceOf(request));
    reply.raw.once('close', () => {
      held.release();
    });
    return held;
  }
}

/** Links to the images, the same as in the facts. */
function linksOf(taskId: string, images: readonly LinkedImage[]): Content[] {
  return images.flatMap(({ url, content_type: mimeType }, index) => {
    const name = images.length === 1 ? taskId : `${taskId}-${index + 1}`;
    return url === undefined ? [] : [{ type: 'resource_link', uri: url, name, mimeType } as const];
  });
}

/** Images in a result, and what its text says of them. */
interface Shown {
  readonly text: string;
  readonly content: readonly Content[];
}

const NOTHING: Shown = { text: '', content: [] };

function factsOfOrdering({ attached, ignored }: Ordering): Facts {
  return {
    ...(attached && { attached }),
    ...(ignored.length > 0 && { ignored_arguments: shownNames(ignored) }),
  };
}

/** Clients show models the text, the structure, or both. Absent values stay out of both. */
function answer(text: string, facts: Facts): CallToolResult {
  const json = JSON.stringify(facts);
  return {
    content: [{ type: 'text', text: `${text}\n${json}` }],
    structuredContent: JSON.parse(json) as Facts,
  };
}

function inBase64(bytes: Buffer, mimeType: string): Content {
  // A drawing is text to clients, which show no image of its type.
  if (!SHOWN.test(mimeType)) return { type: 'text', text: bytes.toString('utf8') };
  return { type: 'image', data: bytes.toString('base64'), mimeType };
}

/** A place or text of the API in the words of the tools: their images are plain strings. */
function inTools(text: string): string {
  return text.replace(/(images\[\d+\]|mask)\.(?:image_url|file_id)/g, '$1');
}
