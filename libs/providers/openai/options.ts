import { callTimeouts, type CallTimeouts } from '../provider-options.js';

/** The `options` of entries of type `openai`; the OPENAI_... settings are the defaults. */
export interface OpenAiOptions extends CallTimeouts {
  readonly stream?: boolean;
  readonly response_format?: 'b64_json' | 'url';
  readonly masks?: 'inpainting';
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

const NAME = { type: 'string', pattern: '^[\\x21-\\x7e]+$' };

/** Schema of the options of type `openai`. */
export const OPENAI_OPTIONS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    stream: { type: 'boolean', description: 'Whether images are requested as a stream, with partial images.' },
    response_format: { enum: ['b64_json', 'url'], description: 'How servers other than OpenAI return an image.' },
    masks: { enum: ['inpainting'], description: 'For LocalAI, whose masks go to /v1/images/inpainting.' },
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
