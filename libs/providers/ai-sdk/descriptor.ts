import { BASE_VALUES } from '#contract/accepted-values.js';
import { FREE_SIZES } from '../offered-size.js';
import type { MakeAdapter, ProviderDescriptor, SupportedOptions } from '../provider-descriptor.js';
import { AI_SDK_OPTIONS } from './options.js';

const takes: SupportedOptions = {
  size: FREE_SIZES,
  routeSizes: true,
  quality: 'none',
  moderation: 'never',
  inputFidelity: 'never',
  transparency: false,
  complexity: false,
  markup: false,
  svg: false,
  frames: false,
  extra: () => false,
};

async function load(): Promise<MakeAdapter> {
  const [{ aiSdkProvider }, { ProviderProxyConfig }] = await Promise.all([
    import('./from-entry.js'),
    import('../http/proxy.config.js'),
  ]);
  return (entry, key, { settings, fetcher }) => aiSdkProvider(entry, key, fetcher, settings(ProviderProxyConfig));
}

/** Vendors that are called through their AI SDK libraries. */
export const AI_SDK = {
  fal: {
    title: 'fal',
    baseUrl: 'https://fal.run',
    needs: ['keys'],
    free: false,
    chat: false,
    options: AI_SDK_OPTIONS.fal,
    takes,
    accepts: BASE_VALUES,
    maxN: () => 4,
    load,
  },
  google: {
    title: 'Google',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    needs: ['keys'],
    free: false,
    chat: false,
    options: AI_SDK_OPTIONS.google,
    takes: { ...takes, size: 'ratio', routeSizes: false },
    accepts: BASE_VALUES,
    // Gemini does not let callers choose the number of images.
    maxN: (model) => (model.startsWith('imagen-') ? 4 : 1),
    load,
  },
} as const satisfies Record<string, ProviderDescriptor>;
