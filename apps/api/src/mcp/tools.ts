import type { Tool } from '@modelcontextprotocol/server';
import { BACKGROUNDS, DEFAULT_IMAGE_MODEL } from '#contract/image-request.js';
import { MAX_REFERENCE_IMAGES, UPLOAD_ID } from '#contract/image-reference.js';
import type { ModelCapabilities, ModelView } from '#contract/model-view.js';
import { RESOLUTIONS } from '#contract/pixel-table.js';
import { MAX_PROMPT_LENGTH } from '#contract/text-rules.js';

/** Longest wait of a call in seconds: clients give up after a minute, and the preview takes some seconds more. */
export const MAX_WAIT_SECONDS = 40;

export type ToolName = 'generate_image' | 'edit_image' | 'get_image' | 'cancel_image' | 'quote_image' | 'list_models';

type Schema = Readonly<Record<string, unknown>>;

const ID: Schema = { type: 'string', description: 'id of the task, from generate_image or edit_image (task_...).' };
const FULL: Schema = {
  type: 'boolean',
  default: false,
  description: 'Also return the whole image as base64, up to 4 MiB. Only if you cannot open links.',
};
const KEY: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'Calls with the same key get the same image for 24 hours. Without it, an equal call gets the same image while the first one runs or its result was not delivered. Send a new one for another image of the same prompt.',
};

/** The tools, with the values that the caller's models accept. */
export function toolsFor(models: readonly ModelView[]): Tool[] {
  const images = models.filter(({ supported_endpoint_types: types }) => types.includes('image-generation'));
  const generation = optionsFor(images, 'qualities');
  const edit = {
    ...optionsFor(
      images.filter(({ capabilities }) => capabilities.edits === true),
      'edit_qualities',
    ),
    images: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_REFERENCE_IMAGES,
      description: `The images to edit: http(s) links, base64 data URIs, ids of finished tasks (task_...), or ids of uploads (${UPLOAD_ID.source}).`,
    },
    mask: {
      type: 'string',
      description:
        'PNG of the size of the first image; its transparent pixels mark what to edit. A link, a data URI, or the id of an upload.',
    },
  };
  return [
    tool('generate_image', 'Generate an image', PAID, {
      description:
        'Generates an image from a prompt. Paid. Answers with the image, or after 40 seconds with the id to pass to get_image.',
      properties: { ...generation, idempotency_key: KEY, full: FULL },
      required: ['prompt'],
    }),
    tool('edit_image', 'Edit images', PAID, {
      description:
        'Edits or combines images with a prompt. Paid. Answers with the image, or after 40 seconds with the id to pass to get_image.',
      properties: { ...edit, idempotency_key: KEY, full: FULL },
      required: ['prompt', 'images'],
    }),
    tool('get_image', 'Get an image', READS, {
      description: 'Returns an image by the id of its task, or how far it is. Free; call it as often as needed.',
      properties: {
        id: ID,
        wait_seconds: {
          type: 'integer',
          minimum: 0,
          maximum: MAX_WAIT_SECONDS,
          default: MAX_WAIT_SECONDS,
          description: 'How long to wait for an image that is not ready.',
        },
        full: FULL,
      },
      required: ['id'],
    }),
    tool('cancel_image', 'Cancel an image', CANCELS, {
      description:
        'Cancels an image that is not ready, and stops its provider. One that has started may still be charged.',
      properties: { id: ID },
      required: ['id'],
    }),
    tool('quote_image', 'Quote an image', READS, {
      description:
        'Checks the arguments of generate_image, or with images those of edit_image, and says what it would cost and whether the budget allows it. Buys nothing.',
      properties: { ...edit, ...generation },
      required: ['prompt'],
    }),
    tool('list_models', 'List image models', READS, {
      description: 'Lists the image models of this key with their sizes, qualities, formats, and prices.',
      properties: {},
      required: [],
    }),
  ];
}

const PAID = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };
const READS = { readOnlyHint: true, openWorldHint: false };
const CANCELS = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false };

interface Described {
  readonly description: string;
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
}

function tool(
  name: ToolName,
  title: string,
  annotations: Tool['annotations'],
  { description, properties, required }: Described,
): Tool {
  return {
    name,
    title,
    description,
    annotations,
    inputSchema: {
      type: 'object',
      properties: properties as Tool['inputSchema']['properties'],
      required: [...required],
    },
  };
}

/** The options that generations and edits share. Models differ, so each lists what any of them accepts. */
function optionsFor(models: readonly ModelView[], qualities: 'qualities' | 'edit_qualities'): Record<string, Schema> {
  const names = models.map(({ id }) => id);
  const all = (list: keyof ModelCapabilities): string[] => [
    ...new Set(models.flatMap(({ capabilities }) => (capabilities[list] as string[] | undefined) ?? [])),
  ];
  const most = Math.max(1, ...models.map(({ limits }) => limits.n ?? 1));
  const sizes = all('sizes');
  const takesPixels = models.some(({ capabilities }) => capabilities.pixel_sizes !== undefined);
  const complexities = all('complexities');
  return {
    prompt: { type: 'string', minLength: 1, maxLength: MAX_PROMPT_LENGTH, description: 'What the image shows.' },
    model: { type: 'string', enum: names, default: defaultModel(names), description: 'See list_models.' },
    size: takesPixels
      ? {
          type: 'string',
          description: `One of ${sizes.join(', ')}, or a size in pixels such as 1536x1024 (edges of 64 to 3840).`,
        }
      : { type: 'string', enum: sizes },
    resolution: {
      type: 'string',
      enum: [...RESOLUTIONS],
      default: '2k',
      description: 'How large a ratio is drawn; it decides the price. Ignored if size is in pixels.',
    },
    quality: { type: 'string', enum: all(qualities), description: 'Higher ones cost more.' },
    output_format: { type: 'string', enum: all('output_formats'), default: 'png' },
    background: { type: 'string', enum: [...BACKGROUNDS], description: 'transparent needs png, webp or gif.' },
    ...(complexities.length === 0 ? {} : { complexity: { type: 'string', enum: complexities } }),
    ...(most === 1 ? {} : { n: { type: 'integer', minimum: 1, maximum: most, default: 1 } }),
  };
}

/** The model of a call that names none. */
export function defaultModel(names: readonly string[]): string {
  return names.includes(DEFAULT_IMAGE_MODEL) ? DEFAULT_IMAGE_MODEL : (names[0] ?? DEFAULT_IMAGE_MODEL);
}
