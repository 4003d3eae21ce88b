import { AI_SDK } from './ai-sdk/descriptor.js';
import { COMFYUI } from './comfyui/descriptor.js';
import { OPENAI } from './openai/descriptor.js';
import type { ProviderDescriptor } from './provider-descriptor.js';
import type { ProviderEntry } from './provider-entry.js';
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

/** Where a provider is asked for a new image, without anything secret; null where that is not known before the call. */
export function imagesUrl({ type, baseUrl = '' }: ProviderEntry): string | null {
  const { imagesPath } = DESCRIPTORS[type] ?? {};
  if (imagesPath === undefined || !URL.canParse(baseUrl)) return null;
  const { origin, pathname } = new URL(baseUrl + imagesPath);
  return origin + pathname;
}
