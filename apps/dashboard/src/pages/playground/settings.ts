import type { QuotedOrder } from '../../api/quotes.ts';
import type { ImageOrder, Model, TaskDetail } from '../../api/types.ts';
import { quotedTier } from '../../parts/quote.ts';
import { extraChoices, extraValues, fittedExtra, type ExtraChoice, type ExtraTexts } from './extra-fields.ts';
import { NO_CHOICE, shapeOf, sizeLike, type LikeSize, type Pixels } from './reference-shape.ts';

/** Leaves a choice to the provider. */
const AUTO = 'auto';

/** Values of the form, named as in the API. */
export type ImageSettings = Readonly<
  Record<
    | 'model'
    | 'size'
    | 'resolution'
    | 'quality'
    | 'output_format'
    | 'background'
    | 'complexity'
    | 'frame_count'
    | 'frame_duration_ms',
    string
  >
> & {
  readonly n: number;
  /** Fields that only some models have. */
  readonly extra?: ExtraTexts;
};

/** Without a model: the default depends on the available ones. */
export const START: ImageSettings = {
  model: '',
  size: '1:1',
  resolution: '1k',
  quality: 'auto',
  output_format: 'png',
  background: 'auto',
  complexity: AUTO,
  frame_count: AUTO,
  frame_duration_ms: AUTO,
  n: 1,
};

const USUAL_MODEL = 'gpt-image-2';

/** The default model: one with a provider, if there is any. */
export function usualModel(models: readonly Model[]): string {
  const connected = models.filter(({ sandbox }) => !sandbox);
  const candidates = connected.length > 0 ? connected : models;
  return (candidates.find(({ id }) => id === USUAL_MODEL) ?? candidates[0])?.id ?? USUAL_MODEL;
}

/** Stands for the shape of the first reference image. */
export const REFERENCE_SHAPE = 'reference';

const SIZES = '1:1 3:2 2:3 4:3 3:4 5:4 4:5 16:9 9:16 2:1 1:2 21:9 9:21 auto'.split(' ');
const TIERS = ['1k', '2k', '4k'];
const QUALITIES = ['auto', 'low', 'medium', 'high'];
/** Formats without transparency. */
const OPAQUE_FORMATS = ['jpeg', 'gif'];
const FRAME_COUNTS = ['2', '4', '6', '9', '12', '16'];
const FRAME_TIMES = ['50', '100', '200', '500', '1000'];

/** The choices that a model accepts. */
export interface Choices {
  readonly sizes: readonly string[];
  readonly tiers: readonly string[];
  readonly qualities: readonly string[];
  readonly formats: readonly string[];
  readonly backgrounds: readonly string[];
  /** `auto` alone: the model has none. */
  readonly complexities: readonly string[];
  /** Of a GIF; `auto` alone: the image is not one that moves. */
  readonly frameCounts: readonly string[];
  readonly frameTimes: readonly string[];
  readonly extra: readonly ExtraChoice[];
  /** Maximum images per order. */
  readonly mostImages: number;
  /** Maximum reference images; 0: not accepted. */
  readonly mostReferences: number;
  readonly masks: boolean;
  readonly markup: boolean;
}

/** Maximum reference images of a model; 0: not accepted. */
export function mostReferencesOf(model: Model | undefined): number {
  return model?.capabilities.edits === false ? 0 : (model?.limits.images ?? 16);
}

/** `chosen` decides between choices that exclude each other. */
export function choicesOf(model: Model | undefined, isEdit: boolean, chosen: ImageSettings): Choices {
  const { capabilities, limits, transparency = true, frames = false } = model ?? {};
  const { sizes = SIZES, resolutions: tiers = TIERS, output_formats: formats = ['png'] } = capabilities ?? {};
  const moves = frames && chosen.output_format === 'gif';
  const isOpaque = !transparency || OPAQUE_FORMATS.includes(chosen.output_format);
  return {
    sizes: isEdit ? [REFERENCE_SHAPE, ...sizes] : sizes,
    tiers,
    formats,
    qualities: qualitiesOf(model, isEdit, chosen.quality),
    complexities: [AUTO, ...(capabilities?.complexities ?? [])],
    frameCounts: moves ? [AUTO, ...FRAME_COUNTS] : [AUTO],
    frameTimes: moves ? [AUTO, ...FRAME_TIMES] : [AUTO],
    backgrounds: isOpaque ? ['auto', 'opaque'] : ['auto', 'opaque', 'transparent'],
    extra: extraChoices(model),
    mostImages: chosen.output_format === 'svg' ? 1 : (limits?.n ?? 1),
    mostReferences: mostReferencesOf(model),
    masks: capabilities?.masks !== false,
    markup: capabilities?.markup === true,
  };
}

