import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import { ProviderOptionsError, readOptions } from '../provider-options.js';
import { ComfyJobs } from './comfy-jobs.js';
import { ComfyServer } from './comfy-server.js';
import { ComfyUiProvider } from './comfyui-provider.js';
import { COMFYUI_OPTIONS, type ComfyUiOptions } from './options.js';
import { Workflow } from './workflow.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Time limit of one call, in ms; no call waits for an image. */
const TIMEOUT_MS = 30_000;

/**
 * Creates the provider of an entry of type comfyui or comfyui-v2. Throws ProviderOptionsError with every problem of its options and
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
  const upstream = {
    baseUrl: entry.baseUrl,
    apiKey: key?.secret,
    connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    totalTimeoutMs: 4 * timeoutMs,
  };
  const { name, free, interrupted } = entry;
  const server = entry.type === 'comfyui-v2' ? new ComfyJobs({ ...upstream, free }) : new ComfyServer(upstream);
  const { totalTimeoutMs: longestCallMs } = upstream;
  return new ComfyUiProvider(server, { name, free, interrupted, longestCallMs, workflows: { generation, edit } });
}
