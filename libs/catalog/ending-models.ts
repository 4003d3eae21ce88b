import { findModel, hasEnded, servedNames, type Catalog, type ModelEnd, type ModelEntry } from './catalog.js';
import { OPENAI_HOST, openAiEnd } from './openai-models.js';

/** Operators learn of an end this long before it, in days. */
const NOTICE_DAYS = 30;
const DAY_MS = 86_400_000;

/** A model that ends soon, or has ended, at one of its providers. */
export interface EndingModel extends ModelEnd {
  readonly name: string;
}

/**
 * The models that end within 30 days or have ended: by their own entry, or because one of their routes leads to a model
 * that OpenAI ends. In the catalog's order.
 */
export function endingModels(catalog: Catalog, now: Date): EndingModel[] {
  return [...catalog.models.values()].flatMap((model) => {
    const end = model.end ?? endOfRoutes(model, catalog);
    if (end === undefined || Date.parse(end.shutdownDate) - now.getTime() > NOTICE_DAYS * DAY_MS) return [];
    return [{ name: model.name, ...end }];
  });
}

/** The sentence that tells an operator. */
export function endingText(model: EndingModel, now: Date): string {
  const { name, shutdownDate, successors } = model;
  const verb = hasEnded(model, now) ? 'ended' : 'ends';
  return `${name} ${verb} on ${shutdownDate}${successors.length === 0 ? '' : ` (use ${oneOf(successors)})`}`;
}

/**
 * Tells callers that a model has ended, and what to use instead; undefined if it has not, or is unknown. A name that the
 * catalog gives to a model, as an alias for example, means that model. Case does not matter: whoever writes an old name
 * in another one learns more from this than from hearing that there is no such model.
 */
export function endedText(catalog: Catalog, name: string, now: Date): string | undefined {
  const lower = name.toLowerCase();
  const model = findModel(catalog, name) ?? findModel(catalog, lower);
  const end = model === undefined ? openAiEnd(lower) : model.end;
  if (end === undefined || !hasEnded(end, now)) return undefined;
  const { shutdownDate, successors } = end;
  const instead = successors.length === 0 ? '' : ` Use ${oneOf(successors)}.`;
  const served = servedNames(catalog, model?.kind ?? 'image', now);
  const available = served.length === 0 ? '' : ` Available: ${served.join(', ')}`;
  return `The model was shut down on ${shutdownDate}.${instead}${available}`;
}

function endOfRoutes({ ranks }: ModelEntry, { providers }: Catalog): ModelEnd | undefined {
  return ranks
    .flat()
    .filter(({ provider }) => providers.get(provider)?.servers.some(({ baseUrl }) => baseUrl?.startsWith(OPENAI_HOST)))
    .flatMap(({ model }) => openAiEnd(model) ?? [])
    .sort((a, b) => a.shutdownDate.localeCompare(b.shutdownDate))[0];
}

function oneOf(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