/** Adjusts settings to the choices. */
export function fitted(settings: ImageSettings, choices: Choices): ImageSettings {
  const usualSize = choices.sizes.find((size) => size !== 'auto' && size !== REFERENCE_SHAPE);
  return {
    model: settings.model,
    size: choices.sizes.includes(settings.size) ? settings.size : (usualSize ?? settings.size),
    resolution: ifListed(choices.tiers, settings.resolution),
    quality: ifListed(choices.qualities, settings.quality),
    output_format: ifListed(choices.formats, settings.output_format),
    background: ifListed(choices.backgrounds, settings.background),
    complexity: ifListed(choices.complexities, settings.complexity),
    frame_count: ifListed(choices.frameCounts, settings.frame_count),
    frame_duration_ms: ifListed(choices.frameTimes, settings.frame_duration_ms),
    n: Math.min(settings.n, choices.mostImages),
    extra: fittedExtra(settings.extra ?? {}, choices.extra),
  };
}

/** The size for the shape of the reference, if that is chosen. `reference`: its dimensions; null: unreadable. */
export function likeOf(settings: ImageSettings, model: Model | undefined, reference: Pixels | null | undefined) {
  if (settings.size !== REFERENCE_SHAPE) return undefined;
  return reference ? sizeLike(reference, model?.capabilities ?? {}, settings.resolution) : NO_CHOICE;
}

/** The order for adjusted settings; `like` as above. */
export function orderOf(
  prompt: string,
  settings: ImageSettings,
  like: LikeSize | undefined,
  extra: readonly ExtraChoice[] = [],
): ImageOrder {
  const { resolution, background, complexity, frame_count: frames, frame_duration_ms: frameMs, ...rest } = settings;
  const { n, extra: texts = {}, ...named } = rest;
  const size = like?.size ?? settings.size;
  return {
    ...named,
    prompt,
    size,
    n,
    extra: extraValues(texts, extra),
    // The tier has no meaning with a size in pixels.
    ...(size.includes('x') ? {} : { resolution }),
    ...(background === 'auto' ? {} : { background }),
    ...(complexity === AUTO ? {} : { complexity }),
    ...(frames === AUTO ? {} : { frame_count: Number(frames) }),
    ...(frameMs === AUTO ? {} : { frame_duration_ms: Number(frameMs) }),
  };
}

/** The order as a quote needs it. */
export function quotedOf({ model, size, quality, n, resolution }: ImageOrder, isEdit: boolean): QuotedOrder {
  return { model, size, quality, n, action: isEdit ? 'edit' : 'generation', ...quotedTier(resolution) };
}

/** The settings of a task. */
export function settingsOf(task: TaskDetail, before: ImageSettings): ImageSettings {
  const { quality, n, output_format: format, background, complexity } = task.options;
  const { frame_count: frames, frame_duration_ms: frameMs } = task.options;
  // Most clients send pixels, which have no field in the form.
  const shape = shapeOf(task.size, SIZES);
  return {
    model: task.model,
    size: shape?.size ?? task.size,
    n: typeof n === 'number' ? n : 1,
    resolution: task.resolution ?? shape?.resolution ?? before.resolution,
    quality: typeof quality === 'string' ? quality : 'auto',
    output_format: typeof format === 'string' ? format : before.output_format,
    background: typeof background === 'string' ? background : 'auto',
    complexity: typeof complexity === 'string' ? complexity : AUTO,
    frame_count: typeof frames === 'number' ? String(frames) : AUTO,
    frame_duration_ms: typeof frameMs === 'number' ? String(frameMs) : AUTO,
    // Among other options, which no model has as an extra field.
    extra: Object.fromEntries(Object.entries(task.options).map(([name, value]) => [name, String(value)])),
  };
}

/** Older names of qualities, and their newer equivalents. */
const NEWER_NAMES: Readonly<Record<string, string>> = { standard: 'medium', hd: 'high' };

/** The qualities to choose from, `auto` first; of two equivalent names, the newer one, unless the older is chosen. */
function qualitiesOf(model: Model | undefined, isEdit: boolean, chosen: string): readonly string[] {
  const { qualities, edit_qualities: forEdits } = model?.capabilities ?? {};
  const all = (isEdit ? forEdits : qualities) ?? QUALITIES;
  const listed = all.filter((quality) => quality === chosen || !all.includes(NEWER_NAMES[quality] ?? ''));
  return listed.includes('auto') ? ['auto', ...listed.filter((quality) => quality !== 'auto')] : listed;
}

/** The choice, or the first value if the list does not have it. */
function ifListed(values: readonly string[], choice: string): string {
  return values.includes(choice) ? choice : (values[0] ?? choice);
}
