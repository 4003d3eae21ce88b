import { BASE_VALUES } from '#contract/accepted-values.js';
import { LATENT_SIZES } from '../offered-size.js';
import type { ProviderDescriptor } from '../provider-descriptor.js';
import { COMFYUI_OPTIONS, PROMPT_PATH, takesExtra } from './options.js';

/** A self-hosted ComfyUI server. */
export const COMFYUI = {
  comfyui: {
    title: 'ComfyUI',
    imagesPath: PROMPT_PATH,
    needs: ['base_url'],
    free: true,
    chat: false,
    options: COMFYUI_OPTIONS,
    fileOptions: ['workflow', 'edit_workflow'],
    takes: {
      size: LATENT_SIZES,
      routeSizes: true,
      quality: 'none',
      moderation: 'never',
      inputFidelity: 'never',
      transparency: false,
      complexity: false,
      frames: false,
      extra: takesExtra,
    },
    accepts: BASE_VALUES,
    maxN: () => 1,
    load: async () => {
      const { comfyUiProvider } = await import('./from-entry.js');
      return comfyUiProvider;
    },
  },
} as const satisfies Record<string, ProviderDescriptor>;
