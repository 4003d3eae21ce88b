import { hash } from 'node:crypto';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { redact } from './redact.js';

// A span finds its parent by the id of its task, request or delivery, which is available wherever a span begins.
// OpenTelemetry's own async context costs every promise of the process; on Node 20 and 22 that alone exceeds the 3 %
// budget for traces.

/** The attributes a span may carry. It can carry no others: no prompt, key or address. */
const ATTRIBUTES = {
  taskId: 'darkroom.task.id',
  requestId: 'darkroom.request.id',
  deliveryId: 'darkroom.delivery.id',
  action: 'darkroom.action',
  attached: 'darkroom.attached',
  attempt: 'darkroom.attempt',
  losses: 'darkroom.losses',
  start: 'darkroom.provider.start',
  resumed: 'darkroom.provider.resumed',
  provider: 'darkroom.provider',
  model: 'darkroom.model',
  outcome: 'darkroom.outcome',
  delayMs: 'darkroom.delay_ms',
  images: 'darkroom.images',
  bytes: 'darkroom.bytes',
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  error: 'error.type',
} as const;

/** Attribute values. Strings are ids, codes, or names defined by us. */
export type SpanFields = { readonly [K in keyof typeof ATTRIBUTES]?: string | number | boolean | undefined };

/** Options for a new span. */
export interface SpanStart {
  readonly name: string;
  /** `server`: handles a call; `client`: makes one; `consumer`: takes a job. Absent: internal. */
  readonly kind?: 'server' | 'client' | 'consumer';
  /** A traceparent, or the `about` id of an open span. Any other value starts a new trace. */
  readonly parent?: string | undefined;
  /**
   * The id of its task, request or delivery. While the span is open, spans with this id as their parent and log lines
   * with this id belong to it.
   */
  readonly about?: string;
  /** The traceparent of an earlier span to link to. */
  readonly follows?: string | undefined;
  /** How long ago the span began, in ms. */
  readonly agoMs?: number;
  /** Ids that others can compute without having seen the span; random when absent. */
  readonly ids?: SpanIds;
  readonly fields?: SpanFields;
}

/** Lowercase hex: 32 digits for the trace, 16 for the span. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** A span in progress. Its methods never throw. */
export interface OpenSpan {
  /** The W3C traceparent header of this span; undefined when nothing is traced. */
  readonly traceparent: string | undefined;
  set(fields: SpanFields): void;
  /** Marks the span as failed with the error's code or class, never its message. A string is taken as a code. */
  fail(error: unknown): void;
  /** Only the first call counts. */
  end(fields?: SpanFields): void;
}

interface Tracing {
  readonly tracer: Tracer;
  readonly toProviders: boolean;
}

const NO_SPAN: OpenSpan = { traceparent: undefined, set: () => undefined, fail: () => undefined, end: () => undefined };
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const MAX_TEXT = 128;
const NAMES: ReadonlyMap<string, string> = new Map(Object.entries(ATTRIBUTES));
/** Text that matches may hold a secret and is redacted; ids, codes, catalog names and routes do not match. */
const SUSPECT = /sk-|whsec_|[^\w.:/ -]/;

/** Open spans by their `about` id, each with the context that all of its children share. */
const open = new Map<string, { readonly span: Span; readonly context: Context }>();
let tracing: Tracing | undefined;
let chosen: SpanIds | undefined;

/** Sets the tracer of this process; undefined turns tracing off. Called by Tracing only. */
export function traceWith(next: Tracing | undefined): void {
  tracing = next;
}

/** The ids given to the span that is being created, for the id generator. */
export function chosenIds(): SpanIds | undefined {
  return chosen;
}

/** Begins a span; the caller ends it. Costs nothing when nothing is traced. */
export function openSpan(start: SpanStart): OpenSpan {
  return tracing === undefined ? NO_SPAN : new TracedSpan(tracing.tracer, start);
}

/** Runs work in a span; a failure records its code. Throws what the work throws. */
export async function inSpan<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  if (tracing === undefined) return work(NO_SPAN);
  const span = new TracedSpan(tracing.tracer, start);
  try {
    return await work(span);
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    span.end();
  }
}

