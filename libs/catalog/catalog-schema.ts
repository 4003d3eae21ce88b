import { COMPLEXITIES, INPUT_FIDELITIES, OUTPUT_FORMATS, type OutputFormat } from '#contract/accepted-values.js';
import { EXTRA_NAME, type ExtraField } from '#contract/extra-fields.js';
import { IMAGE_SIZES, type ImageSize } from '#contract/pixel-table.js';
import { REGION_NAME } from '#contract/region.js';
import type { ClassPrices } from '#contract/token-classes.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import { CHAT_EXTRAS } from './catalog.js';

/** Names of providers, models, and keys. */
export const ENTRY_NAME = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$';
const name = { type: 'string', pattern: ENTRY_NAME } as const;
const amount = { type: 'number', minimum: 0, description: 'Amount in the currency of the installation.' } as const;

/** Maximum images of one request, the same as in OpenAI's API. */
const MAX_IMAGES = 10;

const QUALITY = '^[a-z0-9][a-z0-9_-]{0,31}$';
const quality = { type: 'string', pattern: QUALITY } as const;
const BASE_URL = '^https?://[^\\s?#@]+$';
const VARIABLE = '^[A-Z_][A-Z0-9_]*$';
const SIZE = '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$';
const DAY = '^\\d{4}-\\d{2}-\\d{2}$';
const CURRENCY = '^[A-Z]{3}$';

/** Explains each pattern in error messages. */
export const PATTERN_MEANINGS: Readonly<Record<string, string>> = {
  [ENTRY_NAME]: 'up to 100 letters, digits, and . _ : -, and begin with a letter or digit',
  [QUALITY]: 'up to 32 lowercase letters, digits, _ and -, and begin with a letter or digit',
  [BASE_URL]: 'a URL that begins with http:// or https://, without spaces, a user name, a query, or a fragment',
  [VARIABLE]: 'the name of an environment variable: capital letters, digits, and _',
  [SIZE]: 'a size in pixels, such as 1024x1536',
  [DAY]: 'a day, such as 2026-01-31',
  [EXTRA_NAME]: 'up to 64 lowercase letters, digits and _, and begin with a letter',
  [REGION_NAME]: 'up to 32 lowercase letters, digits and -, and begin with a letter or digit',
  [CURRENCY]: 'the three letters of a currency, such as USD',
};

const accepts = {
  type: 'object',
  additionalProperties: false,
  description: 'Values accepted in image requests; other values get a 400. Default: those of gpt-image-2.',
  properties: {
    qualities: { type: 'array', minItems: 1, uniqueItems: true, items: quality },
    edit_qualities: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: quality,
      description: 'Qualities accepted in edits, if different.',
    },
    output_formats: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { enum: OUTPUT_FORMATS },
      description: 'Default of requests: png, or the first one if png is not listed.',
    },
    sizes: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { enum: IMAGE_SIZES },
      description:
        'Default of requests: 1:1 (edits: auto), or the first one if that is not listed. Sizes requested from providers are set in the capabilities of routes.',
    },
    pixel_sizes: { type: 'boolean', description: 'Whether sizes in pixels (1024x1024) are accepted; default true.' },
    complexities: {
      type: 'array',
      uniqueItems: true,
      items: { enum: COMPLEXITIES },
      description: 'Values of complexity. Default: none; requests with the field get a 400.',
    },
    input_fidelities: {
      type: 'array',
      uniqueItems: true,
      items: { enum: INPUT_FIDELITIES },
      description: 'Values of input_fidelity in edits. Empty: the field is ignored, because it would change nothing.',
    },
    max_n: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_IMAGES,
      description:
        'Maximum n, the number of images per request; default 1. At least one route must return that many from one call.',
    },
  },
} as const;

const bound = { type: 'number' } as const;

const extra = {
  type: 'object',
  maxProperties: 32,
  propertyNames: { pattern: EXTRA_NAME },
  description: 'Further fields of image requests, which are checked and sent to the providers that accept them.',
  additionalProperties: {
    type: 'object',
    required: ['type'],
    additionalProperties: false,
    properties: {
      type: { enum: ['integer', 'number', 'string', 'boolean'] },
      min: { ...bound, description: 'Numbers need min and max.' },
      max: bound,
      enum: {
        type: 'array',
        minItems: 1,
        uniqueItems: true,
        items: { type: 'string', maxLength: 200 },
        description: 'Accepted texts; texts need enum or max_length.',
      },
      max_length: { type: 'integer', minimum: 1, maximum: 32_000 },
    },
  },
} as const;

const tierPrice = {
  description: 'One amount, or one per quality; auto applies to qualities that are not listed.',
  anyOf: [
    amount,
    {
      type: 'object',
      properties: { auto: amount, low: amount, medium: amount, high: amount },
      required: ['auto'],
      propertyNames: quality,
      additionalProperties: amount,
    },
  ],
} as const;

