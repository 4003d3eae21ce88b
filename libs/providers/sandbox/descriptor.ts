import { BASE_VALUES } from '#contract/accepted-values.js';
import { FREE_SIZES } from '../offered-size.js';
import type { ProviderDescriptor } from '../provider-descriptor.js';

/** Draws images itself: no connection, no cost. */
export const SANDBOX = {
  sandbox: {
    title: 'Sandbox',
    needs: [],
    free: true,
    chat: true,
    options: {},
    takes: {
      size: FREE_SIZES,
      routeSizes: false,
      quality: 'any',
      moderation: 'always',
      inputFidelity: 'always',
      transparency: true,
      complexity: true,
      markup: true,
      svg: true,
      frames: true,
      extra: () => false,
    },
    accepts: BASE_VALUES,
    maxN: () => 10,
    load: async () => {
      const [{ SandboxProvider }, { obeysDirectives, SandboxConfig }] = await Promise.all([
        import('./sandbox-provider.js'),
        import('./sandbox.config.js'),
      ]);
      return (_entry, _key, { settings }) => new SandboxProvider(obeysDirectives(settings(SandboxConfig)), FREE_SIZES);
    },
  },
} as const satisfies Record<string, ProviderDescriptor>;
