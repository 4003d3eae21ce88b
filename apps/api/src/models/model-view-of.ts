import { priceAt, type Catalog, type ModelEntry } from '#catalog/catalog.js';
import type { ModelCapabilities, ModelLimits, ModelPrice, ModelView } from '#contract/model-view.js';
import { PIXEL_LIMITS, RESOLUTIONS } from '#contract/pixel-table.js';
import { MAX_PROMPT_LENGTH } from '#contract/text-rules.js';
import { classPrices } from '#contract/token-classes.js';

/** 2026-04-21, when gpt-image-2 was released; the catalog has no dates. */
const CREATED = 1_776_729_600;
const MICROS = 1_000_000;

/** Properties of a model that depend on the caller's key. */
interface KeyTerms {
  /** 0 = unlimited. */
  readonly submitsPerMinute: number;
  readonly chatsPerMinute: number;
  /** Whether generations accept sizes in pixels. */
  readonly pixelSizes: boolean;
}

/** A model of the catalog as callers see it; `now` determines the price. */
export function modelViewOf(model: ModelEntry, catalog: Catalog, terms: KeyTerms, now: Date): ModelView {
  const price = priceOf(model, catalog, now);
  return {
    id: model.name,
    object: 'model',
    created: CREATED,
    owned_by: model.ownedBy,
    shutdown_date: model.end?.shutdownDate ?? null,
    supported_endpoint_types: [model.kind === 'image' ? 'image-generation' : 'openai'],
    capabilities: capabilitiesOf(model, terms),
    limits: limitsOf(model, terms),
    ...(price === undefined ? {} : { price }),
  };
}

/** The combined capabilities of the model's routes. */
function capabilitiesOf(model: ModelEntry, { pixelSizes: generations }: KeyTerms): ModelCapabilities {
  if (model.kind === 'chat') return { streaming: true };
  const routes = model.ranks.flat();
  const edits = routes.some((route) => route.edits);
  const { sizes, pixelSizes, qualities, editQualities, outputFormats, complexities, inputFidelities } = model.accepts;
  return {
    sizes: [...sizes],
    ...(pixelSizes && { pixel_sizes: { generations, ...PIXEL_LIMITS } }),
    resolutions: [...RESOLUTIONS],
    qualities: [...qualities],
    ...(edits && { edit_qualities: [...editQualities] }),
    output_formats: [...outputFormats],
    ...(complexities.length > 0 && { complexities: [...complexities] }),
    ...(edits && inputFidelities.length > 0 && { input_fidelities: [...inputFidelities] }),
    ...(model.extra.size > 0 && { extra: Object.fromEntries(model.extra) }),
    edits,
    masks: routes.some(({ masks }) => masks),
    markup: routes.some(({ markup }) => markup),
  };
}

function limitsOf(model: ModelEntry, { submitsPerMinute, chatsPerMinute }: KeyTerms): ModelLimits {
  if (model.kind === 'chat') return { requests_per_minute: chatsPerMinute || null };
  const takers = model.ranks.flat().filter(({ edits }) => edits);
  return {
    requests_per_minute: submitsPerMinute || null,
    images: Math.max(0, ...takers.map(({ images }) => images)),
    n: model.accepts.maxN,
    prompt_characters: MAX_PROMPT_LENGTH,
  };
}

function priceOf(model: ModelEntry, { currency }: Catalog, now: Date): ModelPrice | undefined {
  const price = priceAt(model, now);
  if (price === undefined) return undefined;
  const { images, tokens } = price;
  const perImage = Object.entries(images?.perImage ?? {}).map(([tier, amounts]) => [tier, inUnits(amounts)]);
  return {
    currency,
    ...(images && { per_image: Object.fromEntries(perImage) as ModelPrice['per_image'] & object }),
    ...(tokens && { per_million_tokens: classPrices(tokens, inUnit) }),
  };
}

function inUnits(micros: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(micros).map(([name, amount]) => [name, inUnit(amount)]));
}

function inUnit(micros: number): number {
  return micros / MICROS;
}