/** What a server has, and a provider that is a single server. */
const serverFields = {
  base_url: { type: 'string', pattern: BASE_URL, description: 'Base URL, without query and credentials.' },
  keys: {
    type: 'array',
    minItems: 1,
    description: 'API keys that share the load, given as names of environment variables.',
    items: {
      type: 'object',
      required: ['env'],
      additionalProperties: false,
      properties: {
        name: { ...name, description: 'Name shown in logs and timelines; default: the variable name in lowercase.' },
        env: { type: 'string', pattern: VARIABLE, description: 'Name of an environment variable.' },
      },
    },
  },
  limits: {
    type: 'object',
    additionalProperties: false,
    description: 'Limits across all workers.',
    properties: {
      concurrency: { type: 'integer', minimum: 1, description: 'Maximum concurrent calls.' },
      starts_per_minute: { type: 'integer', minimum: 1, description: 'Maximum calls started per minute.' },
    },
  },
  region: {
    type: 'string',
    pattern: REGION_NAME,
    description: 'Where images are generated; requests can be pinned to it.',
  },
} as const;

/** The list of a provider's servers; `fields` is what each of them has besides its name. */
const serverList = <Fields extends object>(fields: Fields) =>
  ({
    type: 'array',
    minItems: 1,
    maxItems: 32,
    description: 'Equal servers that share the load, instead of one base_url.',
    items: {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: { name: { ...name, description: 'Name shown in logs, metrics and timelines.' }, ...fields },
    },
  }) as const;

const provider = {
  type: 'object',
  required: ['type'],
  additionalProperties: false,
  properties: {
    type: {
      enum: Object.keys(DESCRIPTORS),
      description: 'Protocol of the provider.',
    },
    ...serverFields,
    servers: serverList(serverFields),
    interrupted: {
      enum: ['fail', 'retry'],
      description: 'What happens to a task whose call may have been charged but returned no image.',
    },
    free: { type: 'boolean', description: 'Whether calls are never charged, for example on your own hardware.' },
    webhook_secret: {
      type: 'object',
      required: ['env'],
      additionalProperties: false,
      description: 'Signing secret of its webhooks about end users, which are then accepted. Type openai.',
      properties: { env: { type: 'string', pattern: VARIABLE, description: 'Name of an environment variable.' } },
    },
    options: { type: 'object', description: 'Options of the provider type; see docs/providers.md.' },
  },
} as const;

/** Keys in the console are stored encrypted in the database, so they name no environment variables. */
const sealedKey = {
  type: 'object',
  required: ['name', 'sealed'],
  additionalProperties: false,
  properties: { name, sealed: { type: 'string' } },
} as const;
const sealedKeys = { type: 'array', minItems: 1, items: sealedKey } as const;

/** A provider in the console. */
const consoleProvider = {
  ...provider,
  properties: {
    ...provider.properties,
    keys: sealedKeys,
    webhook_secret: sealedKey,
    servers: serverList({ ...serverFields, keys: sealedKeys }),
  },
} as const;

const route = {
  type: 'object',
  required: ['provider'],
  additionalProperties: false,
  properties: {
    provider: { ...name, description: 'One of the providers above.' },
    model: { type: 'string', minLength: 1, description: 'Model name at the provider; default: the name of the model.' },
    region: {
      type: 'string',
      pattern: REGION_NAME,
      description: 'Only servers of this region; where they name none, the region of the route.',
    },
    weight: {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      description: 'Adjacent routes with weights share the load in proportion.',
    },
    capabilities: {
      type: 'object',
      additionalProperties: false,
      properties: {
        edits: { type: 'boolean', description: 'Whether it accepts reference images.' },
        masks: { type: 'boolean' },
        markup: {
          type: 'boolean',
          description: 'Whether it accepts markup, an image drawn over the first one. Types openai and sandbox.',
        },
        images: { type: 'integer', minimum: 1, maximum: 16, description: 'Maximum reference images per call.' },
        max_n: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_IMAGES,
          description: 'Maximum images per call, if fewer than the provider type supports.',
        },
        sizes: { type: 'array', minItems: 1, items: { type: 'string', pattern: SIZE } },
      },
    },
  },
} as const;

const price = {
  type: 'object',
  required: ['from'],
  additionalProperties: false,
  properties: {
    from: { type: 'string', pattern: DAY, description: 'First day it applies, in UTC.' },
    per_image: {
      type: 'object',
      additionalProperties: false,
      required: ['1k', '2k', '4k'],
      properties: { '1k': tierPrice, '2k': tierPrice, '4k': tierPrice },
    },
    cancelled: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      description:
        'Share of per_image charged if a task is cancelled after a provider started. Default: all of it if the provider charges, else nothing.',
    },
    per_million_tokens: {
      type: 'object',
      description:
        'Price of the tokens used. Image models: per_image is then the maximum cost of an image; without it, there is none. Classes without a price cost as much as the next one that has it.',
      additionalProperties: false,
      required: ['input', 'output'],
      properties: {
        input: { ...amount, description: 'Text that the model reads.' },
        cached_input: { ...amount, description: 'Text from the provider’s cache; default: input.' },
        image_input: { ...amount, description: 'Images that the model reads; default: input.' },
        cached_image_input: { ...amount, description: 'Images from the provider’s cache; default: image_input.' },
        output: { ...amount, description: 'What the model writes: text of chat models, images of image models.' },
        text_output: { ...amount, description: 'Text of image models; default: output.' },
        svg_input: { ...amount, description: 'What the author of an SVG reads; default: svg_output.' },
        svg_output: { ...amount, description: 'What the author of an SVG writes; default: output.' },
        covers: {
          type: 'array',
          items: { enum: CHAT_EXTRAS },
          uniqueItems: true,
          description:
            'Chat models: request fields that can raise the cost of a chat and are still accepted at this price.',
        },
      },
    },
  },
} as const;

