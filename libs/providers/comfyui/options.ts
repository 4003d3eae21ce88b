import type { Slots } from './workflow.js';

/** Where a server accepts workflows, relative to its base URL. */
export const PROMPT_PATH = '/prompt';

/** The `options` of entries of type comfyui. */
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
const common = { prompt: targets, width: targets, height: targets, seed: targets };
const bothEdges = { width: ['height'], height: ['width'] };
const workflow = { type: ['string', 'object'] };

/** Schema of the options of type comfyui. */
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
