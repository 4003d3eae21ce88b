import type { ExtraValues } from '#contract/extra-fields.js';
import type { ProviderImageRequest } from '../image-provider.js';
import { knownQuality } from '../known-quality.js';
import { warnExtra, warnIgnored, warnUnsupported } from '../ignored-options.js';
import { gridSize, LATENT_SIZES, offeredSize, sizeOf, textOfSize, type Size } from '../offered-size.js';
import { ProviderError } from '../provider-error.js';
import type { Workflow } from './workflow.js';

/** The workflows of a server; without one for edits, images are not accepted. */
export interface Workflows {
  readonly generation: Workflow;
  readonly edit: Workflow | undefined;
}

/** The workflow and size for a request, and warnings about what it can't honor. */
export interface Order {
  readonly workflow: Workflow;
  readonly width: number | undefined;
  readonly height: number | undefined;
  /** The extra fields for which the workflow has slots. */
  readonly extra: ExtraValues;
  readonly size: string;
  readonly warnings: readonly string[];
}

/**
 * Deterministic, because it runs again when a job is resumed. Throws ProviderError for requests that the workflows
 * can't fulfill at all.
 */
export function orderFor(request: ProviderImageRequest, workflows: Workflows): Order {
  const workflow = workflowFor(request, workflows);
  const warnings: string[] = [];
  warnIgnored('quality', knownQuality(request.quality, []), warnings);
  warnIgnored('moderation', request.moderation, warnings);
  warnIgnored('input_fidelity', request.inputFidelity, warnings);
  warnUnsupported(request, warnings);
  const extra = Object.entries(request.extra ?? {});
  const taken = Object.fromEntries(extra.filter(([name]) => workflow.takesExtra(name)));
  warnExtra({ extra: Object.fromEntries(extra.filter(([name]) => !workflow.takesExtra(name))) }, warnings);
  if (request.background === 'transparent') warnIgnored('transparent background', request.background, warnings);
  const { images } = request;
  if (images.length > 0 && images.length < workflow.takesImages) {
    warnings.push(`The provider needs ${workflow.takesImages} images, so the last one was used more than once.`);
  }
  const asked = workflow.takesSize ? askedSize(request) : undefined;
  const size = asked === undefined ? 'auto' : textOfSize(asked);
  return { workflow, width: asked?.width, height: asked?.height, extra: taken, size, warnings };
}

function askedSize({ width, height, squareEdge, sizes }: ProviderImageRequest): Size | undefined {
  const wanted = { width: width ?? squareEdge, height: height ?? squareEdge };
  if (wanted.width === undefined || wanted.height === undefined) return undefined;
  const size = { width: wanted.width, height: wanted.height };
  return sizes === undefined ? gridSize(size, LATENT_SIZES) : offeredSize(size, sizes.map(sizeOf));
}

function workflowFor({ images, mask }: ProviderImageRequest, { generation, edit }: Workflows): Workflow {
  if (images.length === 0) return generation;
  if (edit === undefined) throw unsupported('image', 'The provider of this model does not accept reference images.');
  if (images.length > edit.takesImages) {
    throw unsupported('image', `The provider of this model accepts at most ${edit.takesImages} images.`);
  }
  if (mask !== undefined && !edit.takesMask)
    throw unsupported('mask', 'The provider of this model does not support masks.');
  return edit;
}

function unsupported(param: string, text: string): ProviderError {
  return new ProviderError('unsupported_parameter', text, { retryable: false, charged: 'no', param });
}
