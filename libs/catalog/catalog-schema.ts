import { OUTPUT_FORMATS, type OutputFormat } from '#contract/accepted-values.js';
import { IMAGE_SIZES, type ImageSize } from '#contract/pixel-table.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import { CHAT_EXTRAS } from './catalog.js';

/** Names of providers, models, and keys. */
export const ENTRY_NAME = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$';
const name = { type: 'string', pattern: ENTRY_NAME } as const;
const amount = { type: 'number', minimum: 0, description: 'In units of the currency.' } as const;

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
  [CURRENCY]: 'the three letters of a currency, such as USD',
};

const accepts = {
  type: 'object',
  additionalProperties: false,
  description:
    'Values that image requests may have; absent lists are those of gpt-image-2. All other values are a 400.',
  properties: {
    qualities: { type: 'array', minItems: 1, uniqueItems: true, items: quality },
    edit_qualities: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: quality,
      description: 'Qualities of edits, if they are not the same.',
    },
    output_formats: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { enum: OUTPUT_FORMATS },
      description: 'Requests that name none get png, or the first one if png is not listed.',
    },
    sizes: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { enum: IMAGE_SIZES },
      description:
        'Requests that name none get 1:1 (edits: auto), or the first one if that is not listed. What providers are asked for is a capability of routes.',
    },
    pixel_sizes: { type: 'boolean', description: 'Whether sizes in pixels (1024x1024) are accepted; default true.' },
    max_n: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_IMAGES,
      description:
        'Largest n, the images of one request; default 1. One route at least must return as many from one call.',
    },
  },
} as const;

const tierPrice = {
  description: 'One amount, or one for each quality; auto is what a quality that is not listed costs.',
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

const provider = {
  type: 'object',
  required: ['type'],
  additionalProperties: false,
  properties: {
    type: {
      enum: Object.keys(DESCRIPTORS),
      description: 'Which protocol it speaks.',
    },
    base_url: { type: 'string', pattern: BASE_URL, description: 'Without query and credentials.' },
    keys: {
      type: 'array',
      minItems: 1,
      description: 'Credentials that share the work, by the names of the environment variables that hold them.',
      items: {
        type: 'object',
        required: ['env'],
        additionalProperties: false,
        properties: {
          name: { ...name, description: 'What logs and timelines call it; the variable in lowercase when absent.' },
          env: { type: 'string', pattern: VARIABLE, description: 'Name of an environment variable.' },
        },
      },
    },
    limits: {
      type: 'object',
      additionalProperties: false,
      description: 'Held by all workers together.',
      properties: {
        concurrency: { type: 'integer', minimum: 1, description: 'Calls at a time.' },
        starts_per_minute: { type: 'integer', minimum: 1, description: 'Calls begun in a minute.' },
      },
    },
    interrupted: {
      enum: ['fail', 'retry'],
      description: 'What happens to a task whose call may have been charged but returned no image.',
    },
    free: { type: 'boolean', description: 'Whether no call is ever charged, as on hardware of your own.' },
    options: { type: 'object', description: 'What only its type knows; see docs/providers.md.' },
  },
} as const;

/** A provider in the console: its keys are stored encrypted in the database, so it names no environment variables. */
const consoleProvider = {
  ...provider,
  properties: {
    ...provider.properties,
    keys: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['name', 'sealed'],
        additionalProperties: false,
        properties: { name, sealed: { type: 'string' } },
      },
    },
  },
} as const;

const route = {
  type: 'object',
  required: ['provider'],
  additionalProperties: false,
  properties: {
    provider: { ...name, description: 'One of the providers above.' },
    model: { type: 'string', minLength: 1, description: "The provider's name of the model; ours when absent." },
    weight: {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      description: 'Routes with a weight that stand next to each other share the work by it.',
    },
    capabilities: {
      type: 'object',
      additionalProperties: false,
      properties: {
        edits: { type: 'boolean', description: 'Takes reference images.' },
        masks: { type: 'boolean' },
        images: { type: 'integer', minimum: 1, maximum: 16, description: 'Most reference images at a time.' },
        max_n: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_IMAGES,
          description: 'Most images that one call returns, where that is fewer than its type of provider can.',
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
    from: { type: 'string', pattern: DAY, description: 'First day it holds, UTC.' },
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
        'Share of per_image that an image costs if it is cancelled after a provider started it. Absent: all of it where that provider charges, else nothing.',
    },
    per_million_tokens: {
      type: 'object',
      description: 'Of image models: what their measured tokens cost, per_image being the most an image costs.',
      additionalProperties: false,
      required: ['input', 'output'],
      properties: {
        input: amount,
        cached_input: amount,
        output: amount,
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
      description: 'Other names for the model in requests; answers and tasks show its own name.',
    },
    owned_by: { type: 'string', minLength: 1 },
    accepts,
    routes: { type: 'array', minItems: 1, items: route, description: 'Tried in the order they stand.' },
    prices: {
      type: 'array',
      items: price,
      description: 'What callers pay. Absent: nothing where all providers are free, else the price is not known.',
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
export interface ProviderSource {
  type: string;
  base_url?: string;
  keys?: KeySource[];
  limits?: { concurrency?: number; starts_per_minute?: number };
  interrupted?: 'fail' | 'retry';
  free?: boolean;
  options?: Record<string, unknown>;
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
  accepts?: AcceptsSource;
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
  max_n?: number;
}

/** A route entry; without `model`, the provider uses our name of the model. */
export interface RouteSource {
  provider: string;
  model?: string;
  weight?: number;
  capabilities?: { edits?: boolean; masks?: boolean; images?: number; max_n?: number; sizes?: string[] };
}

/** Prices from a day on, in units of the catalog's currency. */
export interface PriceSource {
  from: string;
  per_image?: Record<string, number | Record<string, number>>;
  cancelled?: number;
  per_million_tokens?: { input: number; cached_input?: number; output: number; covers?: string[] };
}