/** Records a wait that has just ended. */
export function recordWait(start: SpanStart & { readonly agoMs: number }): void {
  openSpan(start).end();
}

/** The trace id of the open span for one of these ids, for a log line. */
export function traceIdOf(...ids: readonly (string | undefined)[]): string | undefined {
  if (open.size === 0) return undefined;
  for (const id of ids) {
    const found = id === undefined ? undefined : open.get(id);
    if (found !== undefined) return found.span.spanContext().traceId;
  }
  return undefined;
}

/** The traceparent to send to a provider; undefined unless the operator enabled it. */
export function traceparentForProvider(span: OpenSpan): string | undefined {
  return tracing?.toProviders === true ? span.traceparent : undefined;
}

/**
 * The ids of an attempt's span, computed so that the next attempt can link to it even when the worker was killed before
 * it exported any span. All attempts of a task without a traceparent share one trace.
 */
export function attemptIds(taskId: string, attempt: number, traceparent: string | undefined): SpanIds {
  const traceId = TRACEPARENT.exec(traceparent ?? '')?.[1] ?? digest(taskId, 32);
  return { traceId, spanId: digest(`${taskId} ${attempt}`, 16) };
}

/** The W3C traceparent header for these ids. */
export function traceparentOf({ traceId, spanId }: SpanIds, flags = 1): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}

class TracedSpan implements OpenSpan {
  private readonly span: Span;
  private readonly about: string | undefined;

  constructor(tracer: Tracer, start: SpanStart) {
    const { name, kind, parent, follows, agoMs = 0, about, ids, fields = {} } = start;
    const context = contextOf(parent);
    const link = parse(follows);
    const options = {
      attributes: attributesOf(fields),
      ...(kind === undefined ? {} : { kind: KINDS[kind] }),
      ...(link === undefined ? {} : { links: [{ context: link }] }),
      ...(agoMs > 0 ? { startTime: Date.now() - agoMs } : {}),
    };
    chosen = ids;
    this.span = tracer.startSpan(name, options, context);
    chosen = undefined;
    this.about = about;
    if (about !== undefined) open.set(about, { span: this.span, context: trace.setSpan(ROOT_CONTEXT, this.span) });
  }

  get traceparent(): string {
    const context = this.span.spanContext();
    return traceparentOf(context, context.traceFlags);
  }

  set(fields: SpanFields): void {
    if (this.span.isRecording()) this.span.setAttributes(attributesOf(fields));
  }

  fail(error: unknown): void {
    this.set({ error: kindOf(error) });
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(fields?: SpanFields): void {
    if (fields !== undefined) this.set(fields);
    this.span.end();
    // A later span may have the same id by now.
    if (this.about !== undefined && open.get(this.about)?.span === this.span) open.delete(this.about);
  }
}

function contextOf(parent: string | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  const found = open.get(parent);
  if (found !== undefined) return found.context;
  const remote = parse(parent);
  return remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
}

function parse(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

function attributesOf(fields: SpanFields): Attributes {
  const attributes: Attributes = {};
  for (const field in fields) {
    const value = fields[field as keyof SpanFields];
    const attribute = NAMES.get(field);
    if (attribute === undefined || value === undefined) continue;
    attributes[attribute] = typeof value === 'string' ? harmless(value) : value;
  }
  return attributes;
}

function harmless(text: string): string {
  return text.length > 64 || SUSPECT.test(text) ? redact(text.slice(0, MAX_TEXT)) : text;
}

const CODE = /^[A-Za-z0-9_]{1,64}$/;

/** Messages may quote their input; codes and class names do not. */
function kindOf(error: unknown): string {
  const { code, name } = error instanceof Error ? (error as Error & { code?: unknown }) : { code: error, name: '' };
  const kind = typeof code === 'string' ? code : name;
  return CODE.test(kind) ? kind : 'unknown';
}

function digest(text: string, length: number): string {
  return hash('sha256', text, 'hex').slice(0, length);
}
