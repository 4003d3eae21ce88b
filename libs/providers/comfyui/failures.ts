import { refusal, unusable } from '../http/failures.js';
import { textAt, valueAt } from '../http/json-value.js';
import type { UpstreamResponse } from '../http/upstream.js';
import { ProviderError } from '../provider-error.js';
import type { JobFailure } from './comfy-api.js';

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
  const reason = textAt(value, 'error', 'type');
  return refusedWorkflow({ status, reason, nodeErrors: valueAt(value, 'node_errors'), providerMessage });
}

/** The key has started a job before, which is to be found. */
export class KeyUsed extends ProviderError {}

/** A rejected call of API v2; `value` is its body if that is JSON. */
export function refusedJob(
  { status, retryAfter }: Pick<UpstreamResponse, 'status' | 'retryAfter'>,
  value: unknown,
  providerMessage: string | undefined,
): ProviderError {
  const code = textAt(value, 'error', 'code');
  const about = { status, providerMessage, cause: new Error(`the server rejected the call: ${plain(code)}`) };
  if (status === 422 && code === 'idempotency_key_reuse')
    return new KeyUsed('upstream_error', 'The provider has this job already.', {
      ...about,
      retryable: true,
      charged: 'no',
    });
  // A server that was restarted has forgotten the uploads, and gets them again.
  if (status === 422 && code === 'missing_asset')
    return new ProviderError('upstream_error', 'The provider no longer has the images.', {
      ...about,
      retryable: true,
      charged: 'no',
    });
  if (status !== 422) {
    const fields = value === undefined ? undefined : { code };
    return refusal({ status, fields, body: value, retryAfter, said: { providerMessage } });
  }
  const nodeErrors = valueAt(value, 'error', 'details', 'node_errors');
  return refusedWorkflow({ status, reason: code, nodeErrors, providerMessage });
}

interface RefusedWorkflow {
  readonly status: number;
  readonly reason: string | undefined;
  readonly nodeErrors: unknown;
  readonly providerMessage: string | undefined;
}

function refusedWorkflow({ status, reason, nodeErrors, providerMessage }: RefusedWorkflow): ProviderError {
  const faults = nodeFaults(nodeErrors);
  const shown = faults.map(({ node, kind }) => `${kind} at node ${node}`).join(', ');
  const cause = new Error(`the workflow was refused: ${reason ?? 'no reason'} ${shown}`.trim());
  const outcome = { retryable: false, charged: 'no', cause, status, providerMessage, isAboutRequest: true } as const;
  if (faults.length > 0 && faults.every(({ isImage }) => isImage)) {
    return new ProviderError('invalid_image_file', 'The provider could not use one of the images.', outcome);
  }
  return new WorkflowRefused(faults, outcome);
}

/** A workflow that the server did not accept. */
export class WorkflowRefused extends ProviderError {
  constructor(
    /** The inputs with which it found fault. */
    readonly faults: readonly { readonly node: string; readonly input: string }[],
    private readonly outcome: ConstructorParameters<typeof ProviderError>[2],
  ) {
    super('upstream_error', 'The provider did not accept its workflow.', outcome);
  }

  /** The error if it is about a value of the caller. */
  about(param: string): ProviderError {
    const text = `The provider does not accept this value of ${param}.`;
    return new ProviderError('invalid_value', text, { ...this.outcome, param });
  }
}

/** The response to an order names no job. The order was canceled, but the server may not have received that. */
export function withoutJob(isFree: boolean, cause: unknown): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a job ID.', {
    retryable: true,
    charged: isFree ? 'no' : 'maybe',
    cause,
  });
}

/** A job whose start is certain, and which the server does not list. It may have been charged. */
export function unknownJob(): ProviderError {
  return make('The provider does not say what became of its job.', 'a used key without a job', {
    retryable: true,
    charged: 'maybe',
  });
}

const FAILED: Readonly<Record<JobFailure['reason'], string>> = {
  interrupted: 'The image was cancelled at the provider.',
  'out of memory': 'The provider ran out of memory.',
  failed: 'The provider failed to generate the image.',
};

/** A job that ran and failed. */
export function failedJob({ reason, cause, providerMessage }: JobFailure, ended: FailureOutcome): ProviderError {
  return make(FAILED[reason], cause, { ...ended, providerMessage });
}

/** A failed job according to its events in the history. */
export function historyFailure(messages: unknown, providerMessage: string | undefined): JobFailure {
  if (eventIn(messages, 'execution_interrupted') !== undefined)
    return { reason: 'interrupted', cause: 'the job was interrupted', providerMessage };
  const error = executionError(messages);
  const kind = plain(textAt(error, 'exception_type'));
  return {
    reason: /OutOfMemory/i.test(kind) ? 'out of memory' : 'failed',
    cause: `${kind} in a node of type ${plain(textAt(error, 'node_type'))}`,
    providerMessage,
  };
}

/** A failed or canceled job of API v2, which says in its message alone that memory was short. */
export function v2Failure(
  status: 'failed' | 'canceled',
  job: unknown,
  providerMessage: string | undefined,
): JobFailure {
  if (status === 'canceled') return { reason: 'interrupted', cause: 'the job was canceled', providerMessage };
  const isMemory = /out of memory|OutOfMemory|allocation on device/i.test(textAt(job, 'error', 'message') ?? '');
  const [code, type] = [textAt(job, 'error', 'code'), textAt(job, 'error', 'class_type')].map(plain);
  return {
    reason: isMemory ? 'out of memory' : 'failed',
    cause: `${code} in a node of type ${type}`,
    providerMessage,
  };
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

function nodeFaults(nodes: unknown): { node: string; input: string; kind: string; isImage: boolean }[] {
  if (typeof nodes !== 'object' || nodes === null) return [];
  return Object.entries(nodes).flatMap(([node, fault]) => {
    const errors: unknown = valueAt(fault, 'errors');
    return (Array.isArray(errors) ? (errors as unknown[]) : []).map((error) => ({
      node: plain(node),
      input: textAt(error, 'extra_info', 'input_name') ?? '',
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