const model = {
  type: 'object',
  required: ['kind', 'routes'],
  additionalProperties: false,
  properties: {
    kind: { enum: ['image', 'chat'] },
    aliases: {
      type: 'array',
      items: name,
      uniqueItems: true,
      description: 'Other names for the model in requests; responses and tasks show the model’s own name.',
    },
    owned_by: { type: 'string', minLength: 1 },
    shutdown_date: {
      type: 'string',
      pattern: DAY,
      description:
        'First day, in UTC, on which requests for the model are refused. Operators are warned 30 days before.',
    },
    successors: {
      type: 'array',
      items: name,
      uniqueItems: true,
      description: 'Models to use instead of one with a shutdown_date; named in the error.',
    },
    accepts,
    extra,
    routes: { type: 'array', minItems: 1, items: route, description: 'Tried in the listed order.' },
    prices: {
      type: 'array',
      items: price,
      description: 'Price for callers. Absent = free if all providers are free, else unknown.',
    },
  },
} as const;

/** Schema of models.yaml; models.schema.json is a copy for editors. */
export const CATALOG_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Models and providers of Darkroom',
  type: 'object',
  required: ['providers', 'models'],
  additionalProperties: false,
  properties: {
    currency: { type: 'string', pattern: CURRENCY, default: 'USD' },
    providers: { type: 'object', minProperties: 1, propertyNames: name, additionalProperties: provider },
    models: {
      type: 'object',
      minProperties: 1,
      propertyNames: name,
      additionalProperties: model,
    },
  },
} as const;

/** Schema of the console's entries: like models.yaml's providers and models, but both may be empty. */
export const CONSOLE_SCHEMA = {
  type: 'object',
  required: ['providers', 'models'],
  additionalProperties: false,
  properties: {
    providers: { type: 'object', propertyNames: name, additionalProperties: consoleProvider },
    models: { type: 'object', propertyNames: name, additionalProperties: model },
  },
} as const;

/** A file that matches the schema. */
export interface CatalogFile {
  currency?: string;
  providers: Record<string, ProviderSource>;
  models: Record<string, ModelSource>;
}

/** A provider entry, with the file's field names. */
export interface ProviderSource extends Omit<ServerSource, 'name'> {
  type: string;
  servers?: ServerSource[];
  interrupted?: 'fail' | 'retry';
  free?: boolean;
  webhook_secret?: KeySource;
  options?: Record<string, unknown>;
}

/** One of a provider's equal servers, with the file's field names. */
export interface ServerSource {
  name: string;
  base_url?: string;
  keys?: KeySource[];
  limits?: { concurrency?: number; starts_per_minute?: number };
  region?: string;
}

/** A key, identified by its environment variable or its database row. */
export type KeySource = { name?: string; env: string } | { name: string; sealed: string };

/** The console's entries, with the file's field names. */
export type ConsoleEntries = Pick<CatalogFile, 'providers' | 'models'>;

/** A model entry, with the file's field names. */
export interface ModelSource {
  kind: 'image' | 'chat';
  aliases?: string[];
  owned_by?: string;
  shutdown_date?: string;
  successors?: string[];
  accepts?: AcceptsSource;
  extra?: Record<string, ExtraField>;
  routes: RouteSource[];
  prices?: PriceSource[];
}

/** Values that a model accepts, with the file's field names. */
interface AcceptsSource {
  qualities?: string[];
  edit_qualities?: string[];
  output_formats?: OutputFormat[];
  sizes?: ImageSize[];
  pixel_sizes?: boolean;
  complexities?: string[];
  input_fidelities?: string[];
  max_n?: number;
}

/** A route entry; without `model`, the provider uses our name of the model. */
export interface RouteSource {
  provider: string;
  model?: string;
  region?: string;
  weight?: number;
  capabilities?: {
    edits?: boolean;
    masks?: boolean;
    markup?: boolean;
    images?: number;
    max_n?: number;
    sizes?: string[];
  };
}

/** Prices from a day on, in units of the catalog's currency. */
export interface PriceSource {
  from: string;
  per_image?: Record<string, number | Record<string, number>>;
  cancelled?: number;
  per_million_tokens?: ClassPrices & { covers?: string[] };
}
