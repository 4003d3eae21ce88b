import type { QuotedOrder } from '../../api/quotes.ts';
import type { ImageOrder, Model, TaskDetail } from '../../api/types.ts';
import { quotedTier } from '../../parts/quote.ts';
import { NO_CHOICE, shapeOf, sizeLike, type LikeSize, type Pixels } from './reference-shape.ts';

/** What is chosen in the form; names are those of the API. */
export type ImageSettings = Readonly<
  Record<'model' | 'size' | 'resolution' | 'quality' | 'output_format' | 'background', string>
> & { readonly n: number };

/** Of no model: which is the usual one depends on those that there are. */
export const START: ImageSettings = {
  ...{ model: '', size: '1:1', resolution: '1k', quality: 'auto' },
  ...{ output_format: 'png', background: 'auto', n: 1 },
};

const USUAL_MODEL = 'gpt-image-2';

/** The model that is chosen for whoever has chosen none: one of a provider, where there is any. */
export function usualModel(models: readonly Model[]): string {
  const connected = models.filter(({ sandbox }) => !sandbox);
  const candidates = connected.length > 0 ? connected : models;
  return (candidates.find(({ id }) => id === USUAL_MODEL) ?? candidates[0])?.id ?? USUAL_MODEL;
}

/** A size that stands for the shape of the first reference image. */
export const REFERENCE_SHAPE = 'reference';

const SIZES = '1:1 3:2 2:3 4:3 3:4 5:4 4:5 16:9 9:16 2:1 1:2 21:9 9:21 auto'.split(' ');
const TIERS = ['1k', '2k', '4k'];
const QUALITIES = ['auto', 'low', 'medium', 'high'];
/** Formats without transparent pixels. */
const OPAQUE_FORMATS = ['jpeg', 'gif'];

/** What a model accepts; nothing that it refuses is offered. */
export interface Choices {
  readonly sizes: readonly string[];
  readonly tiers: readonly string[];
  readonly qualities: readonly string[];
  readonly formats: readonly string[];
  readonly backgrounds: readonly string[];
  /** Images of one order, at most. */
  readonly mostImages: number;
  /** Reference images, at most; 0: it takes none. */
  readonly mostReferences: number;
  readonly masks: boolean;
}

/** Reference images that a model takes; 0: none. */
export function mostReferencesOf(model: Model | undefined): number {
  return model?.capabilities.edits === false ? 0 : (model?.limits.images ?? 16);
}

/** `chosen` decides where one choice rules out another. */
export function choicesOf(model: Model | undefined, isEdit: boolean, chosen: ImageSettings): Choices {
  const { capabilities, limits, transparency = true } = model ?? {};
  const { sizes = SIZES, resolutions: tiers = TIERS, output_formats: formats = ['png'] } = capabilities ?? {};
  const isOpaque = !transparency || OPAQUE_FORMATS.includes(chosen.output_format);
  return {
    sizes: isEdit ? [REFERENCE_SHAPE, ...sizes] : sizes,
    ...{ tiers, formats, qualities: qualitiesOf(model, isEdit, chosen.quality) },
    backgrounds: isOpaque ? ['auto', 'opaque'] : ['auto', 'opaque', 'transparent'],
    mostImages: limits?.n ?? 1,
    mostReferences: mostReferencesOf(model),
    masks: capabilities?.masks !== false,
  };
}

/** The settings as the choices allow them. */
export function fitted(settings: ImageSettings, choices: Choices): ImageSettings {
  const usualSize = choices.sizes.find((size) => size !== 'auto' && size !== REFERENCE_SHAPE);
  return {
    model: settings.model,
    size: choices.sizes.includes(settings.size) ? settings.size : (usualSize ?? settings.size),
    resolution: ifListed(choices.tiers, settings.resolution),
    quality: ifListed(choices.qualities, settings.quality),
    output_format: ifListed(choices.formats, settings.output_format),
    background: ifListed(choices.backgrounds, settings.background),
    n: Math.min(settings.n, choices.mostImages),
  };
}

/** The size that the reference's shape stands for, if that is chosen. `reference`: its pixels; null: they can't be read. */
export function likeOf(settings: ImageSettings, model: Model | undefined, reference: Pixels | null | undefined) {
  if (settings.size !== REFERENCE_SHAPE) return undefined;
  return reference ? sizeLike(reference, model?.capabilities ?? {}, settings.resolution) : NO_CHOICE;
}

/** What is ordered by fitted settings; `like` as above. */
export function orderOf(prompt: string, settings: ImageSettings, like: LikeSize | undefined): ImageOrder {
  const { resolution, background, n, ...rest } = settings;
  const size = like?.size ?? settings.size;
  return {
    ...{ ...rest, prompt, size, n },
    // Beside pixels it means nothing.
    ...(size.includes('x') ? {} : { resolution }),
    ...(background === 'auto' ? {} : { background }),
  };
}

/** What a quote is asked of. */
export function quotedOf({ model, size, quality, n, resolution }: ImageOrder, isEdit: boolean): QuotedOrder {
  return { ...{ model, size, quality, n }, action: isEdit ? 'edit' : 'generation', ...quotedTier(resolution) };
}

/** The settings that a task was ordered with. */
export function settingsOf(task: TaskDetail, before: ImageSettings): ImageSettings {
  const { quality, n, output_format: format, background } = task.options;
  // Most clients ask for pixels, which the form has no field for.
  const shape = shapeOf(task.size, SIZES);
  return {
    ...{ model: task.model, size: shape?.size ?? task.size, n: typeof n === 'number' ? n : 1 },
    resolution: task.resolution ?? shape?.resolution ?? before.resolution,
    quality: typeof quality === 'string' ? quality : 'auto',
    output_format: typeof format === 'string' ? format : before.output_format,
    background: typeof background === 'string' ? background : 'auto',
  };
}

/** What older models call their qualities, and what newer ones call the same. */
const NEWER_NAMES: Readonly<Record<string, string>> = { standard: 'medium', hd: 'high' };

/** The qualities to choose from, `auto` first; of two names for one, the newer, unless the older is chosen. */
function qualitiesOf(model: Model | undefined, isEdit: boolean, chosen: string): readonly string[] {
  const { qualities, edit_qualities: forEdits } = model?.capabilities ?? {};
  const all = (isEdit ? forEdits : qualities) ?? QUALITIES;
  const listed = all.filter((quality) => quality === chosen || !all.includes(NEWER_NAMES[quality] ?? ''));
  return listed.includes('auto') ? ['auto', ...listed.filter((quality) => quality !== 'auto')] : listed;
}

/** The choice, or the first there is if another model was meant. */
function ifListed(values: readonly string[], choice: string): string {
  return values.includes(choice) ? choice : (values[0] ?? choice);
}
