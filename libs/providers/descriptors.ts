import { AI_SDK } from './ai-sdk/descriptor.js';
import { COMFYUI } from './comfyui/descriptor.js';
import { OPENAI } from './openai/descriptor.js';
import type { ProviderDescriptor } from './provider-descriptor.js';
import { SANDBOX } from './sandbox/descriptor.js';
import { SUBMIT_POLL } from './submit-poll/descriptor.js';

/** Every type of provider, by the name that the catalog calls it. */
export const DESCRIPTORS: Readonly<Record<string, ProviderDescriptor>> = {
  ...SANDBOX,
  ...OPENAI,
  ...SUBMIT_POLL,
  ...COMFYUI,
  ...AI_SDK,
};
