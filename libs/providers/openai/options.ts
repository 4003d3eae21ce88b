import { EXTRA_NAME } from '#contract/extra-fields.js';
import type { TakesExtra } from '../provider-descriptor.js';
import { callTimeouts, type CallTimeouts } from '../provider-options.js';

/** The `options` of entries of type `openai`; the OPENAI_... settings are the defaults. */
export interface OpenAiOptions extends CallTimeouts {
  readonly stream?: boolean;
  readonly response_format?: 'b64_json' | 'url';
  readonly masks?: 'inpainting' | 'white';
  readonly auto_size?: boolean;
  /**
   * Where the server expects the extra fields of requests, by their names there: a path of names with dots. Others are
   * left out. Absent: all of them are sent as they are.
   */
  readonly extra?: Readonly<Record<string, string>>;
  readonly organization?: string;
  readonly project?: string;
  readonly auth?: 'bearer' | 'api_key' | 'entra';
  readonly tenant?: string;
  readonly client_id?: string;
  readonly login_url?: string;
  readonly scope?: string;
  /** Only for chats. */
  readonly stream_usage?: boolean;
}

/** For fields of one server; the names before the last one are objects. */
const PATH = '^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*){0,3}$';

const NAME = { type: 'string', pattern: '^[\\x21-\\x7e]+$' };

/** Schema of the options of type `openai`. */
export const OPENAI_OPTIONS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    stream: { type: 'boolean', description: 'Whether images are requested as a stream, with partial images.' },
    response_format: { enum: ['b64_json', 'url'], description: 'How servers other than OpenAI return an image.' },
    masks: {
      enum: ['inpainting', 'white'],
      description:
        'Masks of the server are white where the image is repainted; inpainting: they go to /images/inpainting, as LocalAI expects.',
    },
    auto_size: {
      type: 'boolean',
      description: 'No: for servers that reject size auto. Images get the tier’s square, and edits no size.',
    },
    extra: {
      type: 'object',
      maxProperties: 32,
      propertyNames: { pattern: EXTRA_NAME },
      additionalProperties: { type: 'string', pattern: PATH },
      description:
        'The server’s names of the extra fields that it accepts, such as { "steps": "num_inference_steps" }; others are left out.',
    },
    organization: { ...NAME, description: 'Sent as OpenAI-Organization.' },
    project: { ...NAME, description: 'Sent as OpenAI-Project.' },
    auth: {
      enum: ['bearer', 'api_key', 'entra'],
      description:
        'How the key is sent: as a bearer token, in the header api-key (Azure), or as the secret of a client of Microsoft Entra, which issues tokens for it.',
    },
    tenant: {
      type: 'string',
      pattern: '^[A-Za-z0-9.-]{1,100}$',
      description: 'For entra: id or domain of the tenant.',
    },
    client_id: { type: 'string', pattern: '^[A-Za-z0-9-]{1,100}$', description: 'For entra: application (client) ID.' },
    login_url: {
      type: 'string',
      pattern: '^https?://[^\\s?#@]+$',
      description: 'For entra: where tokens are issued; default: https://login.microsoftonline.com.',
    },
    scope: {
      ...NAME,
      description: 'For entra: what tokens are for; default: https://cognitiveservices.azure.com/.default.',
    },
    stream_usage: {
      type: 'boolean',
      description: 'No: for chat servers that do not support stream_options.include_usage.',
    },
    ...callTimeouts,
  },
  if: { properties: { auth: { const: 'entra' } }, required: ['auth'] },
  then: { required: ['tenant', 'client_id'] },
} as const;

/** Whether a server with these options is sent a field of `extra`. */
export const takesExtra: TakesExtra = (name, { extra }) =>
  typeof extra !== 'object' || extra === null || Object.hasOwn(extra, name);
