import { AppError } from '#contract/app-error.js';
import { LongText, type Text } from '#contract/long-text.js';
import { valueOf, type ChatRequest } from './chat-request.js';

/** The fields of an image request that a chat with an image model stands for. */
export interface ChatImageRequest {
  readonly model: string;
  readonly prompt: string;
  readonly image_urls: readonly Text[];
  /** As it was sent, for the image request's own check. */
  readonly n?: unknown;
  readonly user?: unknown;
  readonly safety_identifier?: unknown;
}

/**
 * The last message of the user: its text is the prompt, its images are reference images.
 * Throws AppError: `invalid_json`, `request_too_large`, or with param `messages` when there is no such message or it has no text.
 */
export function imageRequest(chat: ChatRequest): ChatImageRequest {
  const { members, model } = chat;
  const {
    messages,
    n,
    user,
    safety_identifier: safetyIdentifier,
  } = valueOf(chat) as { messages: unknown[] } & Pick<ChatImageRequest, 'n' | 'user' | 'safety_identifier'>;
  const last = messages.findLast((message) => roleOf(message) === 'user') as { content?: unknown } | undefined;
  const parts = partsOf(last?.content);
  const prompt = parts.flatMap((part) => (typeof part['text'] === 'string' ? [part['text']] : [])).join('\n');
  if (prompt.trim() === '') {
    throw new AppError('invalid_value', 'messages must end with a user message that describes the image', {
      param: 'messages',
    });
  }
  return {
    model,
    prompt,
    image_urls: parts.flatMap((part) => addressOf(part['image_url']) ?? []),
    ...(members.has('n') ? { n } : {}),
    ...(members.has('user') ? { user } : {}),
    ...(members.has('safety_identifier') ? { safety_identifier: safetyIdentifier } : {}),
  };
}

/** Says of an image request's error where in the chat its cause is. */
export function inChat(error: unknown): unknown {
  if (!(error instanceof AppError) || error.param === undefined) return error;
  if (error.param !== 'prompt' && !error.param.startsWith('image_urls')) return error;
  const { code, message, taskId, retryAfter, cause } = error;
  return new AppError(code, message, {
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

/** `{url}`, as OpenAI has it, or the address itself. */
function addressOf(image: unknown): Text | undefined {
  if (image instanceof LongText) return image;
  const address = typeof image === 'object' && image !== null ? (image as { url?: unknown }).url : image;
  return typeof address === 'string' || address instanceof LongText ? address : undefined;
}
