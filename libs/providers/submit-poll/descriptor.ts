import { BASE_VALUES } from '#contract/accepted-values.js';
import { IMAGES_PATH } from '../http/images-path.js';
import { FREE_SIZES } from '../offered-size.js';
import type { MakeAdapter, ProviderDescriptor, SupportedOptions } from '../provider-descriptor.js';
import { SUBMIT_POLL_OPTIONS } from './options.js';

const takes: SupportedOptions = {
  size: FREE_SIZES,
  routeSizes: false,
  quality: 'current',
  moderation: 'always',
  inputFidelity: 'never',
  transparency: false,
  complexity: false,
  markup: false,
  svg: false,
  frames: false,
  extra: () => true,
};

async function load(): Promise<MakeAdapter> {
  const [{ submitPollProvider }, { ProviderProxyConfig }] = await Promise.all([
    import('./from-entry.js'),
    import('../http/proxy.config.js'),
  ]);
  return (entry, key, { settings, fetcher }) => submitPollProvider(entry, key, fetcher, settings(ProviderProxyConfig));
}

/** Vendors that accept a job and are polled for its result. */
export const SUBMIT_POLL = {
  apimart: {
    title: 'APIMart',
    baseUrl: 'https://api.apimart.ai/v1',
    imagesPath: IMAGES_PATH,
    needs: ['keys'],
    free: false,
    chat: false,
    options: SUBMIT_POLL_OPTIONS,
    takes,
    accepts: BASE_VALUES,
    maxN: () => 1,
    load,
  },
  evolink: {
    title: 'EvoLink',
    baseUrl: 'https://api.evolink.ai/v1',
    imagesPath: IMAGES_PATH,
    needs: ['keys'],
    free: false,
    chat: false,
    options: SUBMIT_POLL_OPTIONS,
    takes,
    accepts: BASE_VALUES,
    maxN: (model) => (/-beta$/.test(model) ? 1 : 10),
    load,
  },
  toapis: {
    title: 'ToAPIs',
    baseUrl: 'https://toapis.com/v1',
    imagesPath: IMAGES_PATH,
    needs: ['keys'],
    free: false,
    chat: false,
    options: SUBMIT_POLL_OPTIONS,
    takes: { ...takes, size: 'table' },
    accepts: BASE_VALUES,
    maxN: () => 1,
    load,
  },
} as const satisfies Record<string, ProviderDescriptor>;
