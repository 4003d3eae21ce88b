import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { Logger } from './logger.js';
import { attemptIds, inSpan, openSpan, traceparentForProvider, traceWith, type SpanFields } from './spans.js';

const PARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

describe('spans', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const trace = (toProviders = false) => traceWith({ tracer: provider.getTracer('test'), toProviders });
  beforeEach(() => {
    exporter.reset();
    trace();
  });
  afterAll(() => traceWith(undefined));

  it('carry what is on the list and nothing else, whoever passes it', () => {
    const fields = { taskId: 'task_1', prompt: 'canary', model: 'key sk-dr-0123456789abcdef', images: 2 } as SpanFields;
    openSpan({ name: 'one', fields }).end();
    const [span] = exporter.getFinishedSpans();
    expect(span?.attributes).toEqual({
      'darkroom.task.id': 'task_1',
      'darkroom.model': 'key sk-[redacted]',
      'darkroom.images': 2,
    });
  });

  it('tell of an error its code and never its text', async () => {
    const error = Object.assign(new Error('canary'), { code: 'upstream_error' });
    await expect(inSpan({ name: 'one' }, () => Promise.reject(error))).rejects.toBe(error);
    await expect(inSpan({ name: 'two' }, () => Promise.reject(new TypeError('canary')))).rejects.toThrow();
    const spans = exporter.getFinishedSpans();
    expect(spans.map(({ attributes }) => attributes)).toEqual([
      { 'error.type': 'upstream_error' },
      { 'error.type': 'TypeError' },
    ]);
    expect(JSON.stringify(spans.map(({ events, status }) => [events, status]))).not.toContain('canary');
  });

  it('find their parents by a traceparent or by what an open span is about', () => {
    const request = openSpan({ name: 'request', about: 'req_1', parent: PARENT });
    openSpan({ name: 'child', parent: 'req_1' }).end();
    request.end();
    openSpan({ name: 'late', parent: 'req_1' }).end();
    const [child, parent, late] = exporter.getFinishedSpans();
    expect(child?.parentSpanContext?.spanId).toBe(parent?.spanContext().spanId);
    expect(parent?.spanContext().traceId).toBe('a'.repeat(32));
    expect(late?.parentSpanContext).toBeUndefined();
  });

  it.each(['', 'canary', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, `ff${PARENT.slice(2)}`, `${PARENT}-more`])(
    'ignore the traceparent %j',
    (parent) => {
      openSpan({ name: 'one', parent }).end();
      expect(exporter.getFinishedSpans()[0]?.parentSpanContext).toBeUndefined();
    },
  );

  it('follow a caller that is not to be traced', () => {
    const span = openSpan({ name: 'one', parent: PARENT.replace(/01$/, '00') });
    span.end();
    expect(span.traceparent).toMatch(/-00$/);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('are named to providers only where the operator lets them', () => {
    const span = openSpan({ name: 'call' });
    expect(traceparentForProvider(span)).toBeUndefined();
    trace(true);
    expect(traceparentForProvider(span)).toBe(span.traceparent);
  });

  it('are in the log while they are open', () => {
    const lines: string[] = [];
    const logger = new Logger('test', 'info', { write: (line: string) => lines.push(line) });
    const span = openSpan({ name: 'one', about: 'task_1', parent: PARENT });
    logger.info('during', { taskId: 'task_1' });
    span.end();
    logger.info('after', { taskId: 'task_1' });
    const [during, after] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(during?.['trace_id']).toBe('a'.repeat(32));
    expect(after).not.toHaveProperty('trace_id');
  });

  it('of attempts can be told by task and number alone', () => {
    expect(attemptIds('task_1', 2, PARENT)).toEqual({ ...attemptIds('task_1', 2, PARENT), traceId: 'a'.repeat(32) });
    expect(attemptIds('task_1', 1, PARENT).spanId).not.toBe(attemptIds('task_1', 2, PARENT).spanId);
    expect(attemptIds('task_1', 1, undefined).traceId).toBe(attemptIds('task_1', 2, undefined).traceId);
  });

  it('cost nothing and name nothing where nothing is traced', async () => {
    traceWith(undefined);
    expect(await inSpan({ name: 'one' }, (span) => Promise.resolve(span.traceparent))).toBeUndefined();
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});
