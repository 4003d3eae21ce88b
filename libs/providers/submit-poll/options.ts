import { MODEL_OPTIONS, type ModelOption } from './dialect.js';

/** The `options` of entries of type apimart, evolink, or toapis. */
export interface SubmitPollOptions {
  readonly accepts?: ModelOption[];
  readonly upload_url?: string;
  readonly timeout_ms?: number;
}

/** Schema of the options of vendors that accept a job and are polled for its result. */
export const SUBMIT_POLL_OPTIONS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    accepts: {
      type: 'array',
      items: { enum: MODEL_OPTIONS },
      description: 'What the model supports; default: what the provider publishes for it.',
    },
    upload_url: {
      type: 'string',
      pattern: '^https?://[^\\s#@]+$',
      description: 'Where reference images and masks are uploaded, with the key.',
    },
    timeout_ms: { type: 'integer', minimum: 50, description: 'Time limit of one call, in ms.' },
  },
} as const;
