import { callTimeouts, type CallTimeouts } from '../provider-options.js';
import type { ModelInput } from './library-vendor.js';

/** The `options` of entries of type fal or google. */
export interface AiSdkOptions extends CallTimeouts {
  readonly takes?: ModelInput[];
}

/** The options of a vendor; `inputs` are the model inputs that its entry may declare. */
function optionsOf(...inputs: readonly ModelInput[]) {
  const takes = { type: 'array', items: { enum: inputs }, description: 'Which inputs its models take.' };
  return {
    type: 'object',
    additionalProperties: false,
    properties: { ...(inputs.length === 0 ? {} : { takes }), ...callTimeouts },
  } as const;
}

/** By type; google's models declare their inputs by their names. */
export const AI_SDK_OPTIONS = { fal: optionsOf('image', 'images', 'mask'), google: optionsOf() } as const;
