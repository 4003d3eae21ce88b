import { AppError } from '#contract/app-error.js';
import { LongText, type Text } from '#contract/long-text.js';
import { valueOf, type ChatRequest } from './chat-request.js';

/** Options of an image request that a chat may carry under the same names. */
const OPTIONS = [
  ...['n', 'size', 'resolution', 'quality', 'background', 'moderation', 'output_format', 'output_compression'],
  ...['user', 'safety_identifier', 'strict'],
];
/** Options with different names in `image_config`, the object that OpenRouter's clients use. */
const CONFIG_NAMES: Readonly<Record<string, string>> = { aspect_ratio: 'size', image_size: 'resolution' };

/** The image request in a chat with an image model; its options are not validated yet. */
export interface ChatImageRequest {
  readonly model: string;
  readonly prompt: string;
  readonly image_urls: readonly Text[];
  readonly [option: string]: unknown;
}

/**
 * Takes the user's last message: its text is the prompt, its images are reference images. Throws AppError:
 * `invalid_json`, `request_too_large`, or with param `messages` when there is no such message or it has no text.
 */
export function imageRequest(chat: ChatRequest): ChatImageRequest {
  const value = valueOf(chat);
  const last = (value['messages'] as unknown[]).findLast((message) => roleOf(message) === 'user');
  const parts = partsOf((last as { content?: unknown } | undefined)?.content);
  const prompt = parts.flatMap((part) => (typeof part['text'] === 'string' ? [part['text']] : [])).join('\n');
  if (prompt.trim() === '') {
    throw new AppError('invalid_value', 'messages must end with a user message that describes the image', {
      param: 'messages',
    });
  }
  return {
    ...onlyOne({
      ...imageConfig(value['image_config']),
      ...Object.fromEntries(Object.entries(value).filter(([name, it]) => OPTIONS.includes(name) && it !== null)),
    }),
    model: chat.model,
    prompt,
    image_urls: parts.flatMap((part) => addressOf(part['image_url']) ?? []),
  };
}

/** A chat shows one image, whatever its model can return. Throws AppError `integer_above_max_value`. */
function onlyOne(options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (Number.isInteger(options['n']) && Number(options['n']) > 1) {
    const text = 'n must be at most 1: a chat generates one image; use /v1/images/generations for several';
    throw new AppError('integer_above_max_value', text, { param: 'n' });
  }
  return options;
}

/** Unknown members keep their full name, so that the caller learns which ones were ignored. */
function imageConfig(config: unknown): Readonly<Record<string, unknown>> {
  if (config === undefined || config === null) return {};
  if (typeof config !== 'object' || Array.isArray(config)) {
    throw new AppError('invalid_type', 'image_config must be an object', { param: 'image_config' });
  }
  const nameOf = (name: string): string =>
    CONFIG_NAMES[name] ?? (OPTIONS.includes(name) ? name : `image_config.${name}`);
  return Object.fromEntries(Object.entries(config).map(([name, option]) => [nameOf(name), option]));
}

/** Translates an image request's error so that it speaks of the chat. */
export function inChat(error: unknown): unknown {
  if (!(error instanceof AppError) || error.param === undefined) return error;
  if (error.param !== 'prompt' && !error.param.startsWith('image_urls')) return error;
  const { code, message, taskId, retryAfter, cause } = error;
  const text = message.replace(/^image_urls(?:\[(\d+)\])?/, (_name, index?: string) =>
    index === undefined ? 'The images in messages' : `Image ${Number(index) + 1} in messages`,
  );
  return new AppError(code, text, {
    param: 'messages',
    cause,
    ...(taskId === undefined ? {} : { taskId }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

type Part = Readonly<Record<string, unknown>>;

function partsOf(content: unknown): Part[] {
  if (typeof content === 'string') return [{ text: content }];
  return Array.isArray(content)
    ? content.filter((part): part is Part => typeof part === 'object' && part !== null)
    : [];
}

function roleOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null ? (message as { role?: unknown }).role : undefined;
}

/** The image URL: `{url}`, as in OpenAI's API, or a plain string. */
function addressOf(image: unknown): Text | undefined {
  if (image instanceof LongText) return image;
  const address = typeof image === 'object' && image !== null ? (image as { url?: unknown }).url : image;
  return typeof address === 'string' || address instanceof LongText ? address : undefined;
}
