import { callTimeouts, type CallTimeouts } from '../provider-options.js';
import type { ModelInput } from './library-vendor.js';

/** What an entry of type fal or google may say under `options`. */
export interface AiSdkOptions extends CallTimeouts {
  readonly takes?: ModelInput[];
}

/** The options of a vendor; `inputs` is what its entry may say that models take. */
function optionsOf(...inputs: readonly ModelInput[]) {
  const takes = { type: 'array', items: { enum: inputs }, description: 'Which inputs its models take.' };
  return {
    type: 'object',
    additionalProperties: false,
    properties: { ...(inputs.length === 0 ? {} : { takes }), ...callTimeouts },
  } as const;
}

/** By type; of google the names of the models say what they take. */
export const AI_SDK_OPTIONS = { fal: optionsOf('image', 'images', 'mask'), google: optionsOf() } as const;
