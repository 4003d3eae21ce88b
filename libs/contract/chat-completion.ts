/** Token counts in OpenAI's words for chat. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A call of a tool that the model asks for; its arguments are JSON as text. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A generated image beside the text, as OpenRouter and LiteLLM send it. */
export interface ChatImage {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string };
  readonly index: number;
}

export type ChatFinish = 'stop' | 'length' | 'tool_calls';

/** One of the answers to a chat. */
export interface ChatChoice {
  readonly content: string | null;
  readonly toolCalls?: readonly ChatToolCall[];
  readonly images?: readonly ChatImage[];
  readonly finish: ChatFinish;
}

/** What every object of one answer has in common. */
export interface ChatHead {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  /** Names what made the answer. */
  readonly fingerprint: string;
}

/** The body of a chat that is answered at once. */
export function chatCompletion(head: ChatHead, choices: readonly ChatChoice[], usage?: ChatUsage): object {
  return {
    ...common(head, 'chat.completion'),
    choices: choices.map(({ content, toolCalls, images, finish }, index) => ({
      index,
      message: {
        role: 'assistant',
        content,
        refusal: null,
        ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
        ...(images === undefined ? {} : { images }),
      },
      logprobs: null,
      finish_reason: finish,
    })),
    ...(usage === undefined ? {} : { usage }),
  };
}

/** One event of a chat that is streamed. */
export function chatChunk(head: ChatHead, index: number, delta: object, finish: ChatFinish | null = null): object {
  return {
    ...common(head, 'chat.completion.chunk'),
    choices: [{ index, delta, logprobs: null, finish_reason: finish }],
  };
}

/** The last event before the end for those who asked for it. */
export function usageChunk(head: ChatHead, usage: ChatUsage): object {
  return { ...common(head, 'chat.completion.chunk'), choices: [], usage };
}

/** What ends a stream of chat. */
export const STREAM_END = '[DONE]';

function common({ id, created, model, fingerprint }: ChatHead, object: string): object {
  return { id, object, created, model, system_fingerprint: fingerprint };
}
