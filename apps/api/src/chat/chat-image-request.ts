import { AppError } from '#contract/app-error.js';
import { ImageGenerationRequest } from '#contract/image-request.js';
import type { Text } from '#contract/long-text.js';
import { asSent, type SentNames } from '#contract/other-names.js';
import { fieldsOf } from '#contract/request-fields.js';
import type { ChatRequest } from './chat-request.js';
import { readOrder } from './image-order.js';

/** Options with different names in `image_config`, the object that OpenRouter's clients use. */
const CONFIG_NAMES: Readonly<Record<string, string>> = { aspect_ratio: 'size', image_size: 'resolution' };
/**
 * Members of a chat that say how a text is written, sent, or stored. An image has no use for them, so that they are
 * neither reported as ignored nor refused by `strict`.
 */
const ABOUT_TEXT = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'partial_images', 'modalities', 'audio', 'response_format'],
  ...['temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'frequency_penalty', 'presence_penalty', 'repetition_penalty'],
  ...['max_tokens', 'max_completion_tokens', 'stop', 'logit_bias', 'logprobs', 'top_logprobs', 'prediction'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call', 'web_search_options'],
  ...['reasoning', 'reasoning_effort', 'include_reasoning', 'thinking', 'verbosity'],
  ...['store', 'metadata', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'usage', 'provider', 'route'],
]);
/** Fields of an image request that a chat says in its messages. */
const IN_MESSAGES = ['prompt', 'image_urls'];
/** Bytes of all other members together. */
const MAX_OPTIONS_BYTES = 1_048_576;

/** The image request in a chat with an image model; its options are not validated yet. */
export interface ChatImageRequest {
  readonly body: {
    readonly model: string;
    readonly prompt: string;
    readonly image_urls: readonly Text[];
    readonly [option: string]: unknown;
  };
  /** What the chat calls options that it has in `image_config`. */
  readonly sentAs: SentNames;
}

/**
 * Takes the user's last message: its text is the prompt, its images, or else the latest of the chat, are reference
 * images. Every other member is an option of the image request, if only to be reported as ignored. Throws AppError:
 * `invalid_json`, `request_too_large`, or with a param in `messages` when there is no such message, it has no text, or
 * a part of it can't be used.
 */
export function imageRequest(chat: ChatRequest): ChatImageRequest {
  const { prompt, references } = readOrder(chat.body);
  const options = optionsOf(chat);
  for (const param of IN_MESSAGES) {
    if (options[param] === undefined) continue;
    throw new AppError('unsupported_parameter', `${param} belongs in the user's message`, { param });
  }
  const { image_config: config, ...direct } = options;
  const configured = imageConfig(config);
  const sentAs = new Map(
    Object.keys(configured)
      .filter((name) => direct[name] === undefined && fieldsOf(ImageGenerationRequest).includes(name))
      .map((name) => [name, [`image_config.${configNameOf(name)}`]]),
  );
  // Beside the option itself, the same one in image_config is ignored under its full name.
  const twice = Object.keys(configured).filter((name) => direct[name] !== undefined);
  const ignored = twice.map((name) => [`image_config.${configNameOf(name)}`, configured[name]]);
  const request = { ...configured, ...direct, ...(Object.fromEntries(ignored) as object) };
  return { body: { ...onlyOne(request), model: chat.model, prompt, image_urls: references }, sentAs };
}

/** The members that are not about messages and texts, without those that are null. */
function optionsOf({ body, members }: ChatRequest): Record<string, unknown> {
  const options = Object.create(null) as Record<string, unknown>;
  let left = MAX_OPTIONS_BYTES;
  for (const [name, span] of members) {
    if (ABOUT_TEXT.has(name)) continue;
    const value = body.valueAt(span, left);
    left -= Math.min(left, span.end - span.start);
    if (value !== null) options[name] = value;
  }
  return options;
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
    CONFIG_NAMES[name] ?? (fieldsOf(ImageGenerationRequest).includes(name) ? name : `image_config.${name}`);
  return Object.fromEntries(
    Object.entries(config)
      .filter(([, option]) => option !== null)
      .map(([name, option]) => [nameOf(name), option]),
  );
}

function configNameOf(field: string): string {
  return Object.keys(CONFIG_NAMES).find((name) => CONFIG_NAMES[name] === field) ?? field;
}

/** Translates an image request's error so that it speaks of the chat, and of options as the chat has them. */
export function inChat(thrown: unknown, sentAs: SentNames = new Map()): unknown {
  const error = asSent(thrown, sentAs);
  if (!(error instanceof AppError) || error.param === undefined) return error;
  if (error.param !== 'prompt' && !error.param.startsWith('image_urls')) return error;
  const text = error.message.replace(/^image_urls(?:\[(\d+)\])?/, (_name, index?: string) =>
    index === undefined ? 'The images in messages' : `Image ${Number(index) + 1} in messages`,
  );
  return error.about('messages', text);
}
