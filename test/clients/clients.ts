import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { SampleFiles } from './sample-files.js';
import { patient } from '../support/patience.js';

/** What a client is told to do; test/clients/node/report.mjs reads it. */
export interface Job<Steps extends string = Step> extends SampleFiles {
  /** Ends in /v1, as users enter it. */
  readonly url: string;
  readonly key: string;
  /** A prompt for each step that generates an image. */
  readonly prompts: Readonly<Record<Steps, string>>;
}

/** The steps that generate an image; those with patience take longer than the window, and the last two lose their first answer. */
export const STEPS = [
  ...(['generation', 'edit', 'files', 'mask', 'stream', 'editStream'] as const),
  ...(['patience', 'editPatience', 'cut', 'badGateway'] as const),
];
export type Step = (typeof STEPS)[number];

/** What a step came to. */
export interface Outcome {
  /** Format and size of what the link leads to, and of the base64 text. */
  readonly link?: string;
  readonly base64?: string;
  /** The types of a stream's events. */
  readonly types?: readonly string[];
  /** How often the caller had to ask; the client's own retries don't count. */
  readonly tries?: number;
  readonly error?: string;
  readonly status?: number;
  readonly code?: string | null;
  readonly message?: string;
}

export interface Report {
  readonly version: string;
  readonly steps: Readonly<Partial<Record<Step | 'refused' | 'stranger', Outcome>>> & {
    readonly models?: readonly string[];
  };
}

/** A published client and what is known of it. */
export interface Client {
  readonly name: string;
  /** The program and its arguments, without the job. */
  readonly command: readonly [string, ...string[]];
  /** The steps that it has, of those that generate an image. */
  readonly steps: readonly Step[];
  readonly listsModels: boolean;
  /** What its images carry for the caller to read. */
  readonly reads: readonly ('link' | 'base64')[];
  /** How its caller sees a 400 and a 401. */
  readonly errors: readonly [refused: object, stranger: object];
  /** Whether it leaves the next try to its caller when the window ends: it counts no retries, and obeys `x-should-retry`. */
  readonly givesUp: boolean;
}

const CLIENT_TIMEOUT_MS = patient(170_000);
const GENERATES: readonly Step[] = ['generation', 'patience', 'cut', 'badGateway'];
const EDITS: readonly Step[] = ['edit', 'files', 'mask', 'editPatience'];
const STREAMS: readonly Step[] = ['stream', 'editStream'];

const openAiErrors = [
  { error: 'BadRequestError', status: 400, code: 'invalid_value' },
  { error: 'AuthenticationError', status: 401, code: 'invalid_api_key' },
] as const;

/** The script of a folder in test/clients/node. */
export const inFolder = (folder: string, variant: string): [string, ...string[]] => [
  process.execPath,
  resolve('test', 'clients', 'node', folder, 'client.mjs'),
  variant,
];

const openAi = (version: string): Client => ({
  name: `openai-node ${version}`,
  command: inFolder('openai', version),
  steps: [...GENERATES, ...EDITS, ...(version === '4.20' ? [] : STREAMS)],
  listsModels: true,
  reads: ['link', 'base64'],
  errors: openAiErrors,
  givesUp: version === '4.20',
});

const aiSdk = (version: string, variant: string): Client => ({
  name: `AI SDK ${version} with @ai-sdk/${variant}`,
  command: inFolder(`ai-${version}`, variant),
  steps: [...GENERATES, ...(version === '5' ? [] : EDITS)],
  listsModels: false,
  reads: ['base64'],
  errors: [
    { error: 'AI_APICallError', status: 400 },
    { error: 'AI_APICallError', status: 401 },
  ],
  givesUp: false,
});

const langChain = (variant: 'url' | 'b64_json'): Client => ({
  name: `@langchain/openai, DallEAPIWrapper, ${variant}`,
  command: inFolder('langchain', variant),
  steps: GENERATES,
  listsModels: false,
  reads: [variant === 'url' ? 'link' : 'base64'],
  errors: openAiErrors,
  givesUp: false,
});

const python = (name: string, interpreter: string): Client => {
  const isOld = name === 'openai-1.40';
  return {
    name: `openai-python, ${name}`,
    command: [interpreter, resolve('test', 'clients', 'python', 'client.py')],
    steps: [...GENERATES, ...(isOld ? EDITS.filter((step) => step !== 'files') : [...EDITS, ...STREAMS])],
    listsModels: true,
    reads: ['link', 'base64'],
    errors: openAiErrors,
    givesUp: isOld,
  };
};

/** The interpreters of test/clients/python/*.txt, by file; scripts/run/client-packages.mjs says so where they are left out. */
export function installedPythons(): Readonly<Record<string, string>> {
  return JSON.parse(process.env['TEST_CLIENT_PYTHONS'] ?? '{}') as Record<string, string>;
}

/** All clients for images that are installed. */
export function installedClients(): readonly Client[] {
  const pythons = Object.entries(installedPythons()).filter(([name]) => name.startsWith('openai-'));
  return [
    ...['4.20', '6', '7'].map(openAi),
    ...['5', '6', '7'].flatMap((version) => [aiSdk(version, 'openai'), aiSdk(version, 'openai-compatible')]),
    ...(['url', 'b64_json'] as const).map(langChain),
    ...pythons.map(([name, interpreter]) => python(name, interpreter)),
  ];
}

/** Runs a client in a process of its own, so that versions never mix. Throws with what it wrote when it breaks. */
export async function runClient({ name, command }: Client, job: Job): Promise<Report> {
  return (await runScript(name, command, job)) as Report;
}

/** Runs a program that takes a job as its last argument, and prints JSON. */
export async function runScript(
  name: string,
  [program, ...args]: readonly [string, ...string[]],
  job: Job<string>,
): Promise<unknown> {
  const child = spawn(program, [...args, JSON.stringify(job)], {
    env: { PATH: process.env['PATH'], HOME: join(job.mask, '..') },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: CLIENT_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const [output, problems, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  if (code !== 0) throw new Error(`${name} ended with ${signal ?? code}:\n${problems}${output}`);
  return JSON.parse(output) as unknown;
}
