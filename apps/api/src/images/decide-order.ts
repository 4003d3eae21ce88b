import { adaptationsFor, sendsExtra } from '#catalog/adaptations.js';
import { findModel, type Catalog, type ModelEntry } from '#catalog/catalog.js';
import {
  BASE_VALUES,
  usualValues,
  valueProblem,
  type AcceptedValues,
  type DefaultResponseFormat,
  type OutputFormat,
} from '#contract/accepted-values.js';
import { AppError } from '#contract/app-error.js';
import { extraFromText, extraProblem, type ExtraField, type ExtraValues } from '#contract/extra-fields.js';
import { assertFields } from '#contract/field-rule.js';
import { optionsOf, wellFormed } from '#contract/image-options.js';
import { DEFAULT_IMAGE_MODEL, type ImageOptions, type ImageReference } from '#contract/image-request.js';
import type { Text } from '#contract/long-text.js';
import { sentPlace } from '#contract/other-names.js';
import {
  DEFAULT_RESOLUTION,
  isImageSize,
  parsePixelSize,
  pixelsFor,
  type Pixels,
  type Resolution,
} from '#contract/pixel-table.js';
import { shownNames, whyIgnored } from '#contract/request-fields.js';
import { svgAuthor } from '#contract/svg-author.js';
import type { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { notConverted } from '#images/conversion.js';
import { assertServedIn } from '#routing/route-plan.js';
import { overlayOf, type TaskCommand, type TaskInput, type TaskOptions } from '#tasks/row/task.js';
import { mayUseModel, type Caller } from '../auth/caller.js';
import type { ApiConfig } from '../common/api.config.js';
import type { Asked, StoredFiles } from './asked.js';
import { maskWithMarkup } from './edit-form.js';
import { namedModel, servedModel } from './image-models.js';
import { plainName } from './image-query.js';

/** An image that a request refers to, and the field that does so, for errors. */
export type Reference = { readonly param: string; readonly markup?: true } & (
  | { readonly reference: Text; readonly fileId?: undefined }
  /** The id of an upload. */
  | { readonly fileId: string; readonly reference?: undefined }
);

/** A request that breaks no rule, with everything that the model and the API key say in place of what it leaves open. */
export interface Order extends Pick<TaskCommand, 'action' | 'model' | 'prompt' | 'options' | 'callbackUrl'> {
  /** Files that are stored already, or images that are yet to be found. */
  readonly images: StoredFiles | { readonly references: readonly Reference[]; readonly mask: Reference | undefined };
  /** How images are returned. */
  readonly format: DefaultResponseFormat;
  /** Whether the response is an event stream. */
  readonly streamed: boolean;
  /** Whether the task is kept after its caller has the image; for how many seconds, if not for as long as all. */
  readonly stored: boolean;
  readonly keepSeconds: number | undefined;
  /** Names of fields and files without an effect. */
  readonly ignored: readonly string[];
}

/** What decides besides the request and its caller. */
export interface Terms {
  readonly catalog: Catalog;
  readonly config: Pick<ApiConfig, 'allowPixelSize' | 'defaultResponseFormat'>;
  readonly egress: EgressConfig;
}

/** What the rules look at. */
interface Draft {
  readonly asked: Asked;
  readonly caller: Caller;
  readonly terms: Terms;
  /** Undefined for an unknown one, until a rule has refused that. */
  readonly model: ModelEntry | undefined;
  readonly accepts: AcceptedValues;
  /** Fields that only the model's entry knows, with what it allows. */
  readonly extras: readonly Extra[];
  /** As asked for, or what is usual for the model. */
  readonly size: string;
  readonly outputFormat: OutputFormat;
}

interface Extra {
  readonly name: string;
  readonly field: ExtraField;
  readonly value: unknown;
}

/** A request without options, to find out what a route can draw. */
const NOTHING_ASKED = {
  quality: null,
  moderation: null,
  inputFidelity: null,
  background: null,
  images: 0,
  mask: false,
} as const;

/** Throws AppError for a draft that breaks it. */
type Rule = (draft: Draft) => void;

/**
 * In the order in which they are reported. Checked elsewhere: the query, before the body is read (image-query.ts);
 * strictness, once the images are stored (`assertExact`); links to images, when those are stored (reference-images.ts). A
 * resolution beside a size in pixels, even an invalid one, breaks no rule: read-request.ts has dropped it.
 */
const RULES: readonly Rule[] = [
  nothingIgnoredThatChangesTheImage,
  pixelSizesWhereAllowed,
  servedModelOnly,
  validFields,
  validExtras,
  modelOfTheKey,
  regionOfTheModel,
  transparencyInItsFormats,
  markupWithoutMask,
  framesOfGifs,
  svgAlone,
  noStreamOfTasks,
  streamsInBase64,
  tasksInLinks,
  linesKeptForTheirBatch,
  publicCallback,
  editsHaveAnImage,
];

/** Decides what a request orders. Throws the AppError of the first rule that it breaks. */
export function decideOrder(asked: Asked, caller: Caller, terms: Terms): Order {
  const { action, fields } = asked;
  const model = namedModel(terms.catalog, fields.model);
  const accepts = model?.accepts ?? BASE_VALUES;
  const usual = usualValues(accepts, action);
  const size = fields.size ?? usual.size;
  const outputFormat = fields.output_format ?? usual.outputFormat;
  const extras = extrasOf(asked, model);
  const draft: Draft = { asked, caller, terms, model, accepts, extras, size, outputFormat };
  for (const rule of RULES) rule(draft);
  const sent = extras.filter((extra) => isSent(extra, draft));
  const unknown = asked.ignored.filter((name) => !sent.some((extra) => extra.name === name));
  const ignored = [...unknown, ...withoutEffect(draft)];
  return {
    action,
    model: model?.name ?? DEFAULT_IMAGE_MODEL,
    prompt: wellFormed(fields.prompt),
    options: taskOptions({ ...draft, extras: sent }, ignored),
    callbackUrl: fields.callback_url ?? null,
    images: asked.files ?? referencesIn(asked),
    format: fields.response_format ?? caller.defaultResponseFormat ?? terms.config.defaultResponseFormat,
    streamed: fields.stream === true,
    stored: fields.store !== false,
    keepSeconds: fields.expires_after ?? caller.keepSeconds,
    ignored,
  };
}

/**
 * The rule that needs the stored images. Throws AppError `unsupported_parameter` when a strict request has unknown
 * fields, or none of the model's routes can fulfill it exactly; `invalid_value` when that is because of its size,
 * `unsupported_image_media_type` when one of its images would be converted.
 */
export function assertExact(
  { options, action, model }: Order,
  inputs: readonly TaskInput[],
  mask: TaskInput | null,
  catalog: Catalog,
): void {
  if (options.strict !== true) return;
  const [unknown] = options.ignored ?? [];
  if (unknown !== undefined) throw notExact(`${whyIgnored(unknown)}.`, unknown);
  for (const input of inputs) {
    if (input.kind !== 'object' || input.convert === undefined) continue;
    const { code, message } = notConverted(input.convert);
    throw new AppError(code, message, { param: input.param });
  }
  const ask = { ...options, action, images: inputs.length, ...overlayOf({ mask }) };
  const routes = findModel(catalog, model)?.ranks.flat() ?? [];
  const found = routes.map((route) => adaptationsFor(route, catalog.providers.get(route.provider), ask));
  // Reports the problem of the route with the fewest problems.
  const [fewest] = found.sort((a, b) => a.length - b.length);
  if (fewest?.[0] !== undefined) throw notExact(fewest[0].what, fewest[0].param);
}

/**
 * By plain name. If these were ignored, the caller would pay for a different image, or for one that was only to be
 * quoted.
 */
const NOT_TO_IGNORE: Readonly<Record<string, string>> = {
  markup: 'markup is drawn over the first image of an edit: send both to /v1/images/edits.',
  dryrun: 'dry_run belongs in the query: add ?dry_run=true to the URL.',
  strict: 'Unknown field. Did you mean strict?',
};

function nothingIgnoredThatChangesTheImage({ asked }: Draft): void {
  for (const param of asked.ignored) {
    // A form sends the members of an object as svg[model].
    const name = plainName(param.replace(/\[.*/s, ''));
    const text = Object.hasOwn(NOT_TO_IGNORE, name) ? NOT_TO_IGNORE[name] : undefined;
    if (text !== undefined) throw new AppError('unsupported_parameter', text, { param });
  }
}

/** Of generations; a value that is not a string is left to other rules. */
function pixelSizesWhereAllowed({ asked, caller, accepts: { sizes }, terms: { config } }: Draft): void {
  if (asked.action === 'edit' || (caller.allowPixelSize ?? config.allowPixelSize)) return;
  const size: unknown = asked.fields.size;
  if (typeof size !== 'string' || sizes.some((one) => one === size)) return;
  throw invalid('size', `size must be one of ${sizes.join(', ')}; this API key does not accept sizes in pixels`);
}

function servedModelOnly({ asked, terms: { catalog } }: Draft): void {
  servedModel(catalog, asked.fields.model);
}

/** The rules of the request class, and the values that the model accepts. */
function validFields({ asked: { action, fields }, accepts }: Draft): void {
  assertFields(fields, (field, value) => valueProblem(accepts, action, field, value));
}

/** The unknown fields that the model's entry allows; a form sends numbers and flags as texts. */
function extrasOf({ unknown, files }: Asked, model: ModelEntry | undefined): Extra[] {
  return [...unknown].flatMap(([name, sent]) => {
    const field = model?.extra.get(name);
    if (field === undefined) return [];
    const value = files !== undefined && typeof sent === 'string' ? extraFromText(field, sent) : sent;
    return [{ name, field, value }];
  });
}

function validExtras({ extras }: Draft): void {
  for (const { name, field, value } of extras) {
    const problem = extraProblem(field, name, value);
    if (problem) throw new AppError(problem.code, problem.message, { param: name });
  }
}

/** Whether a route can do something with it. Of a strict request, it is reported like any other option (`assertExact`). */
function isSent({ name }: Extra, { asked: { action, fields, files }, model, terms: { catalog } }: Draft): boolean {
  if (model === undefined || fields.strict === true) return true;
  const withImages = action === 'edit' || files !== undefined || (fields.image_urls?.length ?? 0) > 0;
  return sendsExtra(model, catalog, name, withImages);
}

function modelOfTheKey({ caller, model }: Draft): void {
  if (model === undefined || mayUseModel(caller, model)) return;
  throw new AppError('model_not_allowed', 'This API key may not use the model.', { param: 'model' });
}

function regionOfTheModel({ caller, model, terms: { catalog } }: Draft): void {
  if (model !== undefined) assertServedIn(model, catalog, caller.region);
}

function transparencyInItsFormats({ asked: { fields }, outputFormat }: Draft): void {
  if (fields.background !== 'transparent' || outputFormat !== 'jpeg') return;
  throw invalid('background', 'background transparent needs output_format png, webp or gif.');
}

/** Of a form, its reader says so. */
function markupWithoutMask({ asked: { fields } }: Draft): void {
  if (fields.mask !== undefined && fields.markup !== undefined) throw maskWithMarkup();
}

/**
 * Whoever asks for frames must not get a still image, which is all that is left of a GIF of another size, nor a whole
 * new one where a mask leaves most of it alone.
 */
function framesOfGifs({ asked: { action, fields, files }, model, terms, size, outputFormat }: Draft): void {
  const param = (['frame_count', 'frame_duration_ms'] as const).find((name) => fields[name] !== undefined);
  if (param === undefined) return;
  if (outputFormat !== 'gif') throw unsupported(param, `${param} needs output_format gif.`);
  if (fields.mask !== undefined || overlayOf({ mask: files?.mask ?? null }).mask)
    throw unsupported(param, `${param} can't be combined with a mask.`);
  const ask = { ...NOTHING_ASKED, action, pixels: frameOf(size, fields).pixels };
  const problems = (model?.ranks.flat() ?? []).map((route) =>
    adaptationsFor(route, terms.catalog.providers.get(route.provider), ask).find((found) => found.param === 'size'),
  );
  const [first] = problems;
  if (first === undefined || problems.includes(undefined)) return;
  throw invalid('size', `A GIF loses its frames when it is resized. ${first.what}`);
}

/** One document, which is whole or nothing. */
function svgAlone({ asked: { fields }, outputFormat }: Draft): void {
  if (outputFormat !== 'svg') {
    if (fields.svg !== undefined) throw unsupported('svg', 'svg needs output_format svg.');
    return;
  }
  if (fields.n !== undefined && fields.n > 1) throw unsupported('n', 'output_format svg needs n = 1.');
  const param = fields.stream === true ? 'stream' : fields.partial_images ? 'partial_images' : undefined;
  if (param !== undefined) throw unsupported(param, `${param} can't be combined with output_format svg.`);
}

function noStreamOfTasks({ asked: { fields, asksForTask } }: Draft): void {
  if (fields.stream !== true || !asksForTask) return;
  throw invalid('stream', 'stream cannot be true: this request returns a task.');
}

function streamsInBase64({ asked: { fields } }: Draft): void {
  if (fields.stream !== true || fields.response_format !== 'url') return;
  throw invalid('response_format', 'response_format must be b64_json if stream is true.');
}

function tasksInLinks({ asked: { fields, asksForTask, batchId } }: Draft): void {
  if (!asksForTask || batchId !== undefined || fields.response_format !== 'b64_json') return;
  throw invalid('response_format', 'response_format must be url: tasks return links.');
}

/** Links to its images are in the results, which are written when the last line of the batch has ended. */
function linesKeptForTheirBatch({ asked: { fields, batchId } }: Draft): void {
  if (batchId === undefined) return;
  if (fields.store === false)
    throw invalid('store', 'store cannot be false: the images would be deleted before the batch has ended.');
  if (fields.expires_after !== undefined)
    throw unsupported('expires_after', 'expires_after is not supported in a batch: the results need the images.');
}

function publicCallback({ asked: { fields }, terms: { egress } }: Draft): void {
  const problem = fields.callback_url && publicUrlProblem(fields.callback_url, egress, { httpsOnly: true });
  if (problem) throw invalid('callback_url', problem);
}

/** Of JSON, the request class says so. */
function editsHaveAnImage({ asked: { files } }: Draft): void {
  if (files?.images.length !== 0) return;
  throw new AppError('missing_required_parameter', "Missing required parameter: 'image'.", { param: 'image' });
}

/** Formats to which `output_compression` applies. */
const COMPRESSED: readonly OutputFormat[] = ['jpeg', 'webp'];

/** Names of valid fields that have no effect together with the others, or with the model. */
function withoutEffect({ asked: { fields }, accepts, outputFormat }: Draft): string[] {
  return [
    ...(fields.output_compression === undefined || COMPRESSED.includes(outputFormat) ? [] : ['output_compression']),
    ...(fields.input_fidelity === undefined || accepts.inputFidelities.length > 0 ? [] : ['input_fidelity']),
  ];
}

function taskOptions(
  { asked: { fields }, caller: { region }, extras, size, outputFormat }: Draft,
  ignored: readonly string[],
): TaskOptions {
  const effective = ignored.includes('input_fidelity') ? { ...fields, input_fidelity: null } : fields;
  return {
    ...frameOf(size, fields),
    ...optionsOf({ ...effective, output_format: outputFormat, svg: svgAuthor(fields.svg) }),
    ...(extras.length === 0 ? {} : { extra: extraValues(extras) }),
    ...(fields.n === undefined || fields.n === 1 ? {} : { n: fields.n }),
    ...(fields.stream === true && fields.partial_images ? { partialImages: fields.partial_images } : {}),
    ...(fields.strict === true ? { strict: true } : {}),
    ...(region === undefined ? {} : { region }),
    ...(ignored.length === 0 ? {} : { ignored: shownNames(ignored) }),
  };
}

/** Of valid ones. */
function extraValues(extras: readonly Extra[]): ExtraValues {
  return Object.fromEntries(extras.map(({ name, value }) => [name, wellFormed(value) as ExtraValues[string]]));
}

type Frame = Pick<TaskOptions, 'size' | 'resolution'> & { pixels: Pixels | null };

/** The frame for a valid size; a size in pixels needs no resolution. */
export function frameOf(size: string, fields: Pick<ImageOptions, 'resolution'>): Frame {
  if (!isImageSize(size)) return { size, resolution: null, pixels: parsePixelSize(size) ?? null };
  const resolution = (fields.resolution ?? DEFAULT_RESOLUTION) as Resolution;
  return { size, resolution, pixels: pixelsFor(size, resolution) };
}

/** A generation names its images in `image_urls`, an edit in `images`, and `mask` or `markup`. */
function referencesIn({ fields, sentAs }: Asked): Exclude<Order['images'], StoredFiles> {
  const { image_urls: urls, images = [], mask, markup } = fields;
  const named = (one: Reference): Reference => ({ ...one, param: sentPlace(one.param, sentAs) });
  const references = (
    urls?.map((reference, index) => ({ reference, param: `image_urls[${index}]` })) ??
    images.map((image, index) => referenceIn(image, `images[${index}]`))
  ).map(named);
  if (markup !== undefined) return { references, mask: { ...named(referenceIn(markup, 'markup')), markup: true } };
  return { references, mask: mask && named(referenceIn(mask, 'mask')) };
}

/** Of a valid item, which has either. */
function referenceIn({ image_url: reference = '', file_id: fileId }: ImageReference, place: string): Reference {
  if (fileId) return { fileId, param: `${place}.file_id` };
  return { reference, param: `${place}.image_url` };
}

function notExact(what: string, param: string): AppError {
  const text = `${what} With strict: true, nothing is adapted or ignored: change the field, or omit strict.`;
  return new AppError(param === 'size' ? 'invalid_value' : 'unsupported_parameter', text, { param });
}

function unsupported(param: string, text: string): AppError {
  return new AppError('unsupported_parameter', text, { param });
}

function invalid(param: string, text: string): AppError {
  return new AppError('invalid_value', text, { param });
}
