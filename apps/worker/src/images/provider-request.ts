import { requestedOptions } from '#contract/image-options.js';
import { pixelsFor } from '#contract/pixel-table.js';
import type { ProviderImageRequest } from '#providers/image-provider.js';
import type { Candidate } from '#routing/route-plan.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import type { LoadedInputs } from './load-inputs.js';

/** Translates a task into the request that every adapter takes. */
export function toProviderRequest(
  claimed: ClaimedTask,
  candidate: Candidate,
  inputs: LoadedInputs,
): ProviderImageRequest {
  const { action, options } = claimed.task;
  return {
    action,
    model: candidate.model,
    sizes: candidate.sizes,
    prompt: claimed.prompt,
    n: options.n ?? 1,
    width: options.pixels?.width,
    height: options.pixels?.height,
    squareEdge: options.resolution === null ? undefined : pixelsFor('1:1', options.resolution)?.width,
    images: inputs.images,
    mask: inputs.mask,
    ...requestedOptions(options),
    partialImages: options.partialImages ?? 0,
  };
}
