import { EXTRA_NAME } from '#contract/extra-fields.js';
import type { TakesExtra } from '../provider-descriptor.js';

/** Where a server accepts workflows, relative to its base URL. */
export const PROMPT_PATH = '/prompt';
/** The same in API v2. */
export const JOBS_PATH = '/api/v2/jobs';

/** Where values are inserted: `<node id>.<input>`, or several if a value is needed more than once. */
export interface Slots {
  prompt: string | string[];
  width?: string | string[];
  height?: string | string[];
  seed?: string | string[];
  /** Of the extra fields of requests, by their names. */
  extra?: Readonly<Record<string, string | string[]>>;
  /** One for each reference image, in order. */
  images?: string[];
  mask?: string;
}

/** The `options` of entries of the types comfyui and comfyui-v2. */
export interface ComfyUiOptions {
  readonly workflow: string | Record<string, unknown>;
  readonly slots: Slots;
  readonly output?: string;
  readonly edit_workflow?: string | Record<string, unknown>;
  readonly edit_slots?: Slots & { images: string[] };
  readonly edit_output?: string;
  readonly timeout_ms?: number;
}

const target = { type: 'string', pattern: '^[^.]+\\..+$' };
const targets = { anyOf: [target, { type: 'array', minItems: 1, items: target }] };
const extra = {
  type: 'object',
  maxProperties: 32,
  propertyNames: { pattern: EXTRA_NAME },
  additionalProperties: targets,
} as const;
const common = { prompt: targets, width: targets, height: targets, seed: targets, extra };
const bothEdges = { width: ['height'], height: ['width'] };
const workflow = { type: ['string', 'object'] };

/** Schema of the options of both types. */
export const COMFYUI_OPTIONS = {
  type: 'object',
  required: ['workflow', 'slots'],
  additionalProperties: false,
  dependencies: { edit_workflow: ['edit_slots'], edit_slots: ['edit_workflow'], edit_output: ['edit_workflow'] },
  properties: {
    workflow: { ...workflow, description: 'From “Export (API)” in ComfyUI.' },
    slots: {
      type: 'object',
      required: ['prompt'],
      additionalProperties: false,
      dependencies: bothEdges,
      properties: common,
      description: 'Where values go: node id, dot, input, such as { "prompt": "6.text" }.',
    },
    output: { type: 'string', description: 'The node whose image is used, if several save one.' },
    edit_workflow: { ...workflow, description: 'The workflow of edits.' },
    edit_slots: {
      type: 'object',
      required: ['prompt', 'images'],
      additionalProperties: false,
      dependencies: bothEdges,
      properties: { ...common, images: { type: 'array', minItems: 1, maxItems: 16, items: target }, mask: target },
      description: 'Where the values of edits go.',
    },
    edit_output: { type: 'string', description: 'The node whose image is used for edits.' },
    timeout_ms: { type: 'integer', minimum: 50, description: 'Time limit of one call, in ms.' },
  },
} as const;

/** Whether there is a slot for a field of `extra`; its seed takes the place of the derived one. */
export function hasSlot({ seed, extra = {} }: Partial<Slots>, name: string): boolean {
  return Object.hasOwn(extra, name) || (name === 'seed' && seed !== undefined);
}

/** Whether the workflow in these options has a slot for a field of `extra`. */
export const takesExtra: TakesExtra = (name, options, withImages) => {
  const { slots = {}, edit_slots: editSlots = {} } = options as Partial<ComfyUiOptions>;
  return hasSlot(withImages ? editSlots : slots, name);
};
