import { BASE_VALUES } from '#contract/accepted-values.js';
import { IMAGES_PATH } from '../http/images-path.js';
import { FREE_SIZES } from '../offered-size.js';
import type { ProviderDescriptor } from '../provider-descriptor.js';
import { OPENAI_OPTIONS, takesExtra } from './options.js';

/** OpenAI, and every compatible server. */
export const OPENAI = {
  openai: {
    title: 'OpenAI-compatible',
    baseUrl: 'https://api.openai.com/v1',
    imagesPath: IMAGES_PATH,
    needs: [],
    free: false,
    chat: true,
    interruptedSetting: 'OPENAI_INTERRUPTED',
    options: OPENAI_OPTIONS,
    takes: {
      size: FREE_SIZES,
      routeSizes: true,
      quality: 'current',
      moderation: 'without images',
      inputFidelity: 'with images',
      transparency: true,
      complexity: true,
      markup: true,
      svg: true,
      frames: true,
      extra: takesExtra,
    },
    accepts: BASE_VALUES,
    maxN: () => 10,
    load: async () => {
      // One after the other, because they share modules.
      const { OpenAiProvider } = await import('./openai-provider.js');
      const { openAiSettings } = await import('./openai-settings.js');
      const { EntraTokens } = await import('./entra-tokens.js');
      const { OpenAiConfig } = await import('./openai.config.js');
      const { ProviderProxyConfig } = await import('../http/proxy.config.js');
      // Shared by all adapters, so that a changed catalog needs no new tokens.
      let tokens: InstanceType<typeof EntraTokens> | undefined;
      return (entry, key, { settings, fetcher }) => {
        const proxy = settings(ProviderProxyConfig);
        tokens ??= new EntraTokens(proxy);
        return new OpenAiProvider(openAiSettings(entry, key, settings(OpenAiConfig), proxy, tokens), fetcher);
      };
    },
    loadModels: async () => (await import('./list-models.js')).listModels,
    loadCases: async () => (await import('./safety-case.js')).readSafetyCase,
  },
} as const satisfies Record<string, ProviderDescriptor>;
