import { BASE_VALUES } from '#contract/accepted-values.js';
import { LATENT_SIZES } from '../offered-size.js';
import type { ProviderDescriptor } from '../provider-descriptor.js';
import { COMFYUI_OPTIONS, JOBS_PATH, PROMPT_PATH, takesExtra } from './options.js';

const COMMON = {
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
    markup: false,
    svg: false,
    frames: false,
    extra: takesExtra,
  },
  accepts: BASE_VALUES,
  maxN: () => 1,
  load: async () => {
    const { comfyUiProvider } = await import('./from-entry.js');
    return comfyUiProvider;
  },
} as const;

/** A self-hosted ComfyUI server, or Comfy API v2 in front of one. */
export const COMFYUI = {
  comfyui: { title: 'ComfyUI', imagesPath: PROMPT_PATH, ...COMMON },
  'comfyui-v2': { title: 'Comfy API v2', imagesPath: JOBS_PATH, ...COMMON },
} as const satisfies Record<string, ProviderDescriptor>;
