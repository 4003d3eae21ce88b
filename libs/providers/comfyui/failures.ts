import { refusal, unusable } from '../http/failures.js';
import { textAt, valueAt } from '../http/json-value.js';
import type { UpstreamResponse } from '../http/upstream.js';
import { ProviderError } from '../provider-error.js';

/**
 * Whether a failed job may be repeated: yes if that costs nothing, as on the operator's own hardware; no if its nodes
 * may have been charged.
 */
interface FailureOutcome {
  readonly retryable: boolean;
  readonly charged: 'no' | 'maybe';
}

/** A job that ended without an image: repeated only if that costs nothing. */
export function endedJob(isFree: boolean): FailureOutcome {
  return isFree ? { retryable: true, charged: 'no' } : { retryable: false, charged: 'maybe' };
}

/** A rejected POST /prompt, upload, or status check; `value` is ComfyUI's body if it is JSON. */
export function refused(
  { status, retryAfter }: Pick<UpstreamResponse, 'status' | 'retryAfter'>,
  value: unknown,
  providerMessage: string | undefined,
): ProviderError {
  if (status !== 400) return refusal({ status, fields: undefined, retryAfter, said: { providerMessage } });
  const faults = nodeFaults(value);
  const shown = faults.map(({ node, kind }) => `${kind} at node ${node}`).join(', ');
  const cause = new Error(`the workflow was refused: ${textAt(value, 'error', 'type') ?? 'no reason'} ${shown}`.trim());
  const outcome = { retryable: false, charged: 'no', cause, status, providerMessage, isAboutRequest: true } as const;
  if (faults.length > 0 && faults.every(({ isImage }) => isImage)) {
    return new ProviderError('invalid_image_file', 'The provider could not use one of the images.', outcome);
  }
  return new ProviderError('upstream_error', 'The provider did not accept its workflow.', outcome);
}

/** The response to an order names no job. The order was canceled, but the server may not have received that. */
export function withoutJob(isFree: boolean, cause: unknown): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a job ID.', {
    retryable: true,
    charged: isFree ? 'no' : 'maybe',
    cause,
  });
}

/** A job that ran and failed. `messages` are its events in the history. */
export function failedJob(
  messages: unknown,
  ended: FailureOutcome,
  providerMessage: string | undefined,
): ProviderError {
  const outcome = { ...ended, providerMessage };
  if (eventIn(messages, 'execution_interrupted') !== undefined) {
    return make('The image was cancelled at the provider.', 'the job was interrupted', outcome);
  }
  const error = executionError(messages);
  const kind = plain(textAt(error, 'exception_type'));
  const text = /OutOfMemory/i.test(kind)
    ? 'The provider ran out of memory.'
    : 'The provider failed to generate the image.';
  return make(text, `${kind} in a node of type ${plain(textAt(error, 'node_type'))}`, outcome);
}

/** The error in a failed job's events. */
export function executionError(messages: unknown): unknown {
  return valueAt(eventIn(messages, 'execution_error'), 1);
}

function eventIn(messages: unknown, name: string): unknown {
  return Array.isArray(messages) ? messages.find((event) => valueAt(event, 0) === name) : undefined;
}

/** The job is in neither the queue nor the history: the server was restarted, or has deleted it. */
export function lostJob(outcome: FailureOutcome): ProviderError {
  return make('The provider no longer has the job.', 'not in queue and history', outcome);
}

/** A finished job that saved no image. */
export function withoutImage(): ProviderError {
  return unusable('the workflow saved no image');
}

function make(
  text: string,
  cause: string,
  outcome: FailureOutcome & { readonly providerMessage?: string | undefined },
): ProviderError {
  return new ProviderError('upstream_error', text, { ...outcome, cause: new Error(cause) });
}

function nodeFaults(value: unknown): { node: string; kind: string; isImage: boolean }[] {
  const nodes = valueAt(value, 'node_errors');
  if (typeof nodes !== 'object' || nodes === null) return [];
  return Object.entries(nodes).flatMap(([node, fault]) => {
    const errors: unknown = valueAt(fault, 'errors');
    return (Array.isArray(errors) ? (errors as unknown[]) : []).map((error) => ({
      node: plain(node),
      kind: plain(textAt(error, 'type')),
      isImage:
        textAt(error, 'type') === 'custom_validation_failed' &&
        /^image$|^mask$/.test(textAt(error, 'extra_info', 'input_name') ?? ''),
    }));
  });
}

/** Keeps only single words for the log. */
function plain(text: string | undefined): string {
  return text !== undefined && /^[\w.:-]{1,100}$/.test(text) ? text : 'something';
}
