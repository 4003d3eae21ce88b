import { AppError } from '#contract/app-error.js';
import { optionsOf, wellFormed } from '#contract/image-options.js';
import {
  DEFAULT_IMAGE_MODEL,
  type AsyncImageEditForm,
  type AsyncImageGenerationRequest,
  type ImageOptions,
} from '#contract/image-request.js';
import {
  DEFAULT_RESOLUTION,
  IMAGE_SIZES,
  isImageSize,
  parsePixelSize,
  pixelsFor,
  type ImageSize,
  type Pixels,
  type Resolution,
} from '#contract/pixel-table.js';
import { shownNames } from '#contract/request-fields.js';
import type { TaskCost } from '#billing/quote.js';
import type { TaskCommand, TaskInput, TaskOptions } from '#tasks/row/task.js';
import { mayUseModel, taskOwnerOf, type Caller } from '../auth/caller.js';
import { plainName } from './image-query.js';

/** What a command needs besides the request's fields. */
export interface CommandContext {
  readonly taskId: string;
  readonly requestId: string;
  readonly caller: Caller;
  readonly inputs: readonly TaskInput[];
  readonly mask: TaskInput | null;
  /** Whether the response is the task instead of the image. */
  readonly asynchronous: boolean;
  /** Names of ignored fields and files. */
  readonly ignored: readonly string[];
  /** The current cost of such an image of the model. */
  readonly costOf: (model: string, options: TaskOptions) => TaskCost | null;
}

/** The command for a validated generation. */
export function generationCommand(fields: AsyncImageGenerationRequest, context: CommandContext): TaskCommand {
  return command('generation', fields, context, frameOf(fields.size ?? '1:1', fields));
}

/** The command for a validated edit. */
export function editCommand(fields: AsyncImageEditForm, context: CommandContext): TaskCommand {
  return command('edit', fields, context, frameOf(fields.size ?? 'auto', fields));
}

type Frame = Pick<TaskOptions, 'size' | 'resolution'> & { pixels: Pixels | null };

/** The frame for a valid size; a size in pixels needs no resolution. */
export function frameOf(size: string, fields: Pick<ImageFields, 'resolution'>): Frame {
  if (!isImageSize(size)) return { size, resolution: null, pixels: parsePixelSize(size) ?? null };
  const resolution = (fields.resolution ?? DEFAULT_RESOLUTION) as Resolution;
  return { size, resolution, pixels: pixelsFor(size, resolution) };
}

/** The fields of a request, in any form. */
export type ImageFields = ImageOptions & {
  model?: string;
  prompt: string;
  size?: string;
  quality?: string;
  callback_url?: string;
};

function command(
  action: TaskCommand['action'],
  fields: ImageFields,
  context: CommandContext,
  frame: Frame,
): TaskCommand {
  const model = fields.model ?? DEFAULT_IMAGE_MODEL;
  const options: TaskOptions = {
    ...frame,
    ...optionsOf(fields),
    ...(fields.n === undefined || fields.n === 1 ? {} : { n: fields.n }),
    ...(fields.stream === true && fields.partial_images ? { partialImages: fields.partial_images } : {}),
    ...(fields.strict === true ? { strict: true } : {}),
    ...(context.ignored.length === 0 ? {} : { ignored: shownNames(context.ignored) }),
  };
  return {
    id: context.taskId,
    ...taskOwnerOf(context.caller),
    requestId: context.requestId,
    action,
    model,
    prompt: wellFormed(fields.prompt),
    options,
    inputs: context.inputs,
    mask: context.mask,
    callbackUrl: fields.callback_url ?? null,
    asynchronous: context.asynchronous,
    cost: context.costOf(model, options),
  };
}

interface AskedSize {
  size?: unknown;
  resolution?: unknown;
}

/**
 * Normalizes accepted spellings before validation. Removes fields that are ignored as a result, and returns their
 * names.
 */
export function normalizeSpelling(fields: AskedSize): string[] {
  if (typeof fields.resolution === 'string') fields.resolution = fields.resolution.toLowerCase();
  if (fields.resolution === undefined || !isPixelSize(fields.size)) return [];
  delete fields.resolution;
  return ['resolution'];
}

/**
 * Throws AppError `invalid_value` for a generation's size in pixels; a value that is not a string is left to other
 * rules.
 */
export function assertNoPixels({ size }: AskedSize, sizes: readonly ImageSize[] = IMAGE_SIZES): void {
  if (typeof size !== 'string' || sizes.some((one) => one === size)) return;
  const text = `size must be one of ${sizes.join(', ')}; this API key does not accept sizes in pixels`;
  throw new AppError('invalid_value', text, { param: 'size' });
}

/**
 * By plain name. If these were ignored, the caller would pay for a different image, or for one that was only to be
 * quoted.
 */
const NOT_TO_IGNORE: Readonly<Record<string, string>> = {
  markup: 'markup is not supported yet, and ignoring it would change the image.',
  dryrun: 'dry_run belongs in the query: add ?dry_run=true to the URL.',
  strict: 'Unknown field. Did you mean strict?',
};

/** Throws AppError `unsupported_parameter` for an unsupported field that must not be ignored. */
export function assertIgnorable(ignored: readonly string[]): void {
  for (const param of ignored) {
    const text = Object.hasOwn(NOT_TO_IGNORE, plainName(param)) ? NOT_TO_IGNORE[plainName(param)] : undefined;
    if (text !== undefined) throw new AppError('unsupported_parameter', text, { param });
  }
}

/** Formats to which `output_compression` applies. */
const COMPRESSED: readonly string[] = ['jpeg', 'webp'];

/** Names of valid fields that have no effect together with the others. */
export function fieldsWithoutEffect({ output_format, output_compression }: ImageFields): string[] {
  const isLost = output_compression !== undefined && !COMPRESSED.includes(output_format ?? '');
  return isLost ? ['output_compression'] : [];
}

function isPixelSize(size: unknown): boolean {
  return typeof size === 'string' && parsePixelSize(size) !== undefined;
}

/**
 * Rules that involve several fields, or the caller. `aliases`: the model's other names, which a key's list may use.
 * Throws AppError (model_not_allowed, invalid_value).
 */
export function assertCombination(
  fields: ImageFields,
  caller: Caller,
  asynchronous: boolean,
  aliases: readonly string[] = [],
): void {
  if (!mayUseModel(caller, { name: fields.model ?? DEFAULT_IMAGE_MODEL, aliases })) {
    throw new AppError('model_not_allowed', 'This API key may not use the model.', { param: 'model' });
  }
  if (fields.background === 'transparent' && fields.output_format === 'jpeg') {
    throw new AppError('invalid_value', 'background transparent needs output_format png or webp.', {
      param: 'background',
    });
  }
  if (fields.stream === true && asynchronous) {
    throw new AppError('invalid_value', 'stream cannot be true: this request returns a task.', {
      param: 'stream',
    });
  }
  if (fields.stream === true && fields.response_format === 'url') {
    throw new AppError('invalid_value', 'response_format must be b64_json if stream is true.', {
      param: 'response_format',
    });
  }
  if (asynchronous && fields.response_format === 'b64_json') {
    throw new AppError('invalid_value', 'response_format must be url: tasks return links.', {
      param: 'response_format',
    });
  }
}
