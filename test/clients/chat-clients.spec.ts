import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { event, json, pieces, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { responseEvents, responseOf } from '../support/responses.js';
import { inFolder, installedPythons, runScript, type Outcome } from './clients.js';
import { makeSampleFiles } from './sample-files.js';

/** What the chat model says when it has no tool to call, or has called it. */
const SAID = 'Here you are.';
const IMAGE = expect.stringMatching(/^png /) as string;
const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

/** A response that calls its tool once, with the prompt it was given, or says something. */
function responseTo(body: string): ChatUpstream['answer'] {
  const { input, tools = [], stream } = JSON.parse(body) as ResponseBody;
  const last = [input].flat().at(-1);
  const isCall = tools.length > 0 && (typeof last === 'string' || last?.type !== 'function_call_output');
  const prompt = typeof last === 'string' ? last : [last?.content].flat().map((part) => textOf(part))[0];
  const call = { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'draw' };
  const output = [{ ...call, arguments: JSON.stringify({ prompt }) }];
  const response = responseOf({ id: `resp_${randomUUID()}`, ...(isCall ? { output } : {}) });
  return stream === true ? pieces(responseEvents(response)) : json(response);
}

const textOf = (part: string | { readonly text?: string } | undefined): string | undefined =>
  typeof part === 'string' ? part : part?.text;

interface ResponseItem {
  readonly type?: string;
  readonly content?: string | readonly { readonly text?: string }[];
}
interface ResponseBody {
  readonly input: string | readonly ResponseItem[];
  readonly tools?: readonly unknown[];
  readonly stream?: boolean;
}

interface ChatBody {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly unknown[];
  readonly stream?: boolean;
}

/** A chat model that calls its tool once, with the prompt it was given. */
function answerTo(body: string): ChatUpstream['answer'] {
  const { messages, tools = [], stream } = JSON.parse(body) as ChatBody;
  const last = messages.at(-1);
  const head = { id: 'c1', created: 1, model: 'gpt-5.5' };
  const isCall = tools.length > 0 && last?.role !== 'tool';
  const finish_reason = isCall ? 'tool_calls' : 'stop';
  if (stream === true) {
    const chunk = (choices: object[], usage: object | null) =>
      event({ ...head, object: 'chat.completion.chunk', choices, usage });
    const said = chunk([{ index: 0, delta: { role: 'assistant', content: SAID }, finish_reason }], null);
    return pieces([said, chunk([], USAGE), event('[DONE]')]);
  }
  const draw = { name: 'draw', arguments: JSON.stringify({ prompt: last?.content }) };
  const message = isCall
    ? { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: draw }] }
    : { role: 'assistant', content: SAID };
  return json({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage: USAGE });
}

/** The program and its arguments, without the job. */
type Command = readonly [string, ...string[]];

/** What each client is to come to; steps of an image model are one task and one start each. */
const CLIENTS = [
  {
    name: '@openai/agents',
    command: inFolder('agents', 'agents'),
    outcomes: {
      tool: { text: SAID, link: IMAGE, base64: IMAGE },
      chat: { link: IMAGE },
      stream: { link: IMAGE },
      reference: { link: IMAGE },
    },
  },
  {
    name: '@openai/agents, Responses',
    command: inFolder('agents', 'responses'),
    outcomes: { tool: { text: SAID, link: IMAGE, base64: IMAGE }, ask: { text: SAID }, askStream: { text: SAID } },
  },
  {
    name: 'AzureOpenAI of openai-node 7',
    command: [process.execPath, resolve('test', 'clients', 'node', 'openai', 'azure.mjs'), '7'] as Command,
    outcomes: {
      ask: { text: SAID },
      askStream: { text: SAID },
      draw: { link: IMAGE, base64: IMAGE },
      reference: { link: IMAGE, base64: IMAGE },
    },
  },
  ...['5', '6', '7'].map((version) => ({
    name: `AI SDK ${version}, Responses`,
    command: inFolder(`ai-${version}`, 'responses'),
    outcomes: { ask: { text: SAID }, askStream: { text: SAID } },
  })),
  ...Object.entries(installedPythons())
    .filter(([name]) => name.startsWith('llm-'))
    .map(([name, interpreter]) => ({
      name,
      command: [interpreter, resolve('test', 'clients', 'python', 'llm_client.py')] as Command,
      outcomes: {
        ask: { text: SAID },
        askStream: { text: SAID },
        chat: { link: IMAGE },
        stream: { link: IMAGE },
        reference: { link: IMAGE },
      },
    })),
];

/** Packages as they are published, whose chats go to a chat model and to an image model. */
describe('clients that chat', () => {
  let provider: LedgerProvider;
  let upstream: ChatUpstream;
  let platform: Platform;
  let files: Awaited<ReturnType<typeof makeSampleFiles>>;

  beforeAll(async () => {
    [provider, upstream, files] = await Promise.all([LedgerProvider.start(), startChatUpstream(), makeSampleFiles()]);
    upstream.answer = (response, call) =>
      (call.path === '/v1/responses' ? responseTo : answerTo)(call.body)(response, call);
    const models = join(dirname(files.mask), 'models.yaml');
    await writeFile(
      models,
      `providers:
  images: { type: openai, base_url: "${provider.url}", keys: [{ env: UP_KEY, name: main }] }
  chats: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY, name: main }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: images }] }
  gpt-5.5: { kind: chat, routes: [{ provider: chats }] }
`,
    );
    platform = await startPlatform({ MODELS_FILE: models, UP_KEY: 'sk-upstream-secret-key' });
  });
  afterAll(async () => {
    await platform.close();
    await provider.close();
    await upstream.close();
    await files.remove();
  });

  it.each(CLIENTS)(
    '$name chats with a chat model, and gets an image from an image model',
    async ({ name, command, outcomes }) => {
      const prompts = Object.fromEntries(
        Object.keys(outcomes).map((step) => [step, `a house, ${step} ${newMarker()}`]),
      );
      const { images, mask } = files;
      const job = { url: `${platform.url}/v1`, key: platform.key, prompts, images, mask };
      const { steps } = (await runScript(name, command, job)) as { steps: Record<string, Outcome> };
      expect(steps).toEqual(outcomes);
      for (const [step, outcome] of Object.entries(outcomes)) {
        const { rows } = await platform.pool.query(
          `SELECT status, jsonb_array_length(inputs) AS sent FROM tasks WHERE prompt = $1`,
          [prompts[step]],
        );
        const sent = step === 'reference' ? 1 : 0;
        expect([step, rows]).toEqual([step, 'link' in outcome ? [{ status: 'completed', sent }] : []]);
        const starts = provider.startsOf(prompts[step]?.split(' ').at(-1) ?? '');
        expect([step, starts.length]).toEqual([step, rows.length]);
      }
    },
  );
});
