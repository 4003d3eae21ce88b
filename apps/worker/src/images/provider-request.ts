import { pixelsFor } from '#contract/pixel-table.js';
import type { ProviderImageRequest } from '#providers/image-provider.js';
import type { Candidate } from '#routing/route-plan.js';
import type { ClaimedTask } from '#tasks/task-transitions.js';
import type { LoadedInputs } from './load-inputs.js';

/** The task in the words of every provider. */
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
    width: options.pixels?.width,
    height: options.pixels?.height,
    squareEdge: options.resolution === null ? undefined : pixelsFor('1:1', options.resolution)?.width,
    images: inputs.images,
    mask: inputs.mask,
    quality: options.quality ?? undefined,
    background: options.background ?? undefined,
    moderation: options.moderation ?? undefined,
    inputFidelity: options.inputFidelity ?? undefined,
    outputFormat: options.outputFormat,
    outputCompression: options.outputCompression ?? undefined,
    user: options.user ?? undefined,
    safetyIdentifier: options.safetyIdentifier,
    partialImages: options.partialImages ?? 0,
  };
}
