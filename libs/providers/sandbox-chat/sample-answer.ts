import { createHash } from 'node:crypto';
import type { ChatChoice, ChatFinish, ChatToolCall, ChatUsage } from '#contract/chat-completion.js';
import { sampleJson } from './sample-value.js';

const CHARACTERS_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_IMAGE = 85;
const MAX_QUOTED = 200;
const MAX_TOOL_RESULT = 4_096;
const MAX_CHOICES = 8;
/** OpenAI's limits; what comes after them is ignored. */
const MAX_STOPS = 4;
const MAX_TOOLS = 128;
/** Characters of the user's text in which the name of a tool is looked for. */
const MAX_SEARCHED = 16_384;

/** The chat fields that the sandbox uses, not validated yet. */
export interface SandboxChatFields {
  readonly messages?: unknown;
  readonly n?: unknown;
  readonly stop?: unknown;
  readonly max_tokens?: unknown;
  readonly max_completion_tokens?: unknown;
  readonly tools?: unknown;
  readonly tool_choice?: unknown;
  readonly response_format?: unknown;
}

interface SandboxTool {
  readonly name: string;
  readonly parameters: unknown;
}

/** The relevant content of a chat for the sandbox. */
export interface ChatContent {
  /** Text of the user's last message. */
  readonly text: string;
  readonly images: number;
  readonly lastRole: string;
  readonly messages: readonly Record<string, unknown>[];
}

/** The user's last message and the number of images; empty for anything else. */
export function readMessages(value: unknown): ChatContent {
  const messages = listOf(value);
  const texts = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content));
  return {
    text: texts.at(-1) ?? '',
    images: messages.flatMap(({ content }) => listOf(content)).filter(({ type }) => type === 'image_url').length,
    lastRole: String(messages.at(-1)?.['role']),
    messages,
  };
}

/**
 * The sandbox's choices for a chat, always the same for the same chat; `text` is the user's text without directives.
 */
export function sampleChoices(fields: SandboxChatFields, said: ChatContent, text: string): ChatChoice[] {
  const tool = calledTool(fields, said, text);
  const count = Math.min(positive(fields.n) ?? 1, MAX_CHOICES);
  const seed = text.slice(0, MAX_SEARCHED);
  if (tool !== undefined) {
    const called = { name: tool.name, arguments: objectJson(tool.parameters) };
    return Array.from({ length: count }, (_, index) => toolChoice(called, `${seed}\n${index}`));
  }
  const sample = sampleText(fields, said, text);
  return Array.from({ length: count }, (_, index) =>
    limited(sample + (index === 0 ? '' : ` Sample ${index + 1}.`), fields),
  );
}

/** The usage that a provider would report; the same for the same chat. */
export function sampleUsage(said: ChatContent, choices: readonly ChatChoice[]): ChatUsage {
  const characters = said.messages.reduce((sum, { content }) => sum + textOf(content).length, 0);
  const prompt =
    Math.ceil(characters / CHARACTERS_PER_TOKEN) +
    said.messages.length * TOKENS_PER_MESSAGE +
    said.images * TOKENS_PER_IMAGE;
  const completion = choices.reduce((sum, { content, toolCalls = [] }) => {
    const calls = toolCalls.map(({ function: called }) => called.name + called.arguments);
    return sum + tokensOf((content ?? '') + calls.join('')).length;
  }, 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** A word and the spaces before it count as a token. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? [];
}

function sampleText(fields: SandboxChatFields, said: ChatContent, text: string): string {
  const format = fields.response_format as { type?: unknown; json_schema?: { schema?: unknown } } | null | undefined;
  if (format?.type === 'json_schema') return sampleJson(format.json_schema?.schema);
  if (format?.type === 'json_object') return JSON.stringify({ sandbox: true, you_said: text.slice(0, MAX_QUOTED) });
  const quoted = cut(text, MAX_QUOTED);
  const images = said.images === 0 ? '' : ` You sent ${said.images} ${said.images === 1 ? 'picture' : 'pictures'}.`;
  const result =
    said.lastRole === 'tool'
      ? ` The tool said: "${cut(textOf(said.messages.at(-1)?.['content']), MAX_TOOL_RESULT)}".`
      : '';
  return `SANDBOX SAMPLE: no model was asked. You said: "${quoted}".${images}${result}`;
}

/** A tool is called if the chat requires one, or if the user mentions one by name. */
function calledTool(
  { tools, tool_choice: choice }: SandboxChatFields,
  said: ChatContent,
  text: string,
): SandboxTool | undefined {
  const known = listOf(tools)
    .slice(0, MAX_TOOLS)
    .flatMap(({ function: described }) => {
      const { name, parameters } = (described ?? {}) as { name?: unknown; parameters?: unknown };
      return typeof name === 'string' ? [{ name, parameters }] : [];
    });
  if (choice === 'none' || said.lastRole === 'tool') return undefined;
  if (choice === 'required') return known[0];
  const named = (choice as { function?: { name?: unknown } } | null | undefined)?.function?.name;
  if (named !== undefined) return known.find(({ name }) => name === named);
  const searched = text.slice(0, MAX_SEARCHED);
  return known.find(({ name }) => searched.includes(name));
}

/** Arguments of a call are an object, also without a schema. */
function objectJson(schema: unknown): string {
  const text = sampleJson(schema);
  return text === 'null' ? '{}' : text;
}

function toolChoice(called: ChatToolCall['function'], seed: string): ChatChoice {
  const id = `call_sandbox_${createHash('sha256').update(seed).digest('hex').slice(0, 16)}`;
  const toolCalls: ChatToolCall[] = [{ id, type: 'function', function: called }];
  return { content: null, toolCalls, finish: 'tool_calls' };
}

function limited(text: string, fields: SandboxChatFields): ChatChoice {
  const stops = [fields.stop ?? []]
    .flat()
    .slice(0, MAX_STOPS)
    .filter((stop) => typeof stop === 'string' && stop !== '') as string[];
  const ends = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  const stopped = ends.length === 0 ? text : text.slice(0, Math.min(...ends));
  const limit = positive(fields.max_completion_tokens) ?? positive(fields.max_tokens) ?? Infinity;
  const tokens = tokensOf(stopped);
  const finish: ChatFinish = tokens.length > limit ? 'length' : 'stop';
  return { content: finish === 'length' ? tokens.slice(0, limit).join('') : stopped, finish };
}

function cut(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters)}...` : text;
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n');
}

function listOf(value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is Record<string, unknown> => typeof item === 'object' && item !== null);
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}
