import { callTimeouts, type CallTimeouts } from '../provider-options.js';

/** The `options` of entries of type `openai`; the OPENAI_... settings are the defaults. */
export interface OpenAiOptions extends CallTimeouts {
  readonly stream?: boolean;
  readonly response_format?: 'b64_json' | 'url';
  readonly masks?: 'inpainting';
  readonly organization?: string;
  readonly project?: string;
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
    stream_usage: {
      type: 'boolean',
      description: 'No: for chat servers that do not support stream_options.include_usage.',
    },
    ...callTimeouts,
  },
} as const;
