/** Token counts, with the field names of OpenAI's chat API. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A tool call that the model requests; its arguments are JSON text. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A generated image next to the text, in the format of OpenRouter and LiteLLM. */
export interface ChatImage {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string };
  readonly index: number;
}

export type ChatFinish = 'stop' | 'length' | 'tool_calls';

/** One choice of a chat completion. */
export interface ChatChoice {
  readonly content: string | null;
  readonly toolCalls?: readonly ChatToolCall[];
  readonly images?: readonly ChatImage[];
  readonly finish: ChatFinish;
}

/** Fields that all objects of one completion share. */
export interface ChatHead {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  /** Identifies what generated the completion. */
  readonly fingerprint: string;
}

/** The body of a chat completion that is not streamed. */
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

/** One event of a streamed chat completion. */
export function chatChunk(head: ChatHead, index: number, delta: object, finish: ChatFinish | null = null): object {
  return {
    ...common(head, 'chat.completion.chunk'),
    choices: [{ index, delta, logprobs: null, finish_reason: finish }],
  };
}

/** The last event before the end, for callers who requested usage. */
export function usageChunk(head: ChatHead, usage: ChatUsage): object {
  return { ...common(head, 'chat.completion.chunk'), choices: [], usage };
}

/** Marks the end of a chat stream. */
export const STREAM_END = '[DONE]';

function common({ id, created, model, fingerprint }: ChatHead, object: string): object {
  return { id, object, created, model, system_fingerprint: fingerprint };
}
