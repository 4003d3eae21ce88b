import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import { ProviderOptionsError, readOptions } from '../provider-options.js';
import { ComfyUiProvider } from './comfyui-provider.js';
import { COMFYUI_OPTIONS, type ComfyUiOptions } from './options.js';
import { Workflow } from './workflow.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Time limit of one call, in ms; no call waits for an image. */
const TIMEOUT_MS = 30_000;

/**
 * Creates the provider of an entry of type comfyui. Throws ProviderOptionsError with every problem of its options and
 * workflows.
 */
export function comfyUiProvider(entry: ProviderEntry, key?: ProviderKey): ComfyUiProvider {
  const options = readOptions<ComfyUiOptions>(entry, COMFYUI_OPTIONS);
  const problems: string[] = [];
  const generation = Workflow.read('options.workflow', options, problems);
  const edit =
    options.edit_workflow === undefined || options.edit_slots === undefined
      ? undefined
      : Workflow.read(
          'options.edit_workflow',
          { workflow: options.edit_workflow, slots: options.edit_slots, output: options.edit_output },
          problems,
        );
  if (generation === undefined || problems.length > 0) throw new ProviderOptionsError(problems);
  if (entry.baseUrl === undefined) throw new Error('base_url is needed');
  const timeoutMs = options.timeout_ms ?? TIMEOUT_MS;
  return new ComfyUiProvider({
    name: entry.name,
    free: entry.free,
    interrupted: entry.interrupted,
    workflows: { generation, edit },
    baseUrl: entry.baseUrl,
    apiKey: key?.secret,
    connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    totalTimeoutMs: 4 * timeoutMs,
  });
}
