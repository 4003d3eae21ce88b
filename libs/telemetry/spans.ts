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

// Spans find their parents by the id of what they are about, which is at hand wherever one begins. OpenTelemetry's own way, a
// context that follows every promise, costs every promise of the process, and on Node 20 and 22 that alone exceeds the 3 %
// that traces may cost.

/** What a span may tell, by the names of its attributes. Nothing else can be put on one: no prompt, key or address. */
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

/** Values of a span; texts are names that we choose ourselves, ids, or codes. */
export type SpanFields = { readonly [K in keyof typeof ATTRIBUTES]?: string | number | boolean | undefined };

/** How a span begins. */
export interface SpanStart {
  readonly name: string;
  /** `server`: answers a call; `client`: makes one; `consumer`: takes a job. Absent: none of these. */
  readonly kind?: 'server' | 'client' | 'consumer';
  /** A traceparent, or the id of what an open span is about. What is neither makes this the first span of its trace. */
  readonly parent?: string | undefined;
  /** The id of what it is about: spans that name it as their parent, and lines of the log, belong to it while it is open. */
  readonly about?: string;
  /** A traceparent of a span that this one follows. */
  readonly follows?: string | undefined;
  /** Milliseconds since it began. */
  readonly agoMs?: number;
  /** Ids that can be told without having seen the span; otherwise they are random. */
  readonly ids?: SpanIds;
  readonly fields?: SpanFields;
}

/** 32 and 16 hex digits. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** A span that has begun. Nothing it does ever throws. */
export interface OpenSpan {
  /** W3C's header that names it; undefined when nothing is traced. */
  readonly traceparent: string | undefined;
  set(fields: SpanFields): void;
  /** Marks it as failed, with the code or the class of an error and never its text; a string is a code. */
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
/** What is neither an id, a code, a name of the catalog nor a route is looked at more closely. */
const SUSPECT = /sk-|whsec_|[^\w.:/ -]/;

/** With the context of each span's children, which all share it. */
const open = new Map<string, { readonly span: Span; readonly context: Context }>();
let tracing: Tracing | undefined;
let chosen: SpanIds | undefined;

/** From now on spans are made by this tracer; undefined: none are. For the process's Tracing alone. */
export function traceWith(next: Tracing | undefined): void {
  tracing = next;
}

/** The ids that the span which is just being made was given, for the generator of ids. */
export function chosenIds(): SpanIds | undefined {
  return chosen;
}

/** Begins a span, whoever ends it. Costs nothing where nothing is traced. */
export function openSpan(start: SpanStart): OpenSpan {
  return tracing === undefined ? NO_SPAN : new TracedSpan(tracing.tracer, start);
}

/** A span around some work; one that fails says with which code. Throws what the work throws. */
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

/** A wait that is over. */
export function recordWait(start: SpanStart & { readonly agoMs: number }): void {
  openSpan(start).end();
}

/** The trace of what a line of the log is about, if a span of it is open. */
export function traceIdOf(...ids: readonly (string | undefined)[]): string | undefined {
  if (open.size === 0) return undefined;
  for (const id of ids) {
    const found = id === undefined ? undefined : open.get(id);
    if (found !== undefined) return found.span.spanContext().traceId;
  }
  return undefined;
}

/** What a provider is sent: nothing, unless the operator wants its part in the trace. */
export function traceparentForProvider(span: OpenSpan): string | undefined {
  return tracing?.toProviders === true ? span.traceparent : undefined;
}

/**
 * The ids of a task's attempt, which the next one can tell even when the worker was killed before it sent any span. A task
 * that was accepted without traces has a trace of its own all the same, one for all of its attempts.
 */
export function attemptIds(taskId: string, attempt: number, traceparent: string | undefined): SpanIds {
  const traceId = TRACEPARENT.exec(traceparent ?? '')?.[1] ?? digest(taskId, 32);
  return { traceId, spanId: digest(`${taskId} ${attempt}`, 16) };
}

/** W3C's header for these ids. */
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
    // A later span may be about the same by now.
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

/** Messages may quote what they were given, codes and names of classes don't. */
function kindOf(error: unknown): string {
  const { code, name } = error instanceof Error ? (error as Error & { code?: unknown }) : { code: error, name: '' };
  const kind = typeof code === 'string' ? code : name;
  return CODE.test(kind) ? kind : 'unknown';
}

function digest(text: string, length: number): string {
  return hash('sha256', text, 'hex').slice(0, length);
}
