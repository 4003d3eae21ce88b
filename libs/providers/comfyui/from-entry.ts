import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import { ProviderOptionsError, readOptions } from '../provider-options.js';
import { ComfyUiProvider } from './comfyui-provider.js';
import { Workflow, type Slots } from './workflow.js';

interface Options {
  workflow: string | Record<string, unknown>;
  slots: Slots;
  output?: string;
  edit_workflow?: string | Record<string, unknown>;
  edit_slots?: Slots & { images: string[] };
  edit_output?: string;
  timeout_ms?: number;
}

const target = { type: 'string', pattern: '^[^.]+\\..+$' };
const targets = { anyOf: [target, { type: 'array', minItems: 1, items: target }] };
const common = { prompt: targets, width: targets, height: targets, seed: targets };
const bothEdges = { width: ['height'], height: ['width'] };
const workflow = { type: ['string', 'object'] };

const OPTIONS = {
  type: 'object',
  required: ['workflow', 'slots'],
  additionalProperties: false,
  dependencies: { edit_workflow: ['edit_slots'], edit_slots: ['edit_workflow'], edit_output: ['edit_workflow'] },
  properties: {
    workflow,
    edit_workflow: workflow,
    slots: {
      type: 'object',
      required: ['prompt'],
      additionalProperties: false,
      dependencies: bothEdges,
      properties: common,
    },
    edit_slots: {
      type: 'object',
      required: ['prompt', 'images'],
      additionalProperties: false,
      dependencies: bothEdges,
      properties: { ...common, images: { type: 'array', minItems: 1, maxItems: 16, items: target }, mask: target },
    },
    output: { type: 'string' },
    edit_output: { type: 'string' },
    timeout_ms: { type: 'integer', minimum: 50 },
  },
};

const CONNECT_TIMEOUT_MS = 5_000;
/** Of one call, in milliseconds: none of them waits for an image. */
const TIMEOUT_MS = 30_000;

/** The provider of an entry of type comfyui. Throws ProviderOptionsError with every problem of options and workflows. */
export function comfyUiProvider(entry: ProviderEntry, key?: ProviderKey): ComfyUiProvider {
  const options = readOptions<Options>(entry, OPTIONS);
  const problems: string[] = [];
  const generation = Workflow.read('options.workflow', options, problems);
  const edit =
    options.edit_workflow === undefined || options.edit_slots === undefined
      ? undefined
      : Workflow.read(
          'options.edit_workflow',
          { workflow: options.edit_workflow, slots: options.edit_slots, output: options.edit_output },
          problems,
        );
  if (generation === undefined || problems.length > 0) throw new ProviderOptionsError(problems);
  if (entry.baseUrl === undefined) throw new Error('base_url is needed');
  const timeoutMs = options.timeout_ms ?? TIMEOUT_MS;
  return new ComfyUiProvider({
    name: entry.name,
    free: entry.free,
    interrupted: entry.interrupted,
    workflows: { generation, edit },
    baseUrl: entry.baseUrl,
    apiKey: key?.secret,
    connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    totalTimeoutMs: 4 * timeoutMs,
  });
}
